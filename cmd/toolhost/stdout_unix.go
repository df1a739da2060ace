//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeStdout returns the real standard output and makes descriptor 1 another name of standard error, so that whatever writes
// there by mistake does not reach who reads the output (R25).
func takeStdout() (*os.File, error) {
	fd, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.Dup2(2, 1); err != nil {
		return nil, os.NewSyscallError("dup2", err)
	}
	return os.NewFile(uintptr(fd), "stdout"), nil
}
