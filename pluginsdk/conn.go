package pluginsdk

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/toolhost/toolhost/proto/wire"
)

// hostConn is the connection that the host handed over.
type hostConn struct {
	net.Conn
	once sync.Once
	done chan struct{} // closed with the connection
}

// inheritedConn takes the descriptor that the environment names. Children of the
// plugin do not inherit it.
func inheritedConn() (*hostConn, error) {
	value, ok := os.LookupEnv(wire.EnvConn)
	if !ok {
		return nil, errNoConn
	}
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 3 {
		return nil, fmt.Errorf("%s: %q is no descriptor", wire.EnvConn, cut(value, maxPanicHead))
	}
	f := os.NewFile(uintptr(fd), "host")
	if f == nil {
		return nil, fmt.Errorf("%s: descriptor %d is not open", wire.EnvConn, fd)
	}
	defer f.Close()              // FileConn's copy is closed on exec
	conn, err := net.FileConn(f) // not on Windows, whose hosts do not hand over one
	if err != nil {
		return nil, fmt.Errorf("%s: descriptor %d: %w", wire.EnvConn, fd, err)
	}
	return &hostConn{Conn: conn, done: make(chan struct{})}, nil
}

// Close closes the connection and says so.
func (c *hostConn) Close() error {
	defer c.once.Do(func() { close(c.done) })
	return c.Conn.Close()
}

// listener returns a listener that yields c once and then waits for its own Close.
func (c *hostConn) listener() net.Listener {
	l := &oneConn{conn: c, next: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.next <- c
	return l
}

type oneConn struct {
	conn   *hostConn
	next   chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.next:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *oneConn) Addr() net.Addr { return l.conn.LocalAddr() }
