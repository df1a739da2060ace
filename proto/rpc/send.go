package rpc

import (
	"encoding/binary"
	"io"
)

// Send sends a message, and waits for room if there is none. It returns io.EOF when the call or the connection is over: Feed's end says
// why.
func (s *Stream) Send(m Message) error { return s.send(m, false) }

// send is Send; last says that nothing follows.
func (s *Stream) send(m Message, last bool) error {
	c := s.c
	size := prefixSize + m.Size()
	c.wmu.Lock()
	defer c.wmu.Unlock()
	switch whole, err := s.fits(size); {
	case err != nil:
		return err
	case whole:
		b, err := s.frame(m, size, last)
		if err != nil {
			return err
		}
		return eof(c.write(b))
	}
	b, err := m.Append(appendPrefix(make([]byte, 0, size), size))
	if err != nil {
		return err
	}
	return s.sendParts(b, last)
}

// TrySend sends a message if that needs no wait at all, else it returns false and has sent nothing. Errors are those of Send.
func (s *Stream) TrySend(m Message) (sent bool, err error) {
	c := s.c
	if c.try == nil || !c.wmu.TryLock() {
		return false, nil
	}
	defer c.wmu.Unlock()
	size := prefixSize + m.Size()
	if whole, err := s.fits(size); err != nil || !whole || len(c.rest) > 0 {
		return false, err
	}
	if c.werr != nil {
		return false, io.EOF
	}
	b, err := s.frame(m, size, false)
	if err != nil {
		return false, err
	}
	var n int
	if n, c.werr = c.try.TryWrite(b); n < len(b) && c.werr == nil {
		c.rest = append(c.rest, b[n:]...)
		c.mu.Lock()
		c.queue(c.control) // the flusher writes it
		c.mu.Unlock()
	}
	c.out = b
	return true, eof(c.werr)
}

// eof is what a sender gets to hear: the reader knows more.
func eof(err error) error {
	if err != nil {
		return io.EOF
	}
	return nil
}

// fits reports whether a message and its prefix can go as one frame at once.
func (s *Stream) fits(size int) (bool, error) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.over != nil || s.c.err != nil {
		return false, io.EOF
	}
	return size <= s.c.frame && int64(size) <= min(s.window, s.c.window), nil
}

// frame encodes a message that fits, with the control frames that wait, and takes it from the windows.
func (s *Stream) frame(m Message, size int, last bool) ([]byte, error) {
	h := head{size: size, kind: frameData, stream: s.id}
	if last {
		h.flags = flagEndStream
	}
	b, err := m.Append(appendPrefix(h.append(s.c.out[:0]), size))
	if err != nil {
		return nil, err
	}
	s.pay(size, last)
	return s.c.takeControl(b), nil
}

// pay takes n bytes from the windows.
func (s *Stream) pay(n int, last bool) {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.window -= int64(n)
	s.c.window -= int64(n)
	s.selfDone = s.selfDone || last
}

func appendPrefix(b []byte, size int) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0), uint32(size-prefixSize))
}

// sendParts sends b, a message with its prefix, in frames as the windows allow. It is called with c.wmu held, and gives it up while it waits.
func (s *Stream) sendParts(b []byte, last bool) error {
	c := s.c
	for len(b) > 0 || last {
		n, err := s.awaitRoom(len(b))
		if err != nil {
			return err
		}
		h := head{size: n, kind: frameData, stream: s.id}
		if last && n == len(b) {
			h.flags, last = flagEndStream, false
		}
		s.pay(n, h.flags != 0)
		out := append(h.append(c.takeControl(c.out[:0])), b[:n]...)
		if err := c.write(out); err != nil {
			return eof(err)
		}
		b = b[n:]
	}
	return nil
}

// awaitRoom waits for room for some of n bytes.
func (s *Stream) awaitRoom(n int) (int, error) {
	c := s.c
	for {
		c.mu.Lock()
		room := min(int64(n), int64(c.frame), s.window, c.window)
		over := s.over != nil || c.err != nil
		if over || room > 0 || n == 0 {
			c.mu.Unlock()
			if over {
				return 0, io.EOF
			}
			return int(max(0, room)), nil
		}
		c.mu.Unlock()
		c.wmu.Unlock() // others have room, maybe
		c.mu.Lock()
		for min(s.window, c.window) <= 0 && s.over == nil && c.err == nil {
			c.room.Wait()
		}
		c.mu.Unlock()
		c.wmu.Lock()
	}
}

// closeSend says that this end sends no more.
func (s *Stream) closeSend() error {
	s.c.wmu.Lock()
	defer s.c.wmu.Unlock()
	s.c.mu.Lock()
	done := s.selfDone
	s.c.mu.Unlock()
	if done {
		return nil
	}
	return s.sendParts(nil, true)
}

// sendHeader sends a header.
func (s *Stream) sendHeader(last bool, pairs ...string) error {
	s.c.wmu.Lock()
	defer s.c.wmu.Unlock()
	return s.writeHeader(last, pairs...)
}

// writeHeader is sendHeader with c.wmu held.
func (s *Stream) writeHeader(last bool, pairs ...string) error {
	s.c.mu.Lock()
	over := s.over != nil || s.c.err != nil
	s.selfDone = s.selfDone || last
	s.c.mu.Unlock()
	if over {
		return io.EOF
	}
	block := appendFields(nil, pairs...)
	h := head{size: len(block), kind: frameHeaders, flags: flagEndHeaders, stream: s.id}
	if last {
		h.flags |= flagEndStream
	}
	return eof(s.c.write(append(h.append(s.c.takeControl(nil)), block...)))
}
