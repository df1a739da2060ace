// Package workers keeps goroutines for the next work: the stack of a new one is small, and growing it costs more than much of a call.
package workers

import "sync"

// Pool runs work, each on a goroutine of its own. There is no limit to how many run. It is safe for concurrent use.
type Pool[T any] struct {
	// Do does the work.
	Do func(T)
	// Keep is how many goroutines wait for work at most. If zero, none does.
	Keep int

	mu     sync.Mutex
	idle   []*worker[T] // the last one ran last
	closed bool
	group  sync.WaitGroup // those that wait or are about to
}

// worker is a goroutine that does one work after the other.
type worker[T any] struct{ next chan T }

// Run does work on a goroutine that waits, or on a new one. Who calls it joins the work.
func (p *Pool[T]) Run(work T) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		w := p.idle[n-1]
		p.idle[n-1], p.idle = nil, p.idle[:n-1]
		p.mu.Unlock()
		w.next <- work // has room: one for each time that it waits
		return
	}
	p.mu.Unlock()
	// Ends when enough others wait, with Close, or with work that ends its goroutine (runtime.Goexit). Close joins its waiting.
	go p.work(&worker[T]{next: make(chan T, 1)}, work)
}

func (p *Pool[T]) work(w *worker[T], work T) {
	for more := true; more; {
		p.Do(work)
		var none T
		work = none // what it holds may be large
		if !p.wait(w) {
			return
		}
		work, more = <-w.next
		p.group.Done()
	}
}

// wait lets w have the next work; false if it is not wanted any more.
func (p *Pool[T]) wait(w *worker[T]) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= p.Keep {
		return false
	}
	p.group.Add(1)
	p.idle = append(p.idle, w)
	return true
}

// Close returns when none waits any more. Those that work end with their work.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	p.closed = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, w := range idle {
		close(w.next)
	}
	p.group.Wait()
}
