package state

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// This file compiles and has not been run yet.

// bootTime is when the system was started, by the clock as it is now; zero if unknown.
func bootTime() time.Time {
	at, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return time.Time{}
	}
	return time.Unix(at.Unix())
}

// noExec reports whether programs in the directory cannot be run because of how it is mounted.
func noExec(dir *os.File) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(dir.Fd()), &st) == nil && st.Flags&unix.MNT_NOEXEC != 0
}

// Identify returns the identity of what info tells of; false if the system gives none.
func Identify(info os.FileInfo) (Identity, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, false
	}
	return Identity{uint64(st.Dev), st.Ino, st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano()}, true
}
