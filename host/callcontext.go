package host

import (
	"context"
	"sync"
)

// callContext is the context of a call whose caller's context can not end. It is part of its run, and makes its channel when
// somebody asks for it; otherwise it is what context.WithCancelCause makes, except that Err is the cause.
type callContext struct {
	context.Context // the caller's, for its values

	mu    sync.Mutex
	done  chan struct{} // nil: nobody has asked
	err   error         // not nil: it ended
	after map[*func()]struct{}
}

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err implements context.Context.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc is how package context has contexts below this one end with it, without a goroutine for each.
func (c *callContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f() // which ends the context below, and no more
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = map[*func()]struct{}{}
	}
	c.after[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, there := c.after[&f]
		delete(c.after, &f)
		return there
	}
}

// end ends the context and those below it. Only the first end counts.
func (c *callContext) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for f := range after {
		(*f)()
	}
}
