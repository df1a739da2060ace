//go:build unix

package inherit

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Ends are the host's ends of what a child inherits. What becomes of them is decided when the child has said what it can.
type Ends struct {
	toChild, fromChild int // descriptors; -1: taken or closed
}

// Offer makes the host's ends and the files that the child gets, in their order: the first is for reading, and for writing too if
// the child knows no better, the second for writing. The caller closes the files. Everything closes on exec.
func Offer() (*Ends, []*os.File, error) {
	toChild, err := socketpair()
	if err != nil {
		return nil, nil, err
	}
	fromChild, err := socketpair()
	if err != nil {
		toChild.close()
		return nil, nil, err
	}
	child := []*os.File{os.NewFile(uintptr(toChild[1]), "connection"), os.NewFile(uintptr(fromChild[1]), "connection")}
	return &Ends{toChild[0], fromChild[0]}, child, nil
}

// OneWay returns the connection to a child that writes to its second file.
func (e *Ends) OneWay() (net.Conn, error) {
	in, out := e.fromChild, e.toChild
	e.fromChild, e.toChild = -1, -1
	return newConn(in, out)
}

// TwoWay returns the connection to a child that uses its first file only.
func (e *Ends) TwoWay() (net.Conn, error) {
	f := os.NewFile(uintptr(e.toChild), "connection")
	e.toChild = -1
	e.Close()
	defer func() { _ = f.Close() }() // what is returned is a copy
	return net.FileConn(f)
}

// Close closes what was not taken. It may be called again, and on nil.
func (e *Ends) Close() {
	if e == nil {
		return
	}
	for _, fd := range []*int{&e.toChild, &e.fromChild} {
		if *fd >= 0 {
			_ = syscall.Close(*fd)
			*fd = -1
		}
	}
}

// Open makes a connection of two descriptors that this process inherited; it takes them over.
func Open(in, out int) (net.Conn, error) {
	for _, fd := range []int{in, out} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			return nil, fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	syscall.CloseOnExec(in)
	syscall.CloseOnExec(out)
	return newConn(in, out)
}

// pair is the two descriptors of one socket pair.
type pair [2]int

func (p pair) close() {
	for _, fd := range p {
		_ = syscall.Close(fd)
	}
}

func socketpair() (pair, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return pair{}, os.NewSyscallError("socketpair", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return fds, nil
}

// conn reads from one socket and writes to another.
type conn struct {
	net.Conn // reads; of its methods only those that concern reading are used

	// The socket that is written to. Its descriptor is not in the poller: a write that finds no room waits in a system call of its own,
	// which is rare, since the peer's reader never waits.
	mu   sync.RWMutex // held for reading while the descriptor is used
	out  int
	gone atomic.Bool // it was closed
}

// newConn takes both descriptors over, also if it fails.
func newConn(in, out int) (net.Conn, error) {
	f := os.NewFile(uintptr(in), "connection")
	read, err := net.FileConn(f) // a copy
	_ = f.Close()
	if err == nil {
		err = os.NewSyscallError("setnonblock", syscall.SetNonblock(out, true))
		if err != nil {
			_ = read.Close()
		}
	}
	if err != nil {
		_ = syscall.Close(out)
		return nil, err
	}
	return &conn{Conn: read, out: out}, nil
}

// Write writes all of b, in the caller's thread. It is for one goroutine at a time, as gRPC's is. Close ends it.
func (c *conn) Write(b []byte) (n int, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for n < len(b) {
		if c.gone.Load() {
			return n, net.ErrClosed
		}
		m, err := syscall.Write(c.out, b[n:])
		if m > 0 {
			n += m
		}
		switch {
		case err == nil, errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			c.awaitRoom()
		default:
			return n, os.NewSyscallError("write", err)
		}
	}
	return n, nil
}

// TryWrite writes what there is room for.
func (c *conn) TryWrite(b []byte) (int, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.gone.Load() {
		return 0, net.ErrClosed
	}
	n, err := syscall.Write(c.out, b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
		return 0, nil
	}
	return 0, os.NewSyscallError("write", err)
}

// awaitRoom waits until the socket takes bytes or is shut down.
func (c *conn) awaitRoom() {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(c.out), Events: unix.POLLOUT}}, -1) // its error shows at the next write
}

// Close closes both ways. What waits in Read or Write returns.
func (c *conn) Close() error {
	if c.gone.Swap(true) {
		return net.ErrClosed
	}
	_ = unix.Shutdown(c.out, unix.SHUT_RDWR) // the peer may have closed it
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.Conn.Close(), os.NewSyscallError("close", syscall.Close(c.out)))
}

// SetDeadline is SetReadDeadline: writes have none.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline does nothing.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }
