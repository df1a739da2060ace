package launch

import (
	"syscall"
	"unsafe"
)

const (
	fdDir    = "/dev/fd"
	rssUnit  = 1          // of ru_maxrss
	fionread = 0x4004667f // sys/filio.h
)

// sysAttr gives a child a session of its own: no signal of the terminal reaches
// it and it cannot reach the terminal (K7, S5).
func sysAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitZombie returns when a child of ours has ended. It does not reap it.
func awaitZombie(pid int) {
	const pPID, wExited, wNoWait = 1, 0x4, 0x20 // sys/wait.h
	var info [128]byte                          // a siginfo_t is 104 bytes
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, pPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
		if e != syscall.EINTR {
			return
		}
	}
}
