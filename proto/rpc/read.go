package rpc

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// read is the reader, and readOn who takes its place. What arrives is handed on before the next frame is looked at.
func (c *conn) read() { c.readEnd(c.readAll()) }

func (c *conn) readOn() { c.readEnd(c.readFrames(false)) }

// errNotMine ends the reader whose place another goroutine has taken.
var errNotMine = errors.New("another goroutine reads")

// readEnd ends the connection for the reader's error.
func (c *conn) readEnd(err error) {
	if err == errNotMine {
		return
	}
	defer c.group.Done()
	if b, ok := errors.AsType[*breach](err); ok {
		c.sayGoodbye(b)
	}
	if c.goodbye != nil && err == io.EOF {
		err = c.goodbye
	}
	c.close(lost(err))
	if c.fed != nil {
		_ = c.fed.onLull(false) // no work then
	}
	for _, s := range c.all() {
		s.drop(c.cause())
	}
}

// readAll reads until the connection breaks.
func (c *conn) readAll() error {
	if !c.client {
		_ = c.nc.SetReadDeadline(time.Now().Add(patience)) // a connection without deadlines has no strangers
		if err := c.readPreface(); err != nil {
			return err
		}
	}
	return c.readFrames(true)
}

// readFrames reads frames until the connection breaks, or another goroutine reads. A panic, of a receiver say, breaks it too (H6).
func (c *conn) readFrames(first bool) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	for ; ; first = false {
		if s := c.fed; s != nil && !c.lull(s) {
			return errNotMine
		}
		b, err := c.in.Peek(headSize)
		if err != nil {
			return err
		}
		h := parseHead(b)
		_, _ = c.in.Discard(headSize) // it is there
		switch {
		case first && (h.kind != frameSettings || h.has(flagAck)):
			return broke(codeProtocol, "it does not begin with its settings")
		case h.size > frameLimit:
			return broke(codeFrameSize, "a frame of %d bytes; %d was the limit", h.size, frameLimit)
		case c.block != nil && (h.kind != frameContinuation || h.stream != c.blockOf.stream):
			return broke(codeProtocol, "a header was not finished")
		}
		if err := c.readFrame(h); err != nil {
			return err
		}
		if first && !c.client {
			_ = c.nc.SetReadDeadline(time.Time{}) // as above
		}
	}
}

func (c *conn) readPreface() error {
	for n := 1; n <= len(preface); n++ { // what is no preface may be shorter
		b, err := c.in.Peek(n)
		if err != nil {
			return err
		}
		if string(b) != preface[:n] {
			return broke(codeProtocol, "it does not speak HTTP/2")
		}
	}
	_, _ = c.in.Discard(len(preface)) // it is there
	return nil
}

// readFrame reads a frame's payload and acts on it.
func (c *conn) readFrame(h head) error {
	switch {
	case h.kind == frameData:
		return c.readData(h)
	case h.kind > frameContinuation: // of an extension
		_, err := c.in.Discard(h.size)
		return err
	case h.size > maxBlock:
		return broke(codeCalm, "a frame of kind %d of %d bytes; %d was the limit", h.kind, h.size, maxBlock)
	case h.size > c.in.Size():
		b := make([]byte, h.size)
		if _, err := io.ReadFull(c.in, b); err != nil {
			return err
		}
		return c.act(h, b)
	}
	b, err := c.in.Peek(h.size)
	if err != nil {
		return err
	}
	if err := c.act(h, b); err != nil {
		return err
	}
	_, err = c.in.Discard(h.size)
	return err
}

// act acts on a frame that is not DATA. Its payload is not kept.
func (c *conn) act(h head, b []byte) error {
	switch h.kind {
	case frameHeaders:
		return c.readHeaders(h, b)
	case frameContinuation:
		return c.readContinuation(h, b)
	case frameSettings:
		return c.readSettings(h, b)
	case framePing:
		return c.readPing(h, b)
	case frameWindow:
		return c.readWindow(h, b)
	case frameReset:
		return c.readReset(h, b)
	case frameGoAway:
		return c.readGoAway(h, b)
	case framePush:
		return broke(codeProtocol, "a push, which was forbidden")
	}
	return nil // priorities
}

// readData takes a DATA frame's messages.
func (c *conn) readData(h head) error {
	size := h.size
	pad := 0
	if h.has(flagPadded) {
		if size == 0 {
			return broke(codeFrameSize, "a padded frame without the length of its padding")
		}
		b, err := c.in.ReadByte()
		if err != nil {
			return err
		}
		if size, pad = size-1, int(b); pad > size {
			return broke(codeProtocol, "padding is longer than its frame")
		}
		size -= pad
	}
	s, err := c.receives(h)
	if err != nil {
		return err
	}
	left := size
	if s != nil {
		if left, err = s.readMessages(size); err != nil {
			return err
		}
	}
	if _, err := c.in.Discard(left + pad); err != nil {
		return err
	}
	if err := c.took(s, h.size); err != nil {
		return err
	}
	if s != nil && h.has(flagEndStream) {
		s.peerEnded()
	}
	return nil
}

// receives takes a DATA frame from the windows. The stream is nil if it is over.
func (c *conn) receives(h head) (*Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle(h.stream) {
		return nil, broke(codeProtocol, "data for stream %d, which nobody opened", h.stream)
	}
	s := c.streams[h.stream]
	c.left -= int64(h.size)
	if s != nil {
		s.left -= int64(h.size)
	}
	if c.left < 0 || s != nil && s.left < 0 {
		return nil, broke(codeFlowControl, "more data on stream %d than its window allows", h.stream)
	}
	if s != nil && s.peerDone {
		return nil, broke(codeProtocol, "data on stream %d after its end", h.stream)
	}
	return s, nil
}

// idle reports whether no stream has had the id.
func (c *conn) idle(id uint32) bool { return id == 0 || id%2 == 0 || id > c.lastID }

// took gives the peer the room again that n bytes of s took. s may be nil.
func (c *conn) took(s *Stream, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken += n; c.taken >= connWindow/4 {
		c.left += int64(c.taken)
		taken := uint32(c.taken)
		c.taken = 0
		if err := c.enqueue(appendWord(c.control, frameWindow, 0, taken)); err != nil {
			return err
		}
	}
	if s == nil {
		return nil
	}
	return s.took(n)
}
