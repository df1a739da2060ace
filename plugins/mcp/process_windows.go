package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// groupAttr gives a child a process group, so that no Ctrl-C reaches it. Its descendants are in the job of the host's.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// awaitEnd returns when a child has ended.
func awaitEnd(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_, _ = p.Wait()
	}
}

func termGroup(int) {}

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
		_ = p.Release()
	}
}
