package session

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/internal/lazy"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// callContext is the context of a call in the plugin: most tools never look at theirs. One timer ends those of a session whose time
// is over and whose end somebody waits for; the others say that it is over when they are asked.
type callContext struct {
	lazy.Context
	s        *Session
	deadline time.Time // zero: none; not changed once the call is open
}

// Deadline implements [context.Context].
func (x *callContext) Deadline() (time.Time, bool) { return x.deadline, !x.deadline.IsZero() }

// Done implements [context.Context].
func (x *callContext) Done() <-chan struct{} {
	first := x.Made() == nil
	done := x.Context.Done()
	if first && !x.deadline.IsZero() {
		x.s.alarm(x.deadline)
	}
	return done
}

// Err implements [context.Context].
func (x *callContext) Err() error {
	x.lapse(time.Now())
	return x.Context.Err()
}

// Value implements [context.Context].
func (x *callContext) Value(key any) any {
	x.lapse(time.Now())
	return x.Context.Value(key)
}

// lapse ends the context if its time is over, and reports whether it was.
func (x *callContext) lapse(now time.Time) bool {
	if x.deadline.IsZero() || now.Before(x.deadline) {
		return false
	}
	x.End(context.DeadlineExceeded, &CancelError{Reason: pb.CancelReason_CANCEL_REASON_TIMEOUT})
	return true
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
		if d.IsZero() || c.ctx.lapse(now) || !next.IsZero() && !d.Before(next) || !c.ctx.Awaited() {
			continue
		}
		next = d
	}
	if !next.IsZero() {
		s.setAlarm(next)
	}
}
