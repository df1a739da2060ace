//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// ceilings are what a call may cost the host's process, its end of the session and gRPC included.
// A fraction is what pools lose to the garbage collector; one allocation more is over each. Raising one needs a line here that says why.
var ceilings = []struct {
	name   string
	cfg    host.Config
	call   host.Call
	allocs float64 // a call
	bytes  float64
}{
	{"validated", host.Config{}, host.Call{}, 10.2, 1430},
	{"with a policy", host.Config{Policy: host.Policy{Rules: []host.Rule{{Action: host.Deny, Tool: "other"}}}}, host.Call{}, 10.2, 1440},
	{"with a log", host.Config{Logger: slog.New(slog.DiscardHandler)}, host.Call{}, 15.3, 1530},                                                                      // asks the pipes whether something waits,
	{"with a hook", host.Config{Hooks: []host.Hook{{Before: func(context.Context, *host.Call) (*host.Result, error) { return nil, nil }}}}, host.Call{}, 12.6, 2750}, // may keep the call and its context, so neither is used again,
	{"with a trace context", host.Config{}, host.Call{Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, 10.2, 1430},
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
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, c := range ceilings {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, c.cfg, self("guard", "guard"))
			c.call.Tool, c.call.Input = "forecast", json.RawMessage(guardInput)
			call := func() {
				if _, err := h.Call(context.Background(), c.call); err != nil {
					t.Fatal(err)
				}
			}
			allocs, bytes := cost(call)
			t.Logf("%.1f allocations and %.0f bytes a call", allocs, bytes)
			if allocs > c.allocs || bytes > c.bytes {
				t.Errorf("%.1f allocations and %.0f bytes a call; the ceilings are %.1f and %.0f", allocs, bytes, c.allocs, c.bytes)
			}
		})
	}
}

// cost is what one run of f allocates in the whole process: the least of some rounds, since other goroutines run too.
func cost(f func()) (allocs, bytes float64) {
	const rounds, runs = 5, 2000
	for range runs {
		f()
	}
	for i := range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		a, b := float64(after.Mallocs-before.Mallocs)/runs, float64(after.TotalAlloc-before.TotalAlloc)/runs
		if i == 0 || a < allocs {
			allocs = a
		}
		if i == 0 || b < bytes {
			bytes = b
		}
	}
	return allocs, bytes
}
