//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/cost"
	"github.com/toolhost/toolhost/pluginsdk"
)

// ceilings are what a call may cost the host's process, its end of the session and gRPC included. Raising one needs a line here that says why.
var ceilings = []struct {
	name string
	cfg  host.Config
	call host.Call
	most cost.Ceiling
}{
	{"validated", host.Config{}, host.Call{}, cost.Ceiling{Allocs: 10, Bytes: 1430}},
	{"with a policy", host.Config{Policy: host.Policy{Rules: []host.Rule{{Action: host.Deny, Tool: "other"}}}}, host.Call{}, cost.Ceiling{Allocs: 10, Bytes: 1430}},
	// Asks the pipes whether something waits.
	{"with a log", host.Config{Logger: slog.New(slog.DiscardHandler)}, host.Call{}, cost.Ceiling{Allocs: 15, Bytes: 1500}},
	// A hook may keep the call and its context, so neither is used again.
	{"with a hook", host.Config{Hooks: []host.Hook{{Before: func(context.Context, *host.Call) (*host.Result, error) { return nil, nil }}}}, host.Call{}, cost.Ceiling{Allocs: 13, Bytes: 2790}},
	{"with a trace context", host.Config{}, host.Call{Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, cost.Ceiling{Allocs: 10, Bytes: 1430}},
}

const guardInput = `{"location":"Paris","units":"metric","days":3}`

type guardIn struct {
	Location string `json:"location" jsonschema:"minLength=1"`
	Units    string `json:"units,omitempty" jsonschema:"enum=metric,enum=imperial"`
	Days     int    `json:"days,omitempty" jsonschema:"minimum=1,maximum=14"`
}

type guardOut struct {
	Location    string  `json:"location"`
	Temperature float64 `json:"temperature"`
	Conditions  string  `json:"conditions" jsonschema:"enum=sunny,enum=cloudy,enum=rain"`
	Humidity    float64 `json:"humidity" jsonschema:"minimum=0,maximum=100"`
	Days        int     `json:"days,omitempty"`
}

func guardTools() []pluginsdk.Definition {
	return []pluginsdk.Definition{
		tool("forecast", func(_ context.Context, _ *pluginsdk.Call, in guardIn) (guardOut, error) {
			return guardOut{Location: in.Location, Temperature: 21.5, Conditions: "sunny", Humidity: 40, Days: in.Days}, nil
		}),
	}
}

// TestGuard_ACallAllocates measures a validated call of a tool in a process of its own.
func TestGuard_ACallAllocates(t *testing.T) {
	for _, c := range ceilings {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, c.cfg, self("guard", "guard"))
			c.call.Tool, c.call.Input = "forecast", json.RawMessage(guardInput)
			cost.Hold(t, c.most, func() {
				if _, err := h.Call(context.Background(), c.call); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
