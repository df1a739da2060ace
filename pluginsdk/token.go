package pluginsdk

import (
	"context"
	"sync"
)

// token is a right that one goroutine has at a time. The zero value is free.
type token struct {
	mu    sync.Mutex
	taken bool
	freed chan struct{} // closed when it is given back; nil if nobody waits
}

// take waits for the token, or returns ctx's cause.
func (t *token) take(ctx context.Context) error {
	for {
		t.mu.Lock()
		if !t.taken {
			t.taken = true
			t.mu.Unlock()
			return nil
		}
		if t.freed == nil {
			t.freed = make(chan struct{})
		}
		freed := t.freed
		t.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (t *token) giveBack() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken = false
	if t.freed != nil {
		close(t.freed)
		t.freed = nil
	}
}
