//go:build !linux && !darwin && !windows

package state

import (
	"os"
	"time"
)

// bootTime is when the system was started; zero if unknown.
func bootTime() time.Time { return time.Time{} }

// noExec reports whether programs in the directory cannot be run because of how it is mounted.
func noExec(*os.File) bool { return false }

// Identify returns the identity of what info tells of; false if the system gives none.
func Identify(os.FileInfo) (Identity, bool) { return Identity{}, false }
