package rpc

import (
	"fmt"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Message encodes itself. Size is asked before Append.
type Message interface {
	// Size is the bytes that Append appends.
	Size() int
	// Append appends the encoded message to b.
	Append(b []byte) ([]byte, error)
}

// Stream is one call on a connection, at either end. Messages go out by Send and TrySend, of one goroutine at a time, and come in by
// Feed.
type Stream struct {
	c       *conn
	id      uint32
	limit   int    // bytes of a message that is received
	release func() // called once when the call is over

	deadline time.Time // of a client's call; zero: none

	// The reader's.
	prefix   [prefixSize]byte
	prefixed int // bytes of it that are there
	msg      []byte
	answered bool // the first header of a response came
	deaf     bool // what arrives is thrown away, since it is of no use after what came before

	// Guarded by c.mu.
	window   int64 // what may be sent
	left     int64 // what the peer may send
	taken    int   // what was received since left grew last
	held     int   // what was received and not counted in taken, since nobody takes messages
	waiting  bool  // so
	peerDone bool  // the peer sends no more
	selfDone bool  // this end sends no more
	over     error // why the call is over

	mu      sync.Mutex // held while a message is handed over, and for what follows
	receive func(msg []byte)
	onLull  func(idle bool) (work func()) // may be nil; not changed after Feed
	onEnd   func(error)
	queue   []byte // messages that wait, each after four bytes with its size
	ended   error  // no message comes any more; io.EOF: that is in order
	ready   chan struct{}
}

// newStream enters a stream. It is called with c.mu held.
func (c *conn) newStream(id uint32) *Stream {
	s := &Stream{c: c, id: id, window: c.first, left: streamWindow, ready: make(chan struct{}, 1), release: func() {}}
	c.streams[id] = s
	return s
}

// end says that no message comes any more, once. A panic of whom it is said to breaks the connection (H6).
func (s *Stream) end(err error) {
	defer func() {
		if v := recover(); v != nil {
			s.c.close(lost(fmt.Errorf("panic: %v", v)))
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended != nil {
		return
	}
	s.ended = err
	s.signal()
	if s.onEnd != nil {
		s.onEnd(err)
	}
}

// drop ends the call on this side.
func (s *Stream) drop(err error) {
	s.c.mu.Lock()
	s.leave(err)
}

// cancel ends the call and tells the peer.
func (s *Stream) cancel(code uint32, err error) {
	s.c.mu.Lock()
	if s.over == nil && s.c.err == nil {
		s.c.queue(appendWord(s.c.control, frameReset, s.id, code))
	}
	s.leave(err)
}

// leave ends the call, for the first reason that there is. It is called with c.mu held, and gives it up.
func (s *Stream) leave(err error) {
	first := s.over == nil
	if first {
		s.over = err
		delete(s.c.streams, s.id)
		s.c.room.Broadcast()
	}
	err = s.over
	useless := s.c.useless()
	s.c.leaving++
	s.c.mu.Unlock()
	s.end(err)
	if first {
		s.release()
	}
	if useless {
		s.c.close(errNoMore)
	}
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.leaving--
	s.c.room.Broadcast()
}

// peerEnded is the end of what the peer sends, without a header.
func (s *Stream) peerEnded() {
	if s.c.client {
		s.finish(status.Error(codes.Internal, "rpc: the response ended without a status"))
		return
	}
	s.c.mu.Lock()
	s.peerDone = true
	s.c.mu.Unlock()
	if s.prefixed > 0 {
		s.fail(status.Error(codes.Internal, "rpc: the request ended within a message"))
		return
	}
	s.end(io.EOF)
}

// readFields takes a header that is not the first of a request.
func (s *Stream) readFields(h head, f fields) error {
	switch last := h.has(flagEndStream); {
	case !s.c.client && !last:
		return broke(codeProtocol, "a second header on stream %d", h.stream)
	case !s.c.client && s.peerEndedBefore():
		return broke(codeProtocol, "a header on stream %d after its end", h.stream)
	case !s.c.client:
		s.peerEnded()
	case last:
		s.finish(f.outcome())
	case s.answered:
		s.cancel(codeProtocol, status.Error(codes.Internal, "rpc: a second header within the response"))
	case len(f[":status"]) == 3 && f[":status"][0] == '1': // more is to come
	default:
		s.answered = true
		if err := f.speaksGRPC(); err != nil {
			s.cancel(codeCancel, err)
		}
	}
	return nil
}

// peerEndedBefore reports whether the peer has said already that it sends no more.
func (s *Stream) peerEndedBefore() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	return s.peerDone
}

// finish is the end of a response. The peer is told if the request has not ended: else the stream would be open on its side.
func (s *Stream) finish(err error) {
	switch {
	case err == nil && s.prefixed > 0:
		err = status.Error(codes.Internal, "rpc: the response ended within a message")
	case err == nil:
		err = io.EOF
	}
	s.c.mu.Lock()
	done := s.selfDone
	s.c.mu.Unlock()
	if done {
		s.drop(err)
		return
	}
	s.cancel(codeNone, err)
}

// afterwards makes f run once the call is over, which it may be already.
func (s *Stream) afterwards(f func()) {
	s.c.mu.Lock()
	over := s.over != nil
	if !over {
		s.release = f
	}
	s.c.mu.Unlock()
	if over {
		f()
	}
}
