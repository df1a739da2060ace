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
