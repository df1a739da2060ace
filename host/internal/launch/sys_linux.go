package launch

import (
	"errors"
	"os"
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

// addNamespaces adds the pid namespace: when the plugin, its process 1, ends,
// the kernel kills every process in it. Without the right to make one, it comes
// in a user namespace in which the user is nobody but himself.
func addNamespaces(attr *syscall.SysProcAttr) bool {
	attr.Cloneflags = syscall.CLONE_NEWPID
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	return true
}

// namespaceRefused reports whether an error of StartProcess may be the kernel's
// refusal of a namespace: the next try, without, shows whether it was.
func namespaceRefused(err error) bool {
	for _, e := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EINVAL, syscall.ENOSYS, syscall.EUSERS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// notCovered says what a default profile lacks after refused, which may be nil.
func notCovered(refused error) []string {
	if refused == nil {
		return nil
	}
	var errno syscall.Errno
	errors.As(refused, &errno)
	return []string{"no pid namespace (" + errno.Error() + "): a descendant that leaves the plugin's group survives it"}
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
