package main

import (
	"context"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk"
)

// arrivals follows how the inputs of the calls arrive and logs it at level
// debug: how many pieces of how many bytes, never their text. Nothing is done
// with a place before the whole input is there and valid. It may be used
// concurrently.
type arrivals struct {
	mu    sync.Mutex
	calls map[string]arrival // by call id, until the call ends
}

// arrival is what has come of one call's input.
type arrival struct{ deltas, bytes int }

func newArrivals() *arrivals { return &arrivals{calls: map[string]arrival{}} }

// start is the tool's OnInputStart. ctx is the call's.
func (a *arrivals) start(ctx context.Context, call *pluginsdk.Call) error {
	id := call.ID()
	a.mu.Lock()
	a.calls[id] = arrival{}
	a.mu.Unlock()
	context.AfterFunc(ctx, func() {
		a.mu.Lock()
		delete(a.calls, id)
		a.mu.Unlock()
	})
	call.Logger().Debug("input starts")
	return nil
}

// delta is the tool's OnInputDelta.
func (a *arrivals) delta(_ context.Context, call *pluginsdk.Call, delta string) error {
	got := a.count(call.ID(), len(delta))
	call.Logger().Debug("input delta", "delta", got.deltas, "bytes", len(delta), "total", got.bytes)
	return nil
}

// available is the tool's OnInputAvailable.
func (a *arrivals) available(_ context.Context, call *pluginsdk.Call, in Input) error {
	got := a.count(call.ID(), 0)
	call.Logger().Debug("input available", "deltas", got.deltas, "bytes", got.bytes, "days", in.Days)
	return nil
}

// count adds a delta of n bytes, if n is not 0, to what has come of a call's
// input, and returns the sum; nothing is kept for a call that has ended.
func (a *arrivals) count(id string, n int) arrival {
	a.mu.Lock()
	defer a.mu.Unlock()
	got, open := a.calls[id]
	if open && n > 0 {
		got.deltas++
		got.bytes += n
		a.calls[id] = got
	}
	return got
}
