package rpc

import (
	"encoding/binary"
	"io"
	"time"
)

// One at a time writes: whoever has made busy true. It never waits in doing so, but leaves what finds no room to the flusher: so the
// end of its call ends the wait of a sender, also if the peer does not read.

// queue makes control what waits: what waited before, and maybe more. It is called with c.mu held.
func (c *conn) queue(control []byte) {
	if len(control) == len(c.control) || c.werr != nil { // then nobody will get it
		return
	}
	c.control = control
	c.flusher.Signal()
}

// enqueue queues what the peer made necessary. It is called with c.mu held.
func (c *conn) enqueue(control []byte) error {
	if c.owed += len(control) - len(c.control); c.owed > maxQueued && c.werr == nil {
		return broke(codeCalm, "it asks and does not read")
	}
	c.queue(control)
	return nil
}

// take makes the caller the one that writes, and returns the control frames that wait. It is called with c.mu held.
func (c *conn) take() []byte {
	b := append(c.out[:0], c.control...)
	c.control = kept(c.control)
	c.owed, c.busy = 0, true
	return b
}

// kept is a buffer for reuse, unless it is large.
func kept(b []byte) []byte {
	if cap(b) > keptBuffer {
		return nil
	}
	return b[:0]
}

// commit writes out for the one that writes, as far as that needs no wait, and lets the next one write.
func (c *conn) commit(out []byte) error {
	n, err := TryWrite(c.nc, out)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote(out, n, err)
	return eof(err)
}

// wrote notes that n bytes of out were written. When a write has failed, all others do; the connection goes on until the reader has
// read what the peer sent before it broke, but not for ever: the peer may live and only not listen. It is called with c.mu held.
func (c *conn) wrote(out []byte, n int, err error) {
	c.busy = false
	switch {
	case err != nil:
		c.werr, c.control, c.out = err, nil, nil
		time.AfterFunc(lastWords, func() { c.close(lost(err)) }) // does nothing if it is over by then
	case n < len(out):
		c.rest, c.out = out[n:], nil
	default:
		c.out = kept(out)
	}
	if len(c.rest)+len(c.control) > 0 {
		c.flusher.Signal()
	}
	c.room.Broadcast()
}

// push writes what waits, unless another does.
func (c *conn) push() {
	c.mu.Lock()
	if c.err != nil || c.werr != nil || c.busy || len(c.rest) > 0 {
		c.mu.Unlock() // the other one, or the flusher, writes it
		return
	}
	out := c.take()
	c.mu.Unlock()
	_ = c.commit(out) // the reader learns it too
}

// flush is the flusher: it writes what nobody waits for.
func (c *conn) flush() {
	defer c.group.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil {
		if c.busy || c.werr != nil || len(c.rest)+len(c.control) == 0 {
			c.flusher.Wait()
			continue
		}
		out := c.rest
		if c.busy, c.rest = true, nil; len(out) == 0 {
			out = c.take()
		}
		c.mu.Unlock()
		_, err := c.nc.Write(out)
		c.mu.Lock()
		c.wrote(out, len(out), err)
	}
}

// drain waits until all handlers have returned, and all is written or will never be.
func (c *conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.running > 0 {
		c.room.Wait()
	}
	for !c.drained() {
		c.room.Wait()
	}
}

// drained reports whether all is written, or will never be. It is called with c.mu held.
func (c *conn) drained() bool {
	return c.err != nil || c.werr != nil || !c.busy && len(c.rest)+len(c.control) == 0
}

// sayGoodbye tells the peer why the connection ends, if it reads.
func (c *conn) sayGoodbye(b *breach) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue(appendGoAway(c.control, c.lastID, b.code, b.text))
	over := false
	late := time.AfterFunc(farewell, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		over = true
		c.room.Broadcast()
	})
	defer late.Stop()
	for !over && !c.drained() {
		c.room.Wait()
	}
}

func appendGoAway(b []byte, last, code uint32, text string) []byte {
	b = head{size: 8 + len(text), kind: frameGoAway}.append(b)
	b = binary.BigEndian.AppendUint32(b, last)
	b = binary.BigEndian.AppendUint32(b, code)
	return append(b, text...)
}

// eof is what a sender gets to hear: the reader knows more.
func eof(err error) error {
	if err != nil {
		return io.EOF
	}
	return nil
}
