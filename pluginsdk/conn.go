package pluginsdk

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"

	"github.com/toolhost/toolhost/proto/inherit"
	"github.com/toolhost/toolhost/proto/loopback"
	"github.com/toolhost/toolhost/proto/rpc"
	"github.com/toolhost/toolhost/proto/wire"
)

// hostListener yields the one connection to the host that started this process, and then waits for its Close.
type hostListener struct {
	net.Listener
	network, address string        // for the handshake
	done             chan struct{} // closed with the connection
}

// listenHost takes the way to the host that the environment names.
func listenHost(lifeline io.Reader) (*hostListener, error) {
	value, ok := os.LookupEnv(wire.EnvConn)
	switch {
	case !ok:
		return nil, errNoConn
	case value == wire.ConnLoopback:
		return loopbackListener(lifeline)
	default:
		return inheritedListener(value)
	}
}

// inheritedListener takes the host's descriptors: one for each way, or one for both from a host that offers no more.
// Children of the plugin do not inherit them.
func inheritedListener(value string) (*hostListener, error) {
	in, err := descriptor(wire.EnvConn, value)
	if err != nil {
		return nil, err
	}
	address := "inherited" // it only has to look like one
	var conn net.Conn
	if value, ok := os.LookupEnv(wire.EnvConnOut); ok {
		out, err := descriptor(wire.EnvConnOut, value)
		if err != nil {
			return nil, err
		}
		address = wire.OneWay
		if conn, err = inherit.Open(in, out); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", wire.EnvConn, wire.EnvConnOut, err)
		}
	} else if conn, err = inheritedConn(in); err != nil {
		return nil, fmt.Errorf("%s: descriptor %d: %w", wire.EnvConn, in, err)
	}
	l := &oneConn{addr: conn.LocalAddr(), next: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.next <- conn
	return newHostListener(l, "unix", address), nil
}

// descriptor reads the number of one.
func descriptor(variable, value string) (int, error) {
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 3 {
		return 0, fmt.Errorf("%s: %q is no descriptor", variable, cut(value, maxPanicHead))
	}
	return fd, nil
}

// inheritedConn is the connection over one descriptor.
func inheritedConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "host")
	if f == nil {
		return nil, os.ErrClosed
	}
	defer f.Close()        // FileConn's copy is closed on exec
	return net.FileConn(f) // not on Windows, where hosts ask for loopback
}

// loopbackListener listens for the host, which alone has what the lifeline's first line speaks of.
func loopbackListener(lifeline io.Reader) (*hostListener, error) {
	l, err := loopback.Listen(lifeline)
	if err != nil {
		return nil, err
	}
	return newHostListener(l, "tcp", l.Address()), nil
}

func newHostListener(l net.Listener, network, address string) *hostListener {
	return &hostListener{Listener: l, network: network, address: address, done: make(chan struct{})}
}

// Accept makes the connection one that says when it is over.
func (l *hostListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &hostConn{Conn: conn, done: l.done}, nil
}

// hostConn is the connection to the host.
type hostConn struct {
	net.Conn
	once sync.Once
	done chan struct{}
}

// TryWrite implements [rpc.TryWriter].
func (c *hostConn) TryWrite(b []byte) (int, error) { return rpc.TryWrite(c.Conn, b) }

// Close closes the connection and says so.
func (c *hostConn) Close() error {
	defer c.once.Do(func() { close(c.done) })
	return c.Conn.Close()
}

// oneConn is a listener with a connection that is there already.
type oneConn struct {
	addr   net.Addr
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

func (l *oneConn) Addr() net.Addr { return l.addr }
