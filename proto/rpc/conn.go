package rpc

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	streamWindow = 1 << 20   // what a peer may send on a stream before it is taken
	connWindow   = 4 << 20   // the same on all of them
	frameLimit   = 256 << 10 // bytes of a frame's payload that are taken
	controlLimit = 16 << 10  // the same of a frame that is not DATA
	inBuffer     = 32 << 10  // bytes read ahead
	keptBuffer   = 256 << 10 // the largest buffer that is kept between messages
	maxQueued    = 64 << 10  // bytes of control frames that wait: a peer that asks for more does not read
	maxStreams   = 100       // that a client may have open
)

// A TryWriter is a connection that can write without waiting. TryWrite writes what there is room for, which may be
// nothing. It is not called at the same time as Write.
type TryWriter interface {
	TryWrite(b []byte) (int, error)
}

// TryWrite is what a wrapper of a connection has for its TryWrite: nc's, or nothing is written.
func TryWrite(nc net.Conn, b []byte) (int, error) {
	if t, ok := nc.(TryWriter); ok {
		return t.TryWrite(b)
	}
	return 0, nil
}

// conn is one end of a connection.
type conn struct {
	nc     net.Conn
	try    TryWriter // nc, or nil
	client bool
	limit  int                   // bytes of a message
	open   func(*Stream, fields) // what a server does with a request; called by the reader
	group  sync.WaitGroup        // reader and flusher
	wake   chan struct{}         // the flusher's
	done   chan struct{}         // closed with the connection

	// The reader's.
	in      *bufio.Reader
	header  *fieldReader
	block   []byte // of a header that is not complete
	blockOf head

	// The writer's: whoever holds wmu.
	wmu  sync.Mutex
	out  []byte // reused
	rest []byte // what found no room; it goes before anything else
	werr error

	mu       sync.Mutex
	room     sync.Cond // a window grew, or a stream or the connection ended
	err      error     // why it is over
	streams  map[uint32]*Stream
	nextID   uint32 // of a client
	lastID   uint32 // the last one that the peer, or this end, has opened
	goneAway bool   // no new streams
	greeted  chan struct{}
	settled  bool // greeted is closed
	window   int64
	first    int64  // a new stream's window
	frame    int    // the peer's largest frame
	control  []byte // frames that wait
	left     int64  // what the peer may send
	taken    int    // what was received since its window grew last
}

func newConn(nc net.Conn, client bool, limit int) *conn {
	c := &conn{
		nc: nc, client: client, limit: limit, wake: make(chan struct{}, 1), done: make(chan struct{}),
		in: bufio.NewReaderSize(nc, inBuffer), header: newFieldReader(),
		streams: map[uint32]*Stream{}, nextID: 1, greeted: make(chan struct{}),
		window: firstWindow, first: firstWindow, frame: firstFrame, left: connWindow,
	}
	c.try, _ = nc.(TryWriter)
	c.room.L = &c.mu
	hello := appendSettings(nil, setting{settingStreams, maxStreams}, setting{settingWindow, streamWindow},
		setting{settingFrameSize, frameLimit}, setting{settingHeaderList, maxFields})
	if client {
		hello = appendSettings([]byte(preface), setting{settingPush, 0}, setting{settingWindow, streamWindow},
			setting{settingFrameSize, frameLimit}, setting{settingHeaderList, maxFields})
	}
	c.control = appendWord(hello, frameWindow, 0, connWindow-firstWindow)
	c.wake <- struct{}{}
	return c
}

// start begins to read and write.
func (c *conn) start() {
	c.group.Add(2)
	go c.read()  // ends when the connection does; joined by wait
	go c.flush() // ends with the connection; joined by wait
}

// wait returns when both have ended.
func (c *conn) wait() { c.group.Wait() }

// close ends the connection, for the reason err, once.
func (c *conn) close(err error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
		close(c.done)
		c.room.Broadcast()
	}
	c.mu.Unlock()
	if first {
		_ = c.nc.Close() // it is over either way
	}
}

func (c *conn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// read is the reader. What arrives is handed on before the next frame is looked at.
func (c *conn) read() {
	defer c.group.Done()
	err := c.readAll()
	if b, ok := errors.AsType[*breach](err); ok {
		c.sayGoodbye(b)
	}
	c.close(lost(err))
	for _, s := range c.all() {
		s.drop(c.cause())
	}
}

// lost is the status of calls whose connection is over.
func lost(err error) error {
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Unavailable, "the connection ended")
	}
	return status.Errorf(codes.Unavailable, "the connection broke: %v", err)
}

// sayGoodbye tells the peer why, if there is room to.
func (c *conn) sayGoodbye(b *breach) {
	if c.try == nil || !c.wmu.TryLock() {
		return
	}
	defer c.wmu.Unlock()
	if len(c.rest) > 0 {
		return
	}
	frame := head{size: 8 + len(b.text), kind: frameGoAway}.append(nil)
	c.mu.Lock()
	frame = binary.BigEndian.AppendUint32(frame, c.lastID)
	c.mu.Unlock()
	frame = binary.BigEndian.AppendUint32(frame, b.code)
	_, _ = c.try.TryWrite(append(frame, b.text...)) // the connection is over anyway
}

// readAll reads until the connection breaks. A panic, of a receiver say, breaks it too (H6).
func (c *conn) readAll() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
		}
	}()
	if !c.client {
		if err := c.readPreface(); err != nil {
			return err
		}
	}
	for first := true; ; first = false {
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
	}
}

func (c *conn) readPreface() error {
	b, err := c.in.Peek(len(preface))
	if err != nil {
		return err
	}
	if string(b) != preface {
		return broke(codeProtocol, "it does not speak HTTP/2")
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
	case h.size > controlLimit:
		return broke(codeCalm, "a frame of kind %d of %d bytes; %d was the limit", h.kind, h.size, controlLimit)
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
	c.took(s, h.size)
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
func (c *conn) took(s *Stream, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken += n; c.taken >= connWindow/4 {
		c.left += int64(c.taken)
		c.queue(appendWord(c.control, frameWindow, 0, uint32(c.taken)))
		c.taken = 0
	}
	if s != nil {
		s.took(n)
	}
}

// queue makes control what waits, which is more than before. It is called with c.mu held.
func (c *conn) queue(control []byte) {
	c.control = control
	select {
	case c.wake <- struct{}{}:
	default: // the flusher has not taken the last one
	}
}

// flush is the flusher: it writes what nobody waits for.
func (c *conn) flush() {
	defer c.group.Done()
	for {
		select {
		case <-c.wake:
			c.wmu.Lock()
			_ = c.write(c.takeControl(c.out[:0])) // the reader learns it too
			c.wmu.Unlock()
		case <-c.done:
			return
		}
	}
}

// takeControl appends the control frames that wait to b.
func (c *conn) takeControl(b []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	b = append(b, c.control...)
	c.control = c.control[:0]
	return b
}

// write writes b, which may be what c.out has room for, after what is left of earlier writes. It is called with c.wmu held. When a
// write has failed, all others do; the connection goes on until the reader has read what the peer sent before it broke.
func (c *conn) write(b []byte) error {
	if c.werr == nil && len(c.rest) > 0 {
		_, c.werr = c.nc.Write(c.rest)
		c.rest = c.rest[:0]
	}
	if c.werr == nil && len(b) > 0 {
		_, c.werr = c.nc.Write(b)
	}
	if c.out = b; cap(b) > keptBuffer {
		c.out = nil
	}
	return c.werr
}

// all are the streams.
func (c *conn) all() []*Stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Stream, 0, len(c.streams))
	for _, s := range c.streams {
		all = append(all, s)
	}
	return all
}
