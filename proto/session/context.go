package session

import (
	"context"
	"sync"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// callContext is the context of a call in the plugin. What it consists of is made when somebody asks for it: most tools
// never look at theirs. One timer ends those of a session whose time is over.
//
// Package context keeps a cause beside the error only in contexts of its own, so inner is one, made for its cause. Children
// end through AfterFunc, with the error and the cause of this context.
type callContext struct {
	s        *Session
	deadline time.Time // zero: none; not changed once the call is open

	mu       sync.Mutex // taken after s.mu where both are
	err      error      // not nil once it has ended
	cause    error
	done     chan struct{}   // nil until somebody waits
	inner    context.Context // nil until somebody asks for a value
	stop     context.CancelCauseFunc
	children map[*child]struct{}
}

// child is what is told of the end.
type child struct{ end func() }

// Deadline implements [context.Context].
func (x *callContext) Deadline() (time.Time, bool) { return x.deadline, !x.deadline.IsZero() }

// Done implements [context.Context].
func (x *callContext) Done() <-chan struct{} {
	x.mu.Lock()
	done, first := x.done, x.done == nil
	if first {
		done = make(chan struct{})
		x.done = done
		if x.err != nil {
			close(done)
		}
	}
	x.mu.Unlock()
	if first && !x.deadline.IsZero() {
		x.s.alarm(x.deadline)
	}
	return done
}

// Err implements [context.Context].
func (x *callContext) Err() error {
	x.lapse(time.Now())
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

// Value is how package context finds the cause. There are no values.
func (x *callContext) Value(key any) any {
	x.lapse(time.Now())
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.inner == nil {
		x.inner, x.stop = context.WithCancelCause(context.Background())
		if x.err != nil {
			x.stop(x.cause)
		}
	}
	return x.inner.Value(key)
}

// AfterFunc is how package context attaches children. It is called with a lock that f takes.
func (x *callContext) AfterFunc(f func()) (stop func() bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil {
		go f() // ends at once: it ends a context
		return func() bool { return false }
	}
	c := &child{f}
	if x.children == nil {
		x.children = make(map[*child]struct{})
	}
	x.children[c] = struct{}{}
	return func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		_, there := x.children[c]
		delete(x.children, c)
		return there
	}
}

// end ends the context, once.
func (x *callContext) end(err, cause error) {
	x.mu.Lock()
	if x.err != nil {
		x.mu.Unlock()
		return
	}
	x.err, x.cause = err, cause
	if x.stop != nil {
		x.stop(cause)
	}
	if x.done != nil {
		close(x.done)
	}
	children := x.children
	x.children = nil
	x.mu.Unlock()
	for c := range children {
		c.end()
	}
}

// lapse ends the context if its time is over, and reports whether it was.
func (x *callContext) lapse(now time.Time) bool {
	if x.deadline.IsZero() || now.Before(x.deadline) {
		return false
	}
	x.end(context.DeadlineExceeded, &CancelError{Reason: pb.CancelReason_CANCEL_REASON_TIMEOUT})
	return true
}

// waits reports whether the context has to end in time because somebody waits for it.
func (x *callContext) waits() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.done != nil && x.err == nil
}

// alarm makes the session's timer fire at t or before. It stays as it is when calls end: the next ones are later.
func (s *Session) alarm(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && (s.alarmAt.IsZero() || t.Before(s.alarmAt)) {
		s.setAlarm(t)
	}
}

func (s *Session) setAlarm(t time.Time) {
	s.alarmAt = t
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(t), s.expire)
		return
	}
	s.timer.Reset(time.Until(t))
}

// expire is what the timer does: it ends the contexts whose time is over and waits for the next of those that somebody waits for.
func (s *Session) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarmAt = time.Time{}
	if s.err != nil {
		return
	}
	var next time.Time
	now := time.Now()
	for _, c := range s.calls {
		d := c.ctx.deadline
		if d.IsZero() || c.ctx.lapse(now) || !next.IsZero() && !d.Before(next) || !c.ctx.waits() {
			continue
		}
		next = d
	}
	if !next.IsZero() {
		s.setAlarm(next)
	}
}
