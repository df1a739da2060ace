//go:build unix && !linux

package main

import "golang.org/x/sys/unix"

func flushInput(fd uintptr) { _ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, unix.TCIFLUSH) }
