//go:build unix

package state

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// modes says that permission bits mean something.
	modes = true
	// createWrites says that a file which an open creates is open for writing, whatever was asked for.
	createWrites = false
	// openNoWait keeps an open from waiting for the other end of a pipe.
	openNoWait = syscall.O_NONBLOCK
)

// owned reports whether the file belongs to this process's user.
func owned(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// tryLock takes the lock if nobody has it.
func tryLock(file *os.File) (locked bool, err error) { return tryFlock(file, unix.LOCK_EX) }

// tryShare takes a share in the lock if nobody has it alone.
func tryShare(file *os.File) (locked bool, err error) { return tryFlock(file, unix.LOCK_SH) }

func tryFlock(file *os.File, how int) (locked bool, err error) {
	err = flock(file, how|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}

func unlock(file *os.File) { _ = flock(file, unix.LOCK_UN) }

func flock(file *os.File, how int) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	ctlErr := raw.Control(func(fd uintptr) {
		for err = unix.EINTR; err == unix.EINTR; {
			err = unix.Flock(int(fd), how)
		}
	})
	if ctlErr != nil {
		return ctlErr
	}
	return err
}

// mayWrite says why this user cannot make files in a directory.
func mayWrite(path string) error {
	err := unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK)
	if err == nil {
		return nil
	}
	return &os.PathError{Op: "write to", Path: path, Err: err}
}

// syncDir brings to the disk which files a directory holds.
func syncDir(dir *os.File) error { return dir.Sync() }
