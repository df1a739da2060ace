package rpc

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// readHeaders takes a header, or its first part.
func (c *conn) readHeaders(h head, b []byte) error {
	b, err := h.unpad(b)
	if err != nil {
		return err
	}
	if h.has(flagPriority) {
		if len(b) < 5 {
			return broke(codeFrameSize, "a header without the priority that it announces")
		}
		b = b[5:]
	}
	if !h.has(flagEndHeaders) {
		c.block, c.blockOf = append(make([]byte, 0, len(b)+1), b...), h
		return nil
	}
	return c.readFields(h, b)
}

func (c *conn) readContinuation(h head, b []byte) error {
	if c.block == nil {
		return broke(codeProtocol, "the rest of a header that has none")
	}
	if len(c.block)+len(b) > maxBlock || len(b) == 0 && !h.has(flagEndHeaders) {
		return broke(codeCalm, "a header of more than %d bytes, or of empty parts", maxBlock)
	}
	c.block = append(c.block, b...)
	if !h.has(flagEndHeaders) {
		return nil
	}
	whole, of := c.block, c.blockOf
	c.block = nil
	return c.readFields(of, whole)
}

// readFields acts on a whole header. Every one is decoded, whatever becomes of it: the peer's encoder counts on that.
func (c *conn) readFields(h head, block []byte) error {
	f, err := c.header.read(block)
	if err != nil {
		return err
	}
	c.mu.Lock()
	fresh := c.idle(h.stream)
	s := c.streams[h.stream]
	c.mu.Unlock()
	switch {
	case fresh && (c.client || h.stream%2 == 0):
		return broke(codeProtocol, "a header for stream %d, which nobody opened", h.stream)
	case fresh:
		return c.accept(h, f)
	case s == nil: // it is over
		return nil
	}
	return s.readFields(h, f)
}

// accept begins a request.
func (c *conn) accept(h head, f fields) error {
	c.mu.Lock()
	c.lastID = h.stream
	if len(c.streams) >= maxStreams || c.running >= maxRunning || c.goneAway {
		defer c.mu.Unlock()
		return c.enqueue(appendWord(c.control, frameReset, h.stream, codeRefused))
	}
	s := c.newStream(h.stream)
	c.running++
	c.mu.Unlock()
	if h.has(flagEndStream) {
		s.peerEnded() // before the handler may be done, which would have to end it
	}
	c.open(s, f)
	return nil
}

func (c *conn) readSettings(h head, b []byte) error {
	switch {
	case h.stream != 0:
		return broke(codeProtocol, "settings of stream %d", h.stream)
	case len(b)%6 != 0 || h.has(flagAck) && len(b) > 0:
		return broke(codeFrameSize, "malformed settings")
	case h.has(flagAck):
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; len(b) > 0; b = b[6:] {
		if err := c.set(binary.BigEndian.Uint16(b), binary.BigEndian.Uint32(b[2:])); err != nil {
			return err
		}
	}
	c.room.Broadcast()
	if !c.settled {
		c.settled = true
		close(c.greeted)
	}
	return c.enqueue(head{kind: frameSettings, flags: flagAck}.append(c.control))
}

func (c *conn) set(id uint16, value uint32) error {
	switch id {
	case settingWindow:
		if value > maxWindow {
			return broke(codeFlowControl, "a window of %d bytes", value)
		}
		grown := int64(value) - c.first
		c.first = int64(value)
		for _, s := range c.streams {
			if s.window += grown; s.window > maxWindow {
				return broke(codeFlowControl, "a stream's window grew over its limit")
			}
		}
	case settingFrameSize:
		if value < firstFrame || value >= 1<<24 {
			return broke(codeProtocol, "a frame size of %d bytes", value)
		}
		c.frame = min(int(value), frameLimit)
	case settingStreams:
		c.most = value
	}
	return nil // the others are about what is never sent here
}

func (c *conn) readPing(h head, b []byte) error {
	switch {
	case h.stream != 0:
		return broke(codeProtocol, "a ping of stream %d", h.stream)
	case len(b) != 8:
		return broke(codeFrameSize, "a malformed ping")
	case h.has(flagAck):
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.enqueue(append(head{size: 8, kind: framePing, flags: flagAck}.append(c.control), b...))
}

func (c *conn) readWindow(h head, b []byte) error {
	if len(b) != 4 {
		return broke(codeFrameSize, "a malformed window")
	}
	grown := int64(binary.BigEndian.Uint32(b) & maxWindow)
	if grown == 0 {
		return broke(codeProtocol, "a window that grows by nothing")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	window := &c.window
	if h.stream != 0 {
		if c.idle(h.stream) {
			return broke(codeProtocol, "a window for stream %d, which nobody opened", h.stream)
		}
		s := c.streams[h.stream]
		if s == nil { // it is over
			return nil
		}
		window = &s.window
	}
	if *window += grown; *window > maxWindow {
		return broke(codeFlowControl, "a window grew over its limit")
	}
	c.room.Broadcast()
	return nil
}

func (c *conn) readReset(h head, b []byte) error {
	if len(b) != 4 {
		return broke(codeFrameSize, "a malformed reset")
	}
	c.mu.Lock()
	fresh := c.idle(h.stream)
	s := c.streams[h.stream]
	c.mu.Unlock()
	if fresh {
		return broke(codeProtocol, "a reset of stream %d, which nobody opened", h.stream)
	}
	if s != nil {
		s.drop(s.resetStatus(binary.BigEndian.Uint32(b)))
	}
	return nil
}

// resetStatus is what a peer's reset stands for.
func (s *Stream) resetStatus(code uint32) error {
	switch code {
	case codeCancel:
		if !s.deadline.IsZero() && !time.Now().Before(s.deadline) { // it has seen that first
			return status.FromContextError(context.DeadlineExceeded).Err()
		}
		return status.Error(codes.Canceled, "the peer cancelled the call")
	case codeRefused:
		return status.Error(codes.Unavailable, "the peer refused the call")
	case codeCalm:
		return status.Error(codes.ResourceExhausted, "the peer ended the call: it asks for calm")
	}
	return status.Errorf(codes.Internal, "the peer ended the call with HTTP/2 error %d", code)
}

// readGoAway ends the calls that the peer will not answer, and the connection's taking of new ones.
func (c *conn) readGoAway(h head, b []byte) error {
	if h.stream != 0 || len(b) < 8 {
		return broke(codeFrameSize, "a malformed goodbye")
	}
	last, code := binary.BigEndian.Uint32(b)&maxWindow, binary.BigEndian.Uint32(b[4:])
	if code != codeNone {
		c.goodbye = fmt.Errorf("the peer ended it with HTTP/2 error %d: %q", code, clip(string(b[8:])))
	}
	if !c.client { // nothing is begun here that it could refuse
		return nil
	}
	c.mu.Lock()
	c.goneAway = true
	c.room.Broadcast()
	c.mu.Unlock()
	for _, s := range c.all() {
		if s.id > last {
			s.drop(status.Errorf(codes.Unavailable, "the peer takes no more calls (HTTP/2 error %d)", code))
		}
	}
	c.mu.Lock()
	useless := c.useless()
	c.mu.Unlock()
	if useless {
		c.close(errNoMore)
	}
	return nil
}

// useless reports whether a client has no calls, and can make none. Then it ends the connection: grpc-go's servers wait a second for
// that when they stop. It is called with c.mu held.
func (c *conn) useless() bool { return c.client && c.goneAway && len(c.streams) == 0 }

var errNoMore = status.Error(codes.Unavailable, "the connection takes no more calls")
