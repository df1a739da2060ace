package state

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// This file compiles and has not been run yet.

const (
	modes        = false // access lists, which the profile's directories set
	createWrites = true
	openNoWait   = 0
)

func owned(os.FileInfo) bool { return true }

// tryLock takes the lock if nobody has it.
func tryLock(file *os.File) (locked bool, err error) {
	return tryLockFile(file, windows.LOCKFILE_EXCLUSIVE_LOCK)
}

// tryShare takes a share in the lock if nobody has it alone.
func tryShare(file *os.File) (locked bool, err error) { return tryLockFile(file, 0) }

func tryLockFile(file *os.File, flags uint32) (locked bool, err error) {
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, lockedByte())
	if err == windows.ERROR_LOCK_VIOLATION {
		return false, nil
	}
	return err == nil, err
}

func unlock(file *os.File) {
	_ = windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, lockedByte())
}

// lockedByte is far behind the end of any file: a byte that is locked cannot be read.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

func syncDir(*os.File) error { return nil } // there is no such thing

func mayWrite(string) error { return nil } // access lists say more than can be asked

// bootTime is when the system was started.
func bootTime() time.Time { return time.Now().Add(-windows.DurationSinceBoot()) }

// noExec reports whether programs in the directory cannot be run because of how it is mounted.
func noExec(*os.File) bool { return false }

// Identify returns the identity of what info tells of; false if the system gives none.
func Identify(os.FileInfo) (Identity, bool) { return Identity{}, false }
