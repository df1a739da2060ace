// The weather plugin serves the tool weather: current conditions and a daily
// forecast by place name or coordinates, from Open-Meteo, met.no or wttr.in.
package main

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
)

func main() { pluginsdk.ServeFunc(build) }

// build declares the tool around the forecast function that the settings ask for.
func build(_ context.Context, r *pluginsdk.Registry) error {
	var s Settings
	if err := r.Settings(&s); err != nil {
		return err
	}
	f, err := newForecaster(s, newHTTPClient())
	if err != nil {
		return err
	}
	return r.Set(weather(f, newArrivals()))
}

func weather(f *forecaster, a *arrivals) pluginsdk.Definition {
	yes, no := true, false
	return pluginsdk.Tool[Input, Report]{
		ID:          "weather",
		Title:       "Weather forecast",
		Description: "Current weather and the forecast of the next days for a place, given by name or by coordinates.",
		Execute: func(ctx context.Context, c *pluginsdk.Call, in Input) (Report, error) {
			c.Progress(0, 1, "asking "+f.name)
			report, err := f.forecast(ctx, in)
			return report, forModel(err)
		},
		InputExamples:    []Input{{Location: "Berlin"}, {Location: "40.71,-74.01", Units: "imperial", Days: 3}},
		MCP:              pluginsdk.MCP{Annotations: &pluginsdk.Annotations{ReadOnly: &yes, Destructive: &no, Idempotent: &yes, OpenWorld: &yes}},
		Timeout:          30 * time.Second,
		Idempotent:       true,
		OnInputStart:     a.start,
		OnInputDelta:     a.delta,
		OnInputAvailable: a.available,
	}
}
