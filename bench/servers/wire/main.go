// Toolplugin-wire has the tools that the groups of the wire call: small, with a large schema, for deltas and with large outputs.
package main

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/toolhost/toolhost/bench/large"
	"github.com/toolhost/toolhost/bench/stamp"
	"github.com/toolhost/toolhost/bench/weather"
	"github.com/toolhost/toolhost/pluginsdk"
)

// size is the input of the tools with large outputs.
type size struct {
	Bytes int `json:"bytes"`
}

func main() {
	var came stamp.Arrivals // of one call: they are made one after the other
	var texts large.Texts
	var ready sync.Map // texts as JSON, by size
	pluginsdk.Serve(
		pluginsdk.Tool[weather.In, weather.Out]{
			ID:           "weather",
			Description:  "The weather of a city.",
			InputSchema:  json.RawMessage(weather.InSchema),
			OutputSchema: json.RawMessage(weather.OutSchema),
			Execute: func(_ context.Context, _ *pluginsdk.Call, in weather.In) (weather.Out, error) {
				return weather.Forecast(in)
			},
		},
		pluginsdk.Tool[json.RawMessage, json.RawMessage]{
			ID:           "order",
			Description:  "Answers with its input, which has a large schema.",
			InputSchema:  json.RawMessage(large.Schema),
			OutputSchema: json.RawMessage(large.Schema),
			Execute: func(_ context.Context, _ *pluginsdk.Call, in json.RawMessage) (json.RawMessage, error) {
				return in, nil
			},
		},
		pluginsdk.Tool[json.RawMessage, json.RawMessage]{
			ID:          "deltas",
			Description: "Says when the pieces of its input came.",
			OnInputStart: func(context.Context, *pluginsdk.Call) error {
				came = stamp.Arrivals{}
				return nil
			},
			OnInputDelta: func(_ context.Context, _ *pluginsdk.Call, delta string) error {
				came.Add(delta)
				return nil
			},
			Execute: func(context.Context, *pluginsdk.Call, json.RawMessage) (json.RawMessage, error) {
				return came.Report(), nil
			},
		},
		pluginsdk.Tool[size, json.RawMessage]{
			ID:          "ready",
			Description: "A text of so many bytes, encoded once.",
			Execute: func(_ context.Context, _ *pluginsdk.Call, in size) (json.RawMessage, error) {
				if text, ok := ready.Load(in.Bytes); ok {
					return text.(json.RawMessage), nil
				}
				text, err := json.Marshal(texts.Get(in.Bytes))
				ready.Store(in.Bytes, json.RawMessage(text))
				return text, err
			},
		},
		pluginsdk.Tool[size, any]{
			ID:          "text",
			Description: "A text of so many bytes.",
			Execute: func(_ context.Context, _ *pluginsdk.Call, in size) (any, error) {
				return texts.Get(in.Bytes), nil
			},
		},
	)
}
