package rpc

import (
	"bufio"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	streamWindow = 1 << 20                // what a peer may send on a stream before it is taken
	connWindow   = 4 << 20                // the same on all of them
	frameLimit   = 256 << 10              // bytes of a frame's payload that are taken
	inBuffer     = 32 << 10               // bytes read ahead
	patience     = 2 * time.Minute        // for a client's first words
	farewell     = 100 * time.Millisecond // for a peer to hear why the connection ends
	lastWords    = 3 * time.Second        // to be read from a peer that cannot be written to
	keptBuffer   = 256 << 10              // the largest buffer that is kept between messages
	maxQueued    = 64 << 10               // bytes of control frames that wait: a peer that asks for more does not read
	maxStreams   = 100                    // that a client may have open
	maxRunning   = 200                    // handlers that run, those of calls that are over included
)

// A TryWriter is a connection that can write without waiting. TryWrite writes what there is room for, which may be
// nothing. It is not called at the same time as Write.
type TryWriter interface {
	TryWrite(b []byte) (int, error)
}

// conn is one end of a connection.
type conn struct {
	nc     net.Conn
	client bool
	limit  int                   // bytes of a message
	open   func(*Stream, fields) // what a server does with a request; called by the reader
	group  sync.WaitGroup        // reader and flusher
	done   chan struct{}         // closed with the connection

	// The reader's.
	in      *bufio.Reader
	header  *fieldReader
	block   []byte // of a header that is not complete
	blockOf head
	fed     *Stream // has had messages, and not been told that there are no more for now
	duty    duty
	goodbye error // the peer's word why it ends the connection

	mu       sync.Mutex
	room     sync.Cond // a window grew, nobody writes, or a stream or the connection ended
	flusher  sync.Cond // something waits to be written
	err      error     // why it is over
	busy     bool      // someone writes
	out      []byte    // of whoever writes; reused
	rest     []byte    // what found no room; it goes before anything else
	werr     error     // of a write
	streams  map[uint32]*Stream
	leaving  int    // streams whose receivers are told of the end
	running  int    // handlers, which may outlive their streams
	most     uint32 // streams that the peer takes
	nextID   uint32 // of a client
	lastID   uint32 // the last one that the peer, or this end, has opened
	goneAway bool   // no new streams
	greeted  chan struct{}
	settled  bool // greeted is closed
	window   int64
	first    int64  // a new stream's window
	frame    int    // the peer's largest frame
	sized    bool   // the peer knows that its table is not used
	control  []byte // frames that wait; they go before what is sent
	owed     int    // bytes of them that the peer asked for
	left     int64  // what the peer may send
	taken    int    // what was received since its window grew last
}

func newConn(nc net.Conn, client bool, limit int) *conn {
	c := &conn{
		nc: nc, client: client, limit: limit, done: make(chan struct{}),
		in: bufio.NewReaderSize(nc, inBuffer), header: newFieldReader(),
		streams: map[uint32]*Stream{}, nextID: 1, greeted: make(chan struct{}),
		window: firstWindow, first: firstWindow, frame: firstFrame, left: connWindow, most: math.MaxUint32,
	}
	c.duty.watch = time.AfterFunc(time.Hour, c.look)
	c.duty.watch.Stop() // until lend sets it
	c.room.L, c.flusher.L = &c.mu, &c.mu
	hello := appendSettings(nil, setting{settingStreams, maxStreams}, setting{settingWindow, streamWindow},
		setting{settingFrameSize, frameLimit}, setting{settingHeaderList, maxFields})
	if client {
		hello = appendSettings([]byte(preface), setting{settingPush, 0}, setting{settingWindow, streamWindow},
			setting{settingFrameSize, frameLimit}, setting{settingHeaderList, maxFields})
	}
	c.control = appendWord(hello, frameWindow, 0, connWindow-firstWindow)
	return c
}

// start begins to read and write.
func (c *conn) start() {
	c.group.Add(2)
	go c.read()  // ends when the connection does, or hands its place in group to who reads on; joined by wait
	go c.flush() // ends with the connection; joined by wait
}

// wait returns when both have ended and every receiver has had its end.
func (c *conn) wait() {
	c.group.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.leaving > 0 {
		c.room.Wait()
	}
}

// close ends the connection, for the reason err, once.
func (c *conn) close(err error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = err
		close(c.done)
		c.room.Broadcast()
		c.flusher.Signal()
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

// lost is the status of calls whose connection is over.
func lost(err error) error {
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Unavailable, "the connection ended")
	}
	return status.Errorf(codes.Unavailable, "the connection broke: %v", err)
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
