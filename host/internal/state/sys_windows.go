package state

import (
	"os"

	"golang.org/x/sys/windows"
)

// This file compiles and has not been run yet.

const (
	modes      = false // access lists, which the profile's directories set
	openNoWait = 0
)

func owned(os.FileInfo) bool { return true }

// tryLock takes the lock if nobody has it.
func tryLock(file *os.File) (locked bool, err error) {
	err = windows.LockFileEx(windows.Handle(file.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if err == windows.ERROR_LOCK_VIOLATION {
		return false, nil
	}
	return err == nil, err
}

func unlock(file *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, &windows.Overlapped{})
}

func syncDir(*os.File) error { return nil } // there is no such thing
