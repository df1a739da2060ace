// Toolplugin-weather is the weather tool as a plugin of toolhost. With a number as its argument it has so many of it: weather,
// weather-1 and so on. With the variable BENCH_PROFILE it writes a CPU profile of its life into that file.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"

	"github.com/toolhost/toolhost/bench/weather"
	"github.com/toolhost/toolhost/pluginsdk"
)

func main() {
	file := os.Getenv("BENCH_PROFILE")
	if file == "" {
		pluginsdk.Serve(tools()...)
	}
	pluginsdk.ServeFunc(func(ctx context.Context, r *pluginsdk.Registry) error {
		f, err := os.Create(file)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		r.Go(func() { // ends with the plugin
			<-ctx.Done()
			pprof.StopCPUProfile()
			_ = f.Close()
		})
		return r.Set(tools()...)
	})
}

func tools() []pluginsdk.Definition {
	n := 1
	if len(os.Args) > 1 {
		if given, err := strconv.Atoi(os.Args[1]); err == nil {
			n = given
		}
	}
	var all []pluginsdk.Definition
	for i := range n {
		id := "weather"
		if i > 0 {
			id = fmt.Sprintf("weather-%d", i)
		}
		all = append(all, pluginsdk.Tool[weather.In, weather.Out]{
			ID:           id,
			Description:  "The weather of a city.",
			InputSchema:  json.RawMessage(weather.InSchema),
			OutputSchema: json.RawMessage(weather.OutSchema),
			Execute: func(_ context.Context, _ *pluginsdk.Call, in weather.In) (weather.Out, error) {
				return weather.Forecast(in)
			},
		})
	}
	return all
}
