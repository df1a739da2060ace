package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Dir is a state directory. Its fields are set before its first use. Its methods
// may be called at the same time, and by any number of processes.
//
// Every method that touches the disk makes the directory if it is missing and
// checks it each time; it returns *UnsafeError or *BusyError if the directory
// cannot be used.
type Dir struct {
	// Now is the clock. If nil, time.Now.
	Now func() time.Time
	// NoDump makes Keys call the function NoDump first (T57). Read its warning.
	NoDump bool
	// MaxPending is how many calls may wait. If zero, 100 (T29).
	MaxPending int
	// MaxPerCaller is how many calls of one caller may wait. If zero, 20 (T29).
	MaxPerCaller int

	path     string        // if empty, DefaultDir is asked at the first use
	lockWait time.Duration // if zero, defaultLockWait
	mu       sync.Mutex    // held while the lock file is locked: flock alone is unfair within a process
}

// Open returns the state directory at a path; if dir is empty, at that of
// DefaultDir. It does no I/O: the directory is made and checked at its first use.
// It fails only for a relative path if the working directory is unknown.
func Open(dir string) (*Dir, error) {
	if dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("state directory: %w", err)
		}
		dir = abs
	}
	return &Dir{path: dir}, nil
}

// DefaultDir is the user's state directory: $XDG_STATE_HOME/toolhost, or
// ~/.local/state/toolhost if the variable is not an absolute path. It fails if
// the user has no home directory.
func DefaultDir() (string, error) {
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "toolhost"), nil
	}
	home, err := os.UserHomeDir()
	if err == nil && !filepath.IsAbs(home) {
		err = fmt.Errorf("the home directory %q is not an absolute path", home)
	}
	if err != nil {
		return "", fmt.Errorf("state directory: %w; name one", err)
	}
	return filepath.Join(home, ".local", "state", "toolhost"), nil
}

// Path is where the directory is.
func (d *Dir) Path() (string, error) {
	if d.path == "" {
		return DefaultDir()
	}
	return d.path, nil
}

// session is the directory while it is locked.
type session struct {
	folder
	now  time.Time // never before any time seen here (T30)
	wall time.Time
}

// use runs f while the directory is locked.
func (d *Dir) use(f func(*session) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	path, err := d.Path()
	if err != nil {
		return err
	}
	if err := makeDirs(path); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	defer root.Close()
	s := session{folder: folder{root: root, path: path}}
	if err := s.check(); err != nil {
		return err
	}
	release, err := s.lock(d.lockWait)
	if err != nil {
		return err
	}
	defer release()
	s.wall = time.Now()
	if d.Now != nil {
		s.wall = d.Now()
	}
	if err := s.readClock(); err != nil {
		return err
	}
	return f(&s)
}

// makeDirs makes a directory and those above it, so that they outlive a loss of
// power.
func makeDirs(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(path) != path {
		if err := makeDirs(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil // one that may be entered and written, and not read
	}
	defer parent.Close()
	return syncDir(parent)
}
