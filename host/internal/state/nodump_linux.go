package state

import (
	"os"

	"golang.org/x/sys/unix"
)

// NoDump keeps what is in this process's memory from other programs of the same
// user and from core dumps, for the rest of its life: it sets PR_SET_DUMPABLE to
// 0 (T57). Programs that it starts are not affected once they run, but one that
// is not root can no longer write the user id map of a child, and so start
// plugins in a user namespace. It returns errors.ErrUnsupported on other systems
// than Linux.
func NoDump() error {
	return os.NewSyscallError("prctl", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
}
