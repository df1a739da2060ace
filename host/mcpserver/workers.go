package mcpserver

import "sync"

// workers are goroutines that are kept for the next work: the stack of a new one is small, and growing it costs more than much of a
// call. There is no limit to how many run.
type workers struct {
	mu     sync.Mutex
	idle   []*worker // the last one ran last
	closed bool
	group  sync.WaitGroup // those that wait or are about to
}

// worker is a goroutine that runs one function after the other.
type worker struct{ next chan func() }

// keepWorkers is how many wait for work at most.
const keepWorkers = 128

// run runs f on a goroutine that waits, or on a new one. Who calls it joins f.
func (w *workers) run(f func()) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		k := w.idle[n-1]
		w.idle[n-1], w.idle = nil, w.idle[:n-1]
		w.mu.Unlock()
		k.next <- f // has room: one function for each time that it waits
		return
	}
	w.mu.Unlock()
	go w.work(&worker{next: make(chan func(), 1)}, f) // ends when enough others wait, or with close
}

func (w *workers) work(k *worker, f func()) {
	for f != nil {
		f()
		f = nil // what it holds may be large
		if !w.wait(k) {
			return
		}
		f = <-k.next
		w.group.Done()
	}
}

// wait lets k have the next function; false if it is not wanted any more.
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

// close returns when none waits any more. Those that run end with what they run.
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
