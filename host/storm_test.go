//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// b6: 200 calls at once, each with hooks, views, progress and random cancels: every call has exactly one
// terminal event, and every After hook of a final outcome ran once.
func TestB6_OneTerminalEventEach(t *testing.T) {
	const calls = 200
	var before, after atomic.Int64
	hook := host.Hook{
		Before: func(context.Context, *host.Call) (*host.Result, error) { before.Add(1); return nil, nil },
		After: func(_ context.Context, _ host.Call, res *host.Result, _ error) (*host.Result, error) {
			after.Add(1)
			return res, nil
		},
	}
	display := func(_ context.Context, p host.Payload) (json.RawMessage, error) {
		return json.RawMessage(fmt.Sprintf(`{"phase":%q}`, p.Phase)), nil
	}
	h := open(t, host.Config{
		StateDir: stateDir(t), Hooks: []host.Hook{hook, hook}, Transform: &host.Transform{Display: display, Transcript: display},
		Limits: host.Limits{Drain: 2 * time.Second},
	})
	call(t, h, "pid", `{}`)
	after.Store(0)
	var all sync.WaitGroup
	var suspended atomic.Int64
	for i := range calls {
		all.Go(func() { // ends with its call
			c := stormCall(i)
			c.Hooks = []host.Hook{hook}
			r := h.Start(t.Context(), c)
			if i%4 == 0 || c.Tool == "wait" {
				time.AfterFunc(time.Duration(rand.IntN(20))*time.Millisecond, func() { r.Cancel(nil) })
			}
			terminal := 0
			for e := range r.Events() {
				switch e.(type) {
				case host.ApprovalEvent, host.SuspendedEvent:
					suspended.Add(1)
					terminal++
				case host.ResultEvent, host.ErrorEvent, host.DeniedEvent:
					terminal++
				default:
					if terminal > 0 {
						t.Errorf("call %d: %T after the end", i, e)
					}
				}
			}
			if terminal != 1 {
				t.Errorf("call %d: %d terminal events", i, terminal)
			}
		})
	}
	all.Wait()
	if want := 3 * (calls - suspended.Load()); after.Load() != want {
		t.Errorf("After ran %d times, want %d (%d suspended)", after.Load(), want, suspended.Load())
	}
}

// stormCall is one of several kinds of calls.
func stormCall(i int) host.Call {
	kinds := []struct{ tool, input string }{
		{"echo", `{"text":"x"}`}, {"write", `{"n":20}`}, {"fail", `{}`}, {"panic", `{}`}, {"wait", `{}`},
		{"approved", `{"text":"/nowhere"}`}, {"echo", `{}`}, {"limited", `{}`}, {"survey", `{"n":1}`},
	}
	k := kinds[i%len(kinds)]
	return host.Call{Tool: k.tool, Input: json.RawMessage(k.input), ID: fmt.Sprint("storm-", i), Caller: host.Caller{Subject: fmt.Sprint(i)}}
}
