package host

import (
	"context"
	"sync"
	"time"
)

// clock is the time that a call may take. It stands still while a person is asked (b52).
type clock struct {
	mu     sync.Mutex
	timer  *time.Timer
	ends   time.Time     // while it runs
	left   time.Duration // while it stands
	stands int           // how many questions are open
	cancel context.CancelCauseFunc
}

// limit bounds the call by its tool's limit or the host's, counted from here.
func (r *run) limit(ctx context.Context) (context.Context, *clock) {
	lim := r.entry.plugin.lim
	d := lim.Call
	if t := r.entry.tool.Timeout; t > 0 {
		d = min(t, lim.CallMax)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	c := &clock{ends: time.Now().Add(d), cancel: cancel}
	c.timer = time.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, c
}

// stop ends the call's context.
func (c *clock) stop() {
	c.timer.Stop()
	c.cancel(nil)
}

// pause stops the time until the function that it returns is called.
func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stands++; c.stands == 1 {
		c.timer.Stop()
		c.left = time.Until(c.ends)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.stands--; c.stands == 0 {
			c.ends = time.Now().Add(c.left)
			c.timer.Reset(max(c.left, 0))
		}
	}
}

// remaining is the time that is left, of the clock and of ctx.
func (c *clock) remaining(ctx context.Context) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.left
	if c.stands == 0 {
		left = time.Until(c.ends)
	}
	if t, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(t))
	}
	return left
}
