package rpc

import (
	"fmt"
	"sync/atomic"
	"time"
)

// lendFor is how long the reader may work before another goroutine reads: between one and two of it.
const lendFor = time.Millisecond

// duty is who reads. Work that takes less time than it takes to wake a goroutine for it is done by the reader itself
// when nothing else has arrived; if it takes longer after all, the goroutine of the watch goes on reading, in its place in conn.group.
type duty struct {
	n       atomic.Int64 // odd: the reader works; it changes when the reader begins to work, and when somebody reads again
	watched atomic.Bool  // the watch is set
	watch   *time.Timer  // calls look
	seen    int64        // n when the watch last looked; the watch's
}

// lull tells s that what has arrived for it was handed over, and does the work that it has. It reports whether the caller reads on; else
// another goroutine does.
func (c *conn) lull(s *Stream) (mine bool) {
	c.fed = nil
	work := s.onLull(c.in.Buffered() == 0)
	return work == nil || c.lend(work)
}

// lend does work, in the time of the reader or in its own.
func (c *conn) lend(work func()) (mine bool) {
	d := &c.duty
	began := d.n.Add(1)
	if !d.watched.Load() && d.watched.CompareAndSwap(false, true) {
		d.watch.Reset(lendFor)
	}
	returned := false
	defer func() {
		v := recover()
		if v != nil {
			c.close(lost(fmt.Errorf("panic: %v", v))) // H6
		}
		mine = d.n.CompareAndSwap(began, began+1)
		if mine && v == nil && !returned { // runtime.Goexit
			go c.readOn() // ends with the connection, in the place that this goroutine has in group
		}
	}()
	work()
	returned = true
	return
}

// look is what the watch does: it reads if the reader has worked since it last looked. Else it is set again, unless nothing has
// happened since.
func (c *conn) look() {
	d := &c.duty
	n := d.n.Load()
	works := n%2 == 1
	if n == d.seen && works && d.n.CompareAndSwap(n, n+1) {
		d.watched.Store(false)
		c.readOn()
		return
	}
	if n == d.seen && !works {
		d.watched.Store(false)
		if d.n.Load() == n || d.watched.Swap(true) {
			return
		}
	}
	d.seen = n
	d.watch.Reset(lendFor)
}
