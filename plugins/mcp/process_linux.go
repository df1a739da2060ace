package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// groupAttr gives a child a process group, and it dies with the thread that forks.
func groupAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitEnd returns when a child has ended. It does not reap it.
func awaitEnd(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}
