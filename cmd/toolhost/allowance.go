package main

import (
	"context"
	"sync"
	"time"
)

// allowance is the time that a call may take. It stands still while a person is asked.
type allowance struct {
	ctx    context.Context // ends with the time, as one that is over its deadline
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	left   time.Duration
	timer  *time.Timer // nil: no limit
	since  time.Time   // when timer was started
	pauses int
}

// newAllowance starts the time; 0 is no limit.
func newAllowance(parent context.Context, limit time.Duration) *allowance {
	t := &allowance{left: limit}
	t.ctx, t.cancel = context.WithCancelCause(parent)
	if limit > 0 {
		t.since = time.Now()
		t.timer = time.AfterFunc(limit, func() { t.cancel(context.DeadlineExceeded) })
	}
	return t
}

// pause stops the time until the returned function is called. Pauses may overlap.
func (t *allowance) pause() (resume func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pauses++; t.pauses == 1 && t.timer != nil {
		t.timer.Stop() // if it was too late, the call is over
		t.left -= time.Since(t.since)
	}
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.pauses--; t.pauses == 0 && t.timer != nil {
			t.since = time.Now()
			t.timer.Reset(max(t.left, 0))
		}
	})
}

// end releases the timer.
func (t *allowance) end() {
	if t.timer != nil {
		t.timer.Stop()
	}
	t.cancel(nil)
}
