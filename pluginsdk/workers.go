package pluginsdk

import "sync"

// workers are the goroutines that run calls. They are kept for the next calls: the stack of a new one is small, and growing it
// costs more than many a call. There is no limit to how many run.
type workers struct {
	mu     sync.Mutex
	idle   []*worker // the last one ran last
	closed bool
	group  sync.WaitGroup // those that wait or are about to
}

// worker is a goroutine that runs one call after the other.
type worker struct{ next chan *Call }

// keepWorkers is how many wait for calls at most.
const keepWorkers = 64

// run runs a call on a goroutine that waits, or on a new one.
func (w *workers) run(c *Call) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		k := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		k.next <- c // has room: one call for each time that it waits
		return
	}
	w.mu.Unlock()
	// Ends when enough others wait, with close, or with an author's function that ends it (runtime.Goexit). server.work joins
	// its calls, and close its waiting.
	go w.work(&worker{next: make(chan *Call, 1)}, c)
}

func (w *workers) work(k *worker, c *Call) {
	for c != nil {
		c.run()
		if !w.wait(k) {
			return
		}
		c = <-k.next
		w.group.Done()
	}
}

// wait lets k have the next call; false if it is not wanted any more.
func (w *workers) wait(k *worker) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || len(w.idle) >= keepWorkers {
		return false
	}
	w.group.Add(1)
	w.idle = append(w.idle, k)
	return true
}

// close returns when none waits any more. Those that run a call end with it.
func (w *workers) close() {
	w.mu.Lock()
	w.closed = true
	idle := w.idle
	w.idle = nil
	w.mu.Unlock()
	for _, k := range idle {
		close(k.next)
	}
	w.group.Wait()
}
