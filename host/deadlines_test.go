package host

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// limited is a clock of d that runs, and its context.
func limited(ds *deadlines, d time.Duration) *clock {
	c := &clock{deadlines: ds, ends: time.Now().Add(d)}
	c.ctx.Context = context.Background()
	ds.add(c)
	return c
}

func TestDeadlines_EndInTheirOrder(t *testing.T) {
	var ds deadlines
	defer ds.close()
	start := time.Now()
	var all []*clock
	for range 500 {
		all = append(all, limited(&ds, time.Hour+rand.N(time.Hour)))
	}
	for _, i := range rand.Perm(len(all))[:250] {
		switch c := all[i]; i % 2 {
		case 0:
			c.stop(false)
		case 1:
			resume := c.pause()
			c.left = rand.N(time.Hour)
			resume()
		}
	}
	for before := start; len(ds.heap) > 0; {
		c := ds.heap[0]
		if c.ends.Before(before) {
			t.Fatalf("%v comes after %v", c.ends, before)
		}
		if ds.armed.After(c.ends) {
			t.Fatalf("the timer fires at %v, the earliest deadline is %v", ds.armed, c.ends)
		}
		before = c.ends
		c.stop(false)
	}
}

func TestDeadlines_OneTimerEndsEveryClock(t *testing.T) {
	var ds deadlines
	defer ds.close()
	late := limited(&ds, time.Hour)
	soon := limited(&ds, 20*time.Millisecond)
	sooner := limited(&ds, time.Millisecond)
	done := limited(&ds, 2*time.Millisecond)
	done.stop(false)
	stands := limited(&ds, 2*time.Millisecond)
	resume := stands.pause()
	<-sooner.ctx.Done()
	<-soon.ctx.Done()
	for name, c := range map[string]struct {
		clock *clock
		want  error
	}{
		"late": {late, nil}, "soon": {soon, context.DeadlineExceeded}, "done": {done, context.Canceled}, "stands": {stands, nil},
	} {
		if err := c.clock.ctx.Err(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	resume()
	<-stands.ctx.Done()
	late.stop(false)
}

func TestCallContext_ContextsBelowEndWithIt(t *testing.T) {
	type key struct{}
	c := &callContext{Context: context.WithValue(context.Background(), key{}, "value")}
	below, cancel := context.WithCancel(c)
	defer cancel()
	far, cancelFar := context.WithCancel(context.WithValue(c, key{}, "other"))
	defer cancelFar()
	gone, leave := context.WithCancel(c)
	leave()
	if c.Err() != nil || below.Err() != nil || len(c.after) != 1 {
		t.Fatalf("%v, %v, %d contexts below before the end", c.Err(), below.Err(), len(c.after))
	}
	ran := make(chan struct{})
	stop := context.AfterFunc(c, func() { close(ran) })
	c.end(context.DeadlineExceeded)
	c.end(context.Canceled)
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
