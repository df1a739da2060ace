package lazy

import (
	"context"
	"errors"
	"testing"
)

func TestContext_ContextsBelowEndWithIt(t *testing.T) {
	type key struct{}
	c := &Context{Values: context.WithValue(context.Background(), key{}, "value")}
	below, cancel := context.WithCancel(c)
	defer cancel()
	far, cancelFar := context.WithCancel(context.WithValue(c, key{}, "other"))
	defer cancelFar()
	gone, leave := context.WithCancel(c)
	leave()
	if c.Err() != nil || below.Err() != nil || len(c.below) != 1 {
		t.Fatalf("%v, %v, %d contexts below before the end", c.Err(), below.Err(), len(c.below))
	}
	ran := make(chan struct{})
	stop := context.AfterFunc(c, func() { close(ran) })
	c.End(context.DeadlineExceeded, context.DeadlineExceeded)
	c.End(context.Canceled, context.Canceled)
	<-c.Done()
	<-ran
	<-far.Done()
	for name, ctx := range map[string]context.Context{"itself": c, "below": below, "far": far} {
		if ctx.Err() != context.DeadlineExceeded || context.Cause(ctx) != context.DeadlineExceeded {
			t.Errorf("%s: %v, cause %v", name, ctx.Err(), context.Cause(ctx))
		}
	}
	if stop() || gone.Err() != context.Canceled {
		t.Errorf("what was left before ended with %v", gone.Err())
	}
	late, cancelLate := context.WithCancel(c)
	defer cancelLate()
	if <-late.Done(); late.Value(key{}) != "value" {
		t.Error("a value is lost")
	}
}

// Without values of another, the cause is found, by those below too, whenever it is asked for.
func TestContext_Cause(t *testing.T) {
	cause := errors.New("why")
	for _, asked := range []bool{true, false} {
		var c Context
		if asked && context.Cause(&c) != nil {
			t.Error("a cause before the end")
		}
		below, cancel := context.WithCancel(&c)
		defer cancel()
		c.End(context.DeadlineExceeded, cause)
		<-below.Done()
		for _, ctx := range []context.Context{&c, below} {
			if ctx.Err() != context.DeadlineExceeded || context.Cause(ctx) != cause {
				t.Errorf("%v, cause %v", ctx.Err(), context.Cause(ctx))
			}
		}
	}
}

// What one has made serves the next.
func TestContext_Reuse(t *testing.T) {
	var last, next Context
	if last.Made() != nil || last.Awaited() {
		t.Error("made before anybody asked")
	}
	last.Done()
	next.Reuse(last.Made())
	if !next.Awaited() || next.Made() != last.Made() {
		t.Error("it was made anew")
	}
	next.End(context.Canceled, context.Canceled)
	if <-next.Done(); next.Awaited() {
		t.Error("awaited after the end")
	}
}
