//go:build !windows

package loopback

import "syscall"

// alone does nothing: two listeners have one port only if both ask for it.
func alone(string, string, syscall.RawConn) error { return nil }
