package host

import (
	"context"
	"fmt"
	"iter"
	"sync"
)

// CallAll makes the calls of one model turn, side by side up to Limits.Parallel, and yields each call's
// events with its index. Terminal events come in the order of the calls, whatever ends first (b6, b30);
// other events come as they happen. What waits for an approval or an answer is decided per call and holds
// no sibling up (b50). An id that an earlier call has makes the later one fail by an event of its own.
// Breaking out cancels all calls. An input of nil is empty: calls here do not stream theirs.
func (h *Host) CallAll(ctx context.Context, calls []Call) iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(errReaderLeft)
		t := &turn{host: h, events: make(chan indexed)}
		var all sync.WaitGroup
		all.Go(func() { t.run(ctx, calls) }) // ends when every call has ended
		defer all.Wait()
		defer t.drain()
		last := make([]Event, len(calls))
		for next := 0; next < len(calls); {
			e := <-t.events
			if !e.last {
				if !yield(e.index, e.event) {
					cancel(errReaderLeft)
					return
				}
				continue
			}
			last[e.index] = e.event
			for ; next < len(calls) && last[next] != nil; next++ {
				if !yield(next, last[next]) {
					cancel(errReaderLeft)
					return
				}
			}
		}
	}
}

// turn is the calls of one CallAll.
type turn struct {
	host   *Host
	events chan indexed // closed by run
}

type indexed struct {
	index int
	event Event
	last  bool // the call's terminal event
}

// run makes the calls, at most Limits.Parallel at once, in their order.
func (t *turn) run(ctx context.Context, calls []Call) {
	defer close(t.events)
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, max(1, t.host.lim.Parallel))
	seen := map[string]bool{}
	for i, c := range calls {
		if len(c.Input) == 0 && c.resume == nil {
			c.Input = emptyInput
		}
		again := c.ID != "" && seen[c.ID]
		seen[c.ID] = true
		slots <- struct{}{}
		all.Go(func() { // ends with its call
			defer func() { <-slots }()
			if again {
				t.events <- indexed{i, t.host.twice(c), true}
				return
			}
			t.watch(ctx, i, c)
		})
	}
}

// watch passes the events of one call on.
func (t *turn) watch(ctx context.Context, i int, c Call) {
	for e := range t.host.Start(ctx, c).Events() {
		t.events <- indexed{i, e, isTerminal(e)}
	}
}

// drain takes what is still sent after the reader left.
func (t *turn) drain() {
	for range t.events {
	}
}

func (h *Host) twice(c Call) Event {
	r := &run{host: h, call: c}
	return ErrorEvent{r.head(), r.fail(InvalidInput, NotStarted, fmt.Errorf("the call id %q was used before in this turn", c.ID))}
}
