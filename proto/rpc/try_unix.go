//go:build unix

package rpc

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// TryWrite writes what nc has room for without waiting: as nc itself does it, or by the descriptor of a plain socket, else nothing.
func TryWrite(nc net.Conn, b []byte) (int, error) {
	if t, ok := nc.(TryWriter); ok {
		return t.TryWrite(b)
	}
	var s syscall.Conn
	switch nc := nc.(type) { // not whatever has a descriptor: that may be of a socket within, whose Write is another one
	case *net.UnixConn:
		s = nc
	case *net.TCPConn:
		s = nc
	default:
		return 0, nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		n, failed = syscall.Write(int(fd), b)
		return true // also if there is no room
	})
	switch {
	case err != nil:
		return 0, err
	case failed == nil:
		return n, nil
	case errors.Is(failed, syscall.EAGAIN), errors.Is(failed, syscall.EINTR):
		return 0, nil
	}
	return 0, os.NewSyscallError("write", failed)
}
