// Toolplugin-weather is the weather tool as a plugin of toolhost.
package main

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/bench/weather"
	"github.com/toolhost/toolhost/pluginsdk"
)

func main() {
	pluginsdk.Serve(pluginsdk.Tool[weather.In, weather.Out]{
		ID:           "weather",
		Description:  "The weather of a city.",
		InputSchema:  json.RawMessage(weather.InSchema),
		OutputSchema: json.RawMessage(weather.OutSchema),
		Execute: func(_ context.Context, _ *pluginsdk.Call, in weather.In) (weather.Out, error) {
			return weather.Forecast(in)
		},
	})
}
