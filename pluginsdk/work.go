package pluginsdk

import (
	"context"
	"sync"
)

// work counts the goroutines that run the author's code, so that an end can wait
// for them, but not for ever.
type work struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when n becomes 0; nil while nobody waits
}

// add returns how many there are now.
func (w *work) add() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	return w.n
}

func (w *work) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n--; w.n == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// wait returns how many are left when all are done or ctx ends.
func (w *work) wait(ctx context.Context) int {
	w.mu.Lock()
	if w.n == 0 {
		w.mu.Unlock()
		return 0
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
		return 0
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.n
	}
}
