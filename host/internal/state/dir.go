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
// Every method that touches the disk checks the directory each time; it returns
// *UnsafeError, *UnusableError or *BusyError if the directory cannot be used. Who
// writes makes it if it is missing; who only reads leaves nothing behind.
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
	boot     time.Time     // when the system was started; if zero, the system is asked
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

// use runs f while the directory is locked, at a time that never goes back.
func (d *Dir) use(f func(*session) error) error {
	return d.locked(func(dir folder) error {
		s := session{folder: dir, wall: d.wall()}
		if err := s.readClock(); err != nil {
			return err
		}
		return f(&s)
	})
}

// locked runs f while the directory is locked. It makes it if it is missing.
func (d *Dir) locked(f func(folder) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	dir, err := d.open(true)
	if err != nil {
		return err
	}
	defer dir.root.Close()
	release, err := dir.lock(d.lockWait)
	if err != nil {
		return err
	}
	defer release()
	return f(dir)
}

// look runs f on a folder of the directory, on the directory itself if name is
// empty, without the lock and without making anything: for files that are put in
// place in one step. If the folder is not there it returns fs.ErrNotExist.
func (d *Dir) look(name string, f func(folder) error) error {
	dir, err := d.open(false)
	if err != nil {
		return err
	}
	defer dir.root.Close()
	if name == "" {
		return f(dir)
	}
	sub, err := dir.openSub(name)
	if err != nil {
		return err
	}
	defer sub.root.Close()
	return f(sub)
}

// has is false if a folder is certainly not there: who only reads has nothing to
// read then, and makes nothing.
func (d *Dir) has(name string) bool {
	return !errors.Is(d.look(name, func(folder) error { return nil }), fs.ErrNotExist)
}

// enter is look for who writes: what is missing is made. It is for folders whose
// files have locks of their own and need not outlive a loss of power.
func (d *Dir) enter(name string, f func(folder) error) error {
	dir, err := d.open(true)
	if err != nil {
		return err
	}
	defer dir.root.Close()
	dir.cache = true
	sub, err := dir.sub(name)
	if err != nil {
		return err
	}
	defer sub.root.Close()
	return f(sub)
}

// open opens the directory and checks it. The caller closes it.
func (d *Dir) open(create bool) (folder, error) {
	path, err := d.Path()
	if err != nil {
		return folder{}, err
	}
	if create {
		if err := makeDirs(path); err != nil {
			return folder{}, explain(path, err)
		}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return folder{}, explain(path, err)
	}
	f := folder{root: root, path: path}
	if err := f.check(); err != nil {
		root.Close()
		return folder{}, err
	}
	return f, nil
}

func (d *Dir) booted() time.Time {
	if !d.boot.IsZero() {
		return d.boot
	}
	return bootTime()
}

func (d *Dir) wall() time.Time {
	if d.Now != nil {
		return d.Now()
	}
	return time.Now()
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
