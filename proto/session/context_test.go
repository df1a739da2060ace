package session

import (
	"context"
	"errors"
	"testing"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// contextOf is the context of a call of e that takes at most d.
func contextOf(t *testing.T, e ends, calls <-chan *Call, d time.Duration) (*Call, context.Context) {
	t.Helper()
	c := mustOpen(t, e.host, &pb.Open{Run: true, TimeoutNs: uint64(d)})
	p := <-calls
	if p.ID() != c.ID() {
		t.Fatalf("call %d, not %d", p.ID(), c.ID())
	}
	return p, p.Context()
}

func timedOut(ctx context.Context) bool {
	var cancel *CancelError
	return ctx.Err() == context.DeadlineExceeded && errors.As(context.Cause(ctx), &cancel) &&
		cancel.Reason == pb.CancelReason_CANCEL_REASON_TIMEOUT
}

// The contexts of one session share a timer: each ends at its own time, also when the later one was waited for first, and the one
// that nobody waits for says that its time is over when it is asked.
func TestDeadlinesShareATimer(t *testing.T) {
	open, calls := accepting()
	e := connect(t, Config{}, Config{}, open)
	_, asked := contextOf(t, e, calls, time.Millisecond)
	_, hour := contextOf(t, e, calls, time.Hour)
	late, later := contextOf(t, e, calls, 60*time.Millisecond)
	_, first := contextOf(t, e, calls, 5*time.Millisecond)
	hour.Done()
	await(t, later.Done(), "the later deadline, waited for first")
	if d, ok := later.Deadline(); !ok || time.Now().Before(d) {
		t.Errorf("it ended before its deadline %v, %v", d, ok)
	}
	await(t, first.Done(), "the earlier deadline")
	for _, ctx := range []context.Context{asked, first, later} {
		if !timedOut(ctx) {
			t.Errorf("%v, cause %v", ctx.Err(), context.Cause(ctx))
		}
	}
	if hour.Err() != nil {
		t.Errorf("the one with an hour: %v", hour.Err())
	}
	late.EndContext(ErrEnded)
	if !timedOut(later) {
		t.Error("a context ended twice")
	}
}

// Children end with the error and the cause of the call's context, however it ends.
func TestContextChildren(t *testing.T) {
	own := errors.New("own")
	ends := []struct {
		name  string
		time  time.Duration
		end   func(ends, *Call)
		err   error
		cause error
	}{
		{"deadline", 10 * time.Millisecond, func(ends, *Call) {}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"own cause", 0, func(_ ends, p *Call) { p.EndContext(own) }, context.Canceled, own},
		{"own cause for all", 0, func(e ends, _ *Call) { e.plugin.EndContexts(own) }, context.Canceled, own},
		{"closed", 0, func(_ ends, p *Call) { p.Close() }, context.Canceled, ErrClosed},
		{"session's end", 0, func(e ends, _ *Call) { e.plugin.Close() }, context.Canceled, ErrEnded},
	}
	for _, tt := range ends {
		t.Run(tt.name, func(t *testing.T) {
			open, calls := accepting()
			e := connect(t, Config{}, Config{}, open)
			p, ctx := contextOf(t, e, calls, tt.time)
			child, cancel := context.WithCancel(context.WithValue(ctx, own, "x"))
			defer cancel()
			left, leave := context.WithCancel(ctx)
			leave()
			told := make(chan struct{})
			context.AfterFunc(child, func() { close(told) })
			tt.end(e, p)
			await(t, told, "the child's function")
			after, cancel := context.WithTimeout(ctx, time.Hour) // made after the end
			defer cancel()
			await(t, after.Done(), "a child of a context that has ended")
			for _, c := range []context.Context{ctx, child, after} {
				if c.Err() != tt.err || !errors.Is(context.Cause(c), tt.cause) {
					t.Errorf("%v, cause %v", c.Err(), context.Cause(c))
				}
			}
			if left.Err() != context.Canceled || context.Cause(left) != context.Canceled {
				t.Errorf("the child that was cancelled before: %v, %v", left.Err(), context.Cause(left))
			}
		})
	}
}
