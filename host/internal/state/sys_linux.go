package state

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is when the system was started, by the clock as it is now; zero if unknown.
func bootTime() time.Time {
	var up unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(up.Nano()))
}

// noExec reports whether programs in the directory cannot be run because of how it is mounted.
func noExec(dir *os.File) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(int(dir.Fd()), &st) == nil && st.Flags&unix.ST_NOEXEC != 0
}

// Identify returns the identity of what info tells of; false if the system gives none.
func Identify(info os.FileInfo) (Identity, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Identity{}, false
	}
	return Identity{uint64(st.Dev), st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}, true
}
