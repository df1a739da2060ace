package main

import (
	"syscall"
	"unsafe"
)

// groupAttr gives a child a process group.
func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// awaitEnd returns when a child has ended. It does not reap it.
func awaitEnd(pid int) {
	const pPID, wExited, wNoWait = 1, 0x4, 0x20 // sys/wait.h
	var info [128]byte                          // a siginfo_t is 104 bytes
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
		if e != syscall.EINTR {
			return
		}
	}
}
