package host

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/internal/lazy"
)

// clock is the time that a call may take. It stands still while a person is asked (b52). All but ctx and cancel is guarded by
// the lock of its deadlines.
type clock struct {
	deadlines *deadlines
	at        int           // its place in deadlines; -1: in none
	ends      time.Time     // while it runs
	left      time.Duration // while it stands
	stands    int           // how many questions are open
	over      bool          // stopped, or its time is over
	late      bool          // its time was over before it was stopped
	ctx       lazy.Context  // if the caller's context can not end
	cancel    context.CancelCauseFunc
}

// limit bounds the call by its tool's limit or the host's, counted from here.
func (r *run) limit(ctx context.Context) (context.Context, *clock) {
	lim := r.entry.plugin.lim
	d := lim.Call
	if t := r.entry.tool.Timeout; t > 0 {
		d = min(t, lim.CallMax)
	}
	c := &r.time
	c.deadlines = &r.host.deadlines
	if ctx.Done() == nil {
		c.ctx.Values = ctx
		ctx = &c.ctx
	} else {
		ctx, c.cancel = context.WithCancelCause(ctx)
	}
	c.ends = time.Now().Add(d)
	c.deadlines.add(c)
	return ctx, c
}

// end ends the call's context. If cause is nil, it is context.Canceled.
func (c *clock) end(cause error) {
	if c.cancel != nil {
		c.cancel(cause)
		return
	}
	if cause == nil {
		cause = context.Canceled
	}
	c.ctx.End(cause, cause)
}

// stop ends the call's context, unless it is private: nobody waits for the end of a context that nobody has.
func (c *clock) stop(private bool) {
	c.deadlines.mu.Lock()
	c.late, c.over = c.over, true
	c.deadlines.remove(c)
	c.deadlines.mu.Unlock()
	if !private || c.cancel != nil {
		c.end(nil)
	}
}

// pause stops the time until the function that it returns is called.
func (c *clock) pause() (resume func()) {
	c.deadlines.mu.Lock()
	defer c.deadlines.mu.Unlock()
	if c.stands++; c.stands == 1 {
		c.deadlines.remove(c)
		c.left = time.Until(c.ends)
	}
	return c.resume
}

func (c *clock) resume() {
	c.deadlines.mu.Lock()
	defer c.deadlines.mu.Unlock()
	if c.stands--; c.stands == 0 {
		c.ends = time.Now().Add(c.left)
		if !c.over {
			c.deadlines.insert(c)
		}
	}
}

// remaining is the time that is left, of the clock and of ctx.
func (c *clock) remaining(ctx context.Context) time.Duration {
	c.deadlines.mu.Lock()
	ends, left, stands := c.ends, c.left, c.stands
	c.deadlines.mu.Unlock()
	if stands == 0 {
		left = time.Until(ends)
	}
	if t, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(t))
	}
	return left
}
