package pluginsdk

import (
	"context"
	"sync"
	"time"
)

// execContext is Execute's context: the call's, and it ends when Execute returns. It is a context of its own only once somebody
// waits for it or looks for its cause.
type execContext struct {
	call context.Context

	mu     sync.Mutex
	own    context.Context // nil until it is needed
	cancel context.CancelFunc
	over   bool // Execute has returned
}

// Deadline implements [context.Context].
func (x *execContext) Deadline() (time.Time, bool) { return x.call.Deadline() }

// Done implements [context.Context].
func (x *execContext) Done() <-chan struct{} { return x.made().Done() }

// Value implements [context.Context]. Package context finds the cause with it.
func (x *execContext) Value(key any) any { return x.made().Value(key) }

// Err implements [context.Context].
func (x *execContext) Err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.own != nil:
		return x.own.Err()
	case x.over:
		return context.Canceled
	}
	return x.call.Err()
}

func (x *execContext) made() context.Context {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.own == nil {
		x.own, x.cancel = context.WithCancel(x.call)
		if x.over {
			x.cancel()
		}
	}
	return x.own
}

// end is called when Execute has returned.
func (x *execContext) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	if x.cancel != nil {
		x.cancel()
	}
}
