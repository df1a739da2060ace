package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/proto/inherit"
	"github.com/toolhost/toolhost/proto/loopback"
	"github.com/toolhost/toolhost/proto/rpc"
	"github.com/toolhost/toolhost/proto/wire"
)

// link is the one connection to a plugin. When it is over the session is over:
// there is no second dial.
type link struct {
	over chan struct{} // closed when the connection was closed, by whichever side
	read atomic.Int64  // bytes

	mu     sync.Mutex
	conn   net.Conn      // nil until reach or take
	ends   *inherit.Ends // become conn; nil over loopback
	dialed bool
	closed bool
}

// newLink returns a link over conn, which it closes. If conn is nil, take makes one of ends, or reach.
func newLink(conn net.Conn, ends *inherit.Ends) *link {
	return &link{conn: conn, ends: ends, over: make(chan struct{})}
}

// take makes the connection of what the child has inherited: the address that it announced says how it uses it.
func (l *link) take(address string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed { // connect says so
		return nil
	}
	var err error
	if address == wire.OneWay {
		l.conn, err = l.ends.OneWay()
	} else {
		l.conn, err = l.ends.TwoWay()
	}
	if err != nil {
		return &failure{cause: CauseSystem, err: err}
	}
	return nil
}

// reach connects to the address that the plugin announced. The end of the link, such
// as that of the process, ends the attempt. The error is a *failure, or nil if ctx ended.
func (l *link) reach(ctx context.Context, d *loopback.Dialer, address string) error {
	dialing, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends when reach returns
		select {
		case <-l.over:
			cancel()
		case <-dialing.Done():
		}
	}()
	conn, err := d.Dial(dialing, address)
	switch {
	case ctx.Err() != nil:
		if err == nil {
			conn.Close()
		}
		return nil
	case err != nil:
		return &failure{cause: CauseConnect, err: err, own: true}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed { // connect says so
		conn.Close()
	}
	l.conn = conn
	return nil
}

// connect makes the gRPC connection and waits until the plugin has answered on
// it (L11). The error is a *failure, or nil if ctx ended.
func (l *link) connect(ctx context.Context, maxMessage int) (*rpc.Client, error) {
	conn, err := l.dial()
	if err != nil {
		return nil, &failure{cause: CauseConnect, err: err}
	}
	cc, err := rpc.Dial(ctx, conn, maxMessage)
	switch {
	case err == nil:
		return cc, nil
	case ctx.Err() != nil:
		return nil, nil
	}
	return nil, &failure{cause: CauseConnect, err: fmt.Errorf("it does not serve on its connection: %w", err), own: true}
}

// dial hands the connection out once.
func (l *link) dial() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dialed || l.closed {
		return nil, errors.New("the connection to the plugin is over")
	}
	l.dialed = true
	return &linkConn{Conn: l.conn, link: l}, nil
}

// finish is called when the process has ended: it returns when the connection was read to its end. Somebody may keep it:
// then it is read on for d, and on a busy machine longer, as long as something comes, but not for ever.
func (l *link) finish(d time.Duration) {
	for range 10 {
		before, late := l.read.Load(), time.NewTimer(d)
		select {
		case <-l.over:
			late.Stop()
			return
		case <-late.C:
		}
		if l.read.Load() == before {
			return
		}
	}
}

// close closes the connection. It may be called again.
func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	if l.conn != nil {
		l.conn.Close()
	}
	l.ends.Close()
	close(l.over)
}

// linkConn tells its link when gRPC is done with it.
type linkConn struct {
	net.Conn
	link *link
}

func (c *linkConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.link.read.Add(int64(n))
	return n, err
}

// TryWrite implements [rpc.TryWriter].
func (c *linkConn) TryWrite(b []byte) (int, error) { return rpc.TryWrite(c.Conn, b) }

func (c *linkConn) Close() error {
	c.link.close()
	return nil
}
