package rpc

import (
	"encoding/binary"
	"io"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Feed makes receive and end what takes the messages, in order and one at a time, those that have come already before it returns. The
// message is gone when receive returns. end is called once, last: io.EOF says that the peer has sent all, else it is a gRPC
// status. receive must not wait for long: nothing else is read meanwhile.
func (s *Stream) Feed(receive func(msg []byte), end func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.receive, s.onEnd = receive, end
	for len(s.queue) > 0 {
		receive(s.dequeue())
	}
	if s.onLull != nil {
		_ = s.onLull(false) // no work then
	}
	s.noneWait()
	if s.ended != nil {
		end(s.ended)
	}
}

// Lull makes lull be told when what has arrived was received, before more is waited for. If idle is true, nothing else is there, and lull
// may return work, which may take its time: another goroutine reads when it takes a millisecond or two, and receive and lull are called
// beside it then, which may be before it has done anything. Else it returns nil. Lull is called before Feed.
func (s *Stream) Lull(lull func(idle bool) (work func())) { s.onLull = lull }

// next is the next message. Its error is that of Feed's end.
func (s *Stream) next() ([]byte, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			msg := s.dequeue()
			if len(s.queue) == 0 {
				s.noneWait()
			}
			s.mu.Unlock()
			return msg, nil
		}
		ended := s.ended
		s.mu.Unlock()
		if ended != nil {
			return nil, ended
		}
		<-s.ready
	}
}

// dequeue takes the first message that waits. It is called with s.mu held.
func (s *Stream) dequeue() []byte {
	end := 4 + int(binary.BigEndian.Uint32(s.queue))
	msg := s.queue[4:end:end]
	if s.queue = s.queue[end:]; len(s.queue) == 0 {
		s.queue = nil
	}
	return msg
}

// noneWait gives the peer the room of the messages that have waited. It is called with s.mu held.
func (s *Stream) noneWait() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.waiting = false
	held := s.held
	s.held = 0
	s.c.queue(s.credit(held))
}

// deliver hands a message over. The memory is the caller's again.
func (s *Stream) deliver(msg []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended != nil:
		return
	case s.receive != nil:
		s.receive(msg)
		if s.onLull != nil {
			s.c.fed = s
		}
		return
	}
	s.queue = append(binary.BigEndian.AppendUint32(slices.Grow(s.queue, 4+len(msg)), uint32(len(msg))), msg...)
	s.c.mu.Lock()
	s.waiting = true
	s.c.mu.Unlock()
	s.signal()
}

func (s *Stream) signal() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// took gives the peer room for n bytes more when enough has gathered, and nobody has to take messages first. It is called with c.mu held.
func (s *Stream) took(n int) error {
	if s.waiting {
		s.held += n
		return nil
	}
	return s.c.enqueue(s.credit(n))
}

// credit is the control frames that wait, and one that gives the peer room for n bytes more when enough has gathered. It is called with
// c.mu held.
func (s *Stream) credit(n int) []byte {
	control := s.c.control
	if s.over != nil || s.peerDone || s.deaf {
		return control
	}
	if s.taken += n; s.taken >= streamWindow/4 {
		s.left += int64(s.taken)
		control = appendWord(control, frameWindow, s.id, uint32(s.taken))
		s.taken = 0
	}
	return control
}

// readMessages takes up to n bytes of messages from the connection, and returns how many it has left. The error is the connection's.
func (s *Stream) readMessages(n int) (left int, err error) {
	switch {
	case s.deaf:
		return n, nil
	case s.c.client && !s.answered:
		s.fail(status.Error(codes.Internal, "rpc: a message before the header of the response"))
		return n, nil
	}
	for n > 0 {
		if s.prefixed < prefixSize {
			m, err := io.ReadFull(s.c.in, s.prefix[s.prefixed:min(prefixSize, s.prefixed+n)])
			if err != nil {
				return n, err
			}
			n -= m
			if s.prefixed += m; s.prefixed < prefixSize {
				break
			}
			if err := s.checkPrefix(); err != nil {
				s.fail(err)
				return n, nil
			}
		}
		if n, err = s.readBody(n); err != nil {
			return n, err
		}
	}
	return 0, nil
}

// fail ends what comes in, for err. A server's handler then says so to the peer.
func (s *Stream) fail(err error) {
	if s.c.client {
		s.cancel(codeCancel, err)
		return
	}
	s.c.mu.Lock()
	s.deaf = true
	s.c.mu.Unlock()
	s.msg = nil
	s.end(err)
}

// size is the size of the message that arrives, by its prefix.
func (s *Stream) size() int { return int(binary.BigEndian.Uint32(s.prefix[1:])) }

func (s *Stream) checkPrefix() error {
	switch {
	case s.prefix[0] != 0:
		return status.Error(codes.Internal, "rpc: a compressed message, which was not offered")
	case s.size() > s.limit:
		return status.Errorf(codes.ResourceExhausted, "rpc: a message of %d bytes received; %d is the limit", s.size(), s.limit)
	}
	return nil
}

// readBody takes up to n bytes of a message whose prefix is there. A message that is in the connection's buffer stays there while it
// is received; memory for a large one grows with what arrives (H3).
func (s *Stream) readBody(n int) (left int, err error) {
	size, c := s.size(), s.c
	if len(s.msg) == 0 && size <= n && size <= c.in.Size() {
		b, err := c.in.Peek(size)
		if err != nil {
			return n, err
		}
		s.prefixed = 0
		s.deliver(b)
		_, err = c.in.Discard(size)
		return n - size, err
	}
	part := min(n, size-len(s.msg))
	if s.msg == nil {
		s.msg = make([]byte, 0, min(size, frameLimit))
	}
	at := len(s.msg)
	s.msg = slices.Grow(s.msg, part)[:at+part]
	if _, err := io.ReadFull(c.in, s.msg[at:]); err != nil {
		return n, err
	}
	if len(s.msg) == size {
		s.prefixed = 0
		s.deliver(s.msg)
		if s.msg = s.msg[:0]; cap(s.msg) > keptBuffer {
			s.msg = nil
		}
	}
	return n - part, nil
}
