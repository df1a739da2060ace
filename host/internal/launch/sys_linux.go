package launch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	fdDir    = "/proc/self/fd"
	rssUnit  = 1024 // of ru_maxrss
	fionread = unix.TIOCINQ
)

// sysAttr gives a child a session of its own: no signal of the terminal reaches
// it and it cannot reach the terminal (K7, S5). It dies with the thread that
// forks (K4).
func sysAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitZombie returns when a child of ours has ended. It does not reap it.
func awaitZombie(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}
