package host

import (
	"context"
	"sync"
	"time"
)

// deadlines are the clocks that run, of all calls of a host, with one timer for all: setting one for each call would wake the
// goroutine that waits for the network, since it waits no longer than the earliest timer. A call that ends in time leaves the
// timer as it is; when it fires and nothing is due, it is set to what is the earliest then.
type deadlines struct {
	mu    sync.Mutex
	heap  []*clock // the earliest first
	timer *time.Timer
	armed time.Time // when the timer fires; zero: never
}

// add begins to watch a new clock.
func (d *deadlines) add(c *clock) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.insert(c)
}

// insert puts a clock in. d.mu is held.
func (d *deadlines) insert(c *clock) {
	c.at = len(d.heap)
	d.heap = append(d.heap, c)
	d.up(c.at)
	d.arm()
}

// remove takes a clock out, if it is in. d.mu is held.
func (d *deadlines) remove(c *clock) {
	i, last := c.at, len(d.heap)-1
	if i < 0 || i > last || d.heap[i] != c {
		return
	}
	c.at = -1
	moved := d.heap[last]
	d.heap[last] = nil
	d.heap = d.heap[:last]
	if i == last {
		return
	}
	d.heap[i], moved.at = moved, i
	d.down(i)
	d.up(i)
}

// arm sets the timer, if it would fire too late. d.mu is held.
func (d *deadlines) arm() {
	if len(d.heap) == 0 {
		return
	}
	first := d.heap[0].ends
	if !d.armed.IsZero() && !first.Before(d.armed) {
		return
	}
	d.armed = first
	if d.timer == nil {
		d.timer = time.AfterFunc(time.Until(first), d.fire) // its goroutine ends at once
		return
	}
	d.timer.Reset(max(time.Until(first), 0))
}

// fire ends what is due.
func (d *deadlines) fire() {
	for _, c := range d.due() {
		c.end(context.DeadlineExceeded)
	}
}

// due takes out the clocks whose time is over, and sets the timer to the next one.
func (d *deadlines) due() []*clock {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = time.Time{}
	var due []*clock
	for now := time.Now(); len(d.heap) > 0 && !d.heap[0].ends.After(now); {
		c := d.heap[0]
		d.remove(c)
		c.over = true
		due = append(due, c)
	}
	d.arm()
	return due
}

// close stops a timer that nobody needs. A call that a caller's function holds up longer than the host lives keeps its own.
func (d *deadlines) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil && len(d.heap) == 0 {
		d.timer.Stop()
		d.armed = time.Time{}
	}
}

func (d *deadlines) up(i int) {
	for i > 0 {
		above := (i - 1) / 2
		if !d.heap[i].ends.Before(d.heap[above].ends) {
			return
		}
		d.swap(i, above)
		i = above
	}
}

func (d *deadlines) down(i int) {
	for {
		least := i
		for below := 2*i + 1; below <= 2*i+2 && below < len(d.heap); below++ {
			if d.heap[below].ends.Before(d.heap[least].ends) {
				least = below
			}
		}
		if least == i {
			return
		}
		d.swap(i, least)
		i = least
	}
}

func (d *deadlines) swap(i, j int) {
	d.heap[i], d.heap[j] = d.heap[j], d.heap[i]
	d.heap[i].at, d.heap[j].at = i, j
}
