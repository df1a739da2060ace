// Package lazy has the context of a call, of which there are many: what it consists of is made when somebody asks for it, since most
// calls end before anybody has.
package lazy

import (
	"context"
	"sync"
	"time"
)

// Context is a [context.Context] that ends with End, and has no deadline. The zero value is one that has not ended. It must not be
// copied.
//
// Contexts below it end through AfterFunc, with its error and its cause.
type Context struct {
	// Values has its values; then its cause is its error. If nil, it has none, and its cause: package context keeps one only in
	// contexts of its own, so Values becomes one of them when somebody asks. Not to be read or set once the context is in use.
	Values context.Context

	mu    sync.Mutex
	err   error // not nil once it has ended
	cause error
	done  chan struct{}           // nil until somebody waits
	stop  context.CancelCauseFunc // of Values, if made here
	below map[*func()]struct{}    // what is told of the end
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} {
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

// Err implements [context.Context].
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Value implements [context.Context]. It is also how package context finds the cause.
func (c *Context) Value(key any) any {
	c.mu.Lock()
	if c.Values == nil {
		c.Values, c.stop = context.WithCancelCause(context.Background())
		if c.err != nil {
			c.stop(c.cause)
		}
	}
	values := c.Values
	c.mu.Unlock()
	return values.Value(key)
}

// AfterFunc is how package context has contexts below this one end with it, without a goroutine for each. It is called with a lock
// that f takes.
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f() // ends at once: it ends a context
		return func() bool { return false }
	}
	if c.below == nil {
		c.below = map[*func()]struct{}{}
	}
	c.below[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, there := c.below[&f]
		delete(c.below, &f)
		return there
	}
}

// End ends the context and those below it. Only the first end counts.
func (c *Context) End(err, cause error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err, c.cause = err, cause
	if c.stop != nil {
		c.stop(cause)
	}
	if c.done != nil {
		close(c.done)
	}
	below := c.below
	c.below = nil
	c.mu.Unlock()
	for f := range below {
		(*f)()
	}
}

// Awaited reports whether somebody may wait for the end, which has not come.
func (c *Context) Awaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done != nil && c.err == nil
}

// Made is the channel of Done, or nil if nobody has asked for it.
func (c *Context) Made() chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// Reuse gives a new context what another one had Made, which has not ended and which nobody has any more.
func (c *Context) Reuse(made chan struct{}) { c.done = made }
