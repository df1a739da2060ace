package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// takeStdout returns the real standard output and makes the standard handle another name of standard error, so that whatever
// writes there by mistake does not reach who reads the output (R25).
func takeStdout() (*os.File, error) {
	out := os.Stdout
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(os.Stderr.Fd())); err != nil {
		return nil, os.NewSyscallError("SetStdHandle", err)
	}
	os.Stdout = os.Stderr
	return out, nil
}
