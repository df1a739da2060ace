//go:build !unix

package rpc

import "net"

// TryWrite writes what nc has room for without waiting, as nc itself does it, else nothing.
func TryWrite(nc net.Conn, b []byte) (int, error) {
	if t, ok := nc.(TryWriter); ok {
		return t.TryWrite(b)
	}
	return 0, nil
}
