package state

import (
	"fmt"
	"time"
)

// UnsafeError says that the state directory, or a file in it, is not safe to use:
// it belongs to another user, or others have access to it, or it is not what it
// should be.
type UnsafeError struct {
	Path    string // the directory or file
	Problem string // what is wrong with it
	Fix     string // what to do about it
}

func (e *UnsafeError) Error() string {
	return fmt.Sprintf("state directory: %s %s: %s", e.Path, e.Problem, e.Fix)
}

// UnusableError says that the state directory is where it cannot be used, or not
// for what is needed: mounted read-only or noexec, full, without the right (L10).
type UnusableError struct {
	Path    string // the directory
	Problem string // what is wrong with it
	Fix     string // what to do about it
	Err     error  // the system's error; nil if it was found before one happened
}

func (e *UnusableError) Error() string {
	s := fmt.Sprintf("state directory: %s %s", e.Path, e.Problem)
	if e.Err != nil {
		s += fmt.Sprintf(" (%v)", e.Err)
	}
	return s + ": " + e.Fix
}

// Unwrap returns Err.
func (e *UnusableError) Unwrap() error { return e.Err }

// ChangedError says that a file did not stay the same for as long as it was read.
type ChangedError struct {
	Path string
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("private copy: %s changes while it is read: write a new file beside it and rename it into place", e.Path)
}

// BusyError says that another process has kept a lock for too long.
type BusyError struct {
	Path string // the file that is locked
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("state directory: another process keeps %s locked", e.Path)
}

// CorruptError says that a file cannot be read as what it should be.
type CorruptError struct {
	Path string
	Err  error  // what is wrong with it
	Fix  string // what to do about it; may be empty
}

func (e *CorruptError) Error() string {
	s := fmt.Sprintf("state directory: %s is damaged: %v", e.Path, e.Err)
	if e.Fix != "" {
		s += ": " + e.Fix
	}
	return s
}

// Unwrap returns Err.
func (e *CorruptError) Unwrap() error { return e.Err }

// UnknownKeyError says that what was sealed needs a key that is not there (T30).
type UnknownKeyError struct {
	ID string // the key's id, 8 hexadecimal digits
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("sealed with key %s, which this host does not have: the key is lost, was revoked or replaced, or belongs to another host; make the call again", e.ID)
}

// TamperedError says that sealed bytes, or the fields that belong to them, are
// not those that Seal made or was given.
type TamperedError struct {
	Problem string
}

func (e *TamperedError) Error() string { return "sealed value refused: " + e.Problem }

// TooLargeError says that something is over its limit. Sizes are in bytes.
type TooLargeError struct {
	What        string
	Size, Limit int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: %d bytes, and at most %d are allowed", e.What, e.Size, e.Limit)
}

// SpentError says that the suspension was decided before.
type SpentError struct {
	First Record // the first decision; Decision and At are zero if its record is damaged
}

func (e *SpentError) Error() string {
	if e.First.Decision == "" {
		return "already decided; how and when was not kept: outcome " + e.First.Outcome
	}
	return fmt.Sprintf("already %s on %s: outcome %s", e.First.Decision, e.First.At.Format(time.RFC3339), e.First.Outcome)
}

// ExpiredError says that the time for an answer is over.
type ExpiredError struct {
	Expires time.Time
	Now     time.Time // the time by Dir.Clock
	Wall    time.Time // the time by the machine's clock
}

func (e *ExpiredError) Error() string {
	s := fmt.Sprintf("expired on %s", e.Expires.Format(time.RFC3339))
	if e.Now.Sub(e.Wall) > time.Minute {
		s += fmt.Sprintf(" (the clock says %s, but it has been %s: a clock that was set back revives nothing)",
			e.Wall.Format(time.RFC3339), e.Now.Format(time.RFC3339))
	}
	return s
}

// ThrottledError says that too many calls wait for an answer (T29).
type ThrottledError struct {
	Limit     int
	PerCaller bool // the limit is that of one caller, not that of the directory
}

func (e *ThrottledError) Error() string {
	whose := ""
	if e.PerCaller {
		whose = " of this caller"
	}
	return fmt.Sprintf("%d calls%s wait for an answer, and no more may: answer some first", e.Limit, whose)
}

// NotFoundError says that nothing is known of an id.
type NotFoundError struct {
	What string // "pending call" or "spent suspension"
}

func (e *NotFoundError) Error() string { return "no such " + e.What }
