package host

import (
	"context"
	"sync"
)

// maxQueued is how many bytes of custom output wait for a reader of events.
const maxQueued = 256 << 10

// eventSize is what an event without data counts.
const eventSize = 64

// eventQueue holds a call's events until they are read.
type eventQueue struct {
	mu      sync.Mutex
	items   []Event
	bytes   int // of Output events in items
	claimed bool
	dropAll bool
	over    bool
	more    chan struct{} // holds one token when items or over changed
	room    chan struct{} // holds one token when bytes shrank or dropAll was set
}

func newEventQueue() *eventQueue {
	return &eventQueue{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put adds an event. Custom output waits for room, at most until ctx ends.
func (q *eventQueue) put(ctx context.Context, e Event) {
	size := 0
	if o, ok := e.(Output); ok {
		size = len(o.Data) + eventSize
	}
	for !q.tryPut(e, size) {
		select {
		case <-q.room:
		case <-ctx.Done():
			return
		}
	}
}

func (q *eventQueue) tryPut(e Event, size int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropAll {
		return true
	}
	if size > 0 && q.bytes > 0 && q.bytes+size > maxQueued {
		return false
	}
	if n := len(q.items); n > 0 && isProgress(e) && isProgress(q.items[n-1]) {
		q.items[n-1] = e
		return true
	}
	q.items = append(q.items, e)
	q.bytes += size
	token(q.more)
	return true
}

func isProgress(e Event) bool {
	_, ok := e.(Progress)
	return ok
}

func token(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close adds the terminal event.
func (q *eventQueue) close(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.dropAll {
		q.items = append(q.items, e)
	}
	q.over = true
	token(q.more)
}

// next waits for an event; false: there are no more.
func (q *eventQueue) next() (Event, bool) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 {
			e := q.items[0]
			q.items[0] = nil
			q.items = q.items[1:]
			if o, ok := e.(Output); ok {
				q.bytes -= len(o.Data) + eventSize
				token(q.room)
			}
			q.mu.Unlock()
			return e, true
		}
		over := q.over || q.dropAll
		q.mu.Unlock()
		if over {
			return nil, false
		}
		<-q.more
	}
}

func (q *eventQueue) claim() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was := q.claimed
	q.claimed = true
	return !was
}

func (q *eventQueue) discardUnclaimed() {
	q.mu.Lock()
	claimed := q.claimed
	q.mu.Unlock()
	if !claimed {
		q.discard()
	}
}

func (q *eventQueue) discard() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropAll, q.items, q.bytes = true, nil, 0
	token(q.room)
	token(q.more)
}
