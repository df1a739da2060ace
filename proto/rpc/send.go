package rpc

import (
	"encoding/binary"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Send sends a message, and waits for room if there is none. It returns io.EOF when the call or the connection is over: Feed's end says
// why.
func (s *Stream) Send(m Message) error {
	size := prefixSize + m.Size()
	n, err := s.turn(size, true)
	if err != nil {
		return err
	}
	if n == size {
		return s.sendWhole(m, size)
	}
	b, err := encode(make([]byte, 0, size), m, size)
	if err != nil {
		return s.yield(n, err)
	}
	for {
		if err := s.sendPart(b[:n]); err != nil {
			return err
		}
		if b = b[n:]; len(b) == 0 {
			return nil
		}
		if n, err = s.turn(len(b), true); n == 0 {
			return err
		}
	}
}

// TrySend sends a message if that needs no wait at all, else it returns false and has sent nothing. Errors are those of Send.
func (s *Stream) TrySend(m Message) (sent bool, err error) {
	size := prefixSize + m.Size()
	if n, err := s.turn(size, false); n == 0 {
		return false, err
	}
	return true, s.sendWhole(m, size)
}

// turn makes the caller the one that writes, takes from the windows what there is room for of size bytes, and returns it. If wait is
// false it takes all at once or nothing, and returns 0 then. The error is io.EOF.
func (s *Stream) turn(size int, wait bool) (int, error) {
	c := s.c
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if s.mute() {
			return 0, io.EOF
		}
		n := s.room(size)
		if n > 0 && !c.busy && len(c.rest) == 0 && (wait || n == size) {
			s.pay(n)
			c.out = c.take()
			return n, nil
		}
		if !wait {
			return 0, nil
		}
		c.room.Wait()
	}
}

// mute reports whether nothing more can be sent. It is called with c.mu held.
func (s *Stream) mute() bool {
	return s.over != nil || s.selfDone || s.c.err != nil || s.c.werr != nil
}

// room is how much of size bytes can go in a frame now; it may be negative. It is called with c.mu held.
func (s *Stream) room(size int) int {
	return int(min(int64(size), int64(s.c.frame), s.window, s.c.window))
}

// pay takes n bytes from the windows. It is called with c.mu held.
func (s *Stream) pay(n int) {
	s.window -= int64(n)
	s.c.window -= int64(n)
}

// yield gives the turn, and n bytes of the windows, back: err was in the way.
func (s *Stream) yield(n int, err error) error {
	c := s.c
	c.mu.Lock()
	s.pay(-n)
	c.mu.Unlock()
	_ = c.commit(c.out) // control frames
	return err
}

// sendWhole sends a message in one frame. The caller has the turn.
func (s *Stream) sendWhole(m Message, size int) error {
	b, err := encode(head{size: size, kind: frameData, stream: s.id}.append(s.c.out), m, size)
	if err != nil {
		return s.yield(size, err)
	}
	return s.c.commit(b)
}

// sendPart sends a part of a message. The caller has the turn.
func (s *Stream) sendPart(b []byte) error {
	return s.c.commit(append(head{size: len(b), kind: frameData, stream: s.id}.append(s.c.out), b...))
}

// encode appends a message with its prefix, size bytes in all. A panic of the message's is an error.
func encode(b []byte, m Message, size int) (out []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = status.Errorf(codes.Internal, "rpc: panic in the encoding of a message: %v", v)
		}
	}()
	start := len(b)
	if out, err = m.Append(appendPrefix(b, size)); err == nil && len(out)-start != size {
		err = fmt.Errorf("rpc: a message of %d bytes became one of %d while it was encoded", size-prefixSize, len(out)-start-prefixSize)
	}
	return out, err
}

func appendPrefix(b []byte, size int) []byte {
	return binary.BigEndian.AppendUint32(append(b, 0), uint32(size-prefixSize))
}

// post queues a request's only message, and waits for nothing but the windows.
func (s *Stream) post(m Message) error {
	size := prefixSize + m.Size()
	b, err := encode(make([]byte, 0, size), m, size)
	if err != nil {
		return err
	}
	c := s.c
	c.mu.Lock()
	for len(b) > 0 && !s.mute() {
		n := s.room(len(b))
		if n <= 0 {
			c.flusher.Signal() // what is queued already is what the peer waits for
			c.room.Wait()
			continue
		}
		h := head{size: n, kind: frameData, stream: s.id}
		if n == len(b) {
			h.flags = flagEndStream
		}
		s.pay(n)
		c.control = append(h.append(c.control), b[:n]...)
		b = b[n:]
	}
	s.selfDone = true
	c.mu.Unlock()
	c.push()
	return nil
}

// closeSend says that this end sends no more.
func (s *Stream) closeSend() {
	s.c.mu.Lock()
	if !s.mute() {
		s.selfDone = true
		s.c.control = head{kind: frameData, flags: flagEndStream, stream: s.id}.append(s.c.control)
	}
	s.c.mu.Unlock()
	s.c.push()
}

// begin queues the header of a response.
func (s *Stream) begin(pairs ...string) {
	s.c.mu.Lock()
	if !s.mute() {
		s.c.control = s.appendHeader(s.c.control, false, pairs)
	}
	s.c.mu.Unlock()
	s.c.push()
}

// conclude sends the last header of a response, and waits for room if there is none.
func (s *Stream) conclude(pairs ...string) {
	c := s.c
	c.mu.Lock()
	for !s.mute() && (c.busy || len(c.rest) > 0) {
		c.room.Wait()
	}
	if s.mute() {
		c.mu.Unlock()
		return
	}
	s.selfDone = true
	out := s.appendHeader(c.take(), true, pairs)
	if !s.peerDone {
		out = appendWord(out, frameReset, s.id, codeNone) // it need not send the rest
	}
	c.mu.Unlock()
	_ = c.commit(out) // without a peer nobody misses it
}

// appendHeader appends a header. It is called with c.mu held.
func (s *Stream) appendHeader(b []byte, last bool, pairs []string) []byte {
	var block []byte
	if !s.c.sized {
		s.c.sized = true
		block = append(block, noTable) // the table is never used, however small the peer wants it
	}
	block = appendFields(block, pairs...)
	h := head{size: len(block), kind: frameHeaders, flags: flagEndHeaders, stream: s.id}
	if last {
		h.flags |= flagEndStream
	}
	return append(h.append(b), block...)
}
