package launch

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// startNamespaced is os.StartProcess for a child in namespaces. In a user namespace of its own, its parent must write
// the child's user map, and until it executes the child shares the parent's memory: where that must not be
// dumped (T57), the map belongs to root and nobody else may write it. So the host can be dumped for the
// milliseconds of such a fork, and for those only.
func startNamespaced(path string, argv []string, attr *os.ProcAttr) (proc *os.Process, err error) {
	if attr.Sys.Cloneflags&syscall.CLONE_NEWUSER == 0 {
		return os.StartProcess(path, argv, attr)
	}
	for range 10 { // another launcher, or state.NoDump, may switch it off in between
		was := dumpable()
		if was == 0 {
			setDumpable(1)
		}
		proc, err = os.StartProcess(path, argv, attr)
		again := dumpable() == 0
		if was == 0 {
			setDumpable(0)
		}
		if err == nil || !again || !errors.Is(err, syscall.EACCES) && !errors.Is(err, syscall.EPERM) {
			break
		}
	}
	return proc, err
}

// dumpable is the process's PR_GET_DUMPABLE: 0 if others of the same user must not look into its memory.
func dumpable() int {
	n, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return n
}

func setDumpable(n uintptr) { _ = unix.Prctl(unix.PR_SET_DUMPABLE, n, 0, 0, 0) }
