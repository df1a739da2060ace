package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// folder is the state directory, or one directly in it. Except for what is said
// to need no lock, the lock is held while it is used.
type folder struct {
	root  *os.Root
	path  string
	cache bool // nothing in it needs to outlive a loss of power: no fsync
}

const (
	// temporary is the name of the file that replace writes. One is enough under
	// the lock, and what a dead process has left is overwritten.
	temporary = ".new"
	lockName  = "lock"
	// defaultLockWait is the longest wait for the lock. Nobody keeps it for more
	// than a few writes.
	defaultLockWait = 10 * time.Second
)

// fileName is the name of an id's file (T43).
func fileName(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// check refuses a folder that others could have put there, or can write to.
func (f folder) check() error {
	info, err := f.root.Stat(".")
	switch {
	case err != nil:
		return f.wrap(err)
	case !owned(info):
		return &UnsafeError{f.path, "belongs to another user", "name another state directory"}
	case modes && info.Mode().Perm()&0o022 != 0:
		return &UnsafeError{f.path, fmt.Sprintf("can be written by others (mode %#o)", info.Mode().Perm()), "chmod 700 " + f.path}
	}
	return nil
}

// sub opens a folder in f, and makes it if it is missing. The caller closes it.
func (f folder) sub(name string) (folder, error) {
	err := f.root.Mkdir(name, 0o700)
	if err == nil {
		err = f.sync()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return folder{}, f.wrap(err)
	}
	return f.openSub(name)
}

// openSub opens a folder in f that must be there. The caller closes it.
func (f folder) openSub(name string) (folder, error) {
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return folder{}, f.wrap(err)
	}
	s := folder{root: root, path: filepath.Join(f.path, name), cache: f.cache}
	if err := s.check(); err != nil {
		root.Close()
		return folder{}, err
	}
	return s, nil
}

// lock waits for the lock file, at most as long as said.
func (f folder) lock(wait time.Duration) (release func(), err error) {
	file, err := f.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE|openNoWait, 0o600)
	if err != nil {
		return nil, f.wrap(err)
	}
	err = f.checkFile(lockName, file)
	if err == nil {
		err = f.await(lockName, wait, func() (bool, error) { return tryLock(file) })
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	// A child that is about to be started may have a copy of the file: closing is not enough.
	return func() { unlock(file); file.Close() }, nil
}

// await tries to lock a file until it is locked, at most as long as said.
func (f folder) await(name string, wait time.Duration, try func() (bool, error)) error {
	if wait == 0 {
		wait = defaultLockWait
	}
	path := filepath.Join(f.path, name)
	end, pause := time.Now().Add(wait), time.Millisecond
	for {
		locked, err := try()
		switch {
		case err != nil:
			return fmt.Errorf("state directory: %s cannot be locked: %w; keep it on a local file system", path, err)
		case locked:
			return nil
		case time.Now().After(end):
			return &BusyError{path}
		}
		time.Sleep(pause) // there is no signal with a deadline
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// is reports whether a name is still that of an open file, and not of a link to it.
func (f folder) is(name string, file *os.File) bool {
	there, err := f.root.Lstat(name)
	if err != nil {
		return false
	}
	info, err := file.Stat()
	return err == nil && os.SameFile(there, info)
}

// read returns a file of at most limit bytes, and no more than the first
// limit bytes of a longer one, for which more is set.
func (f folder) read(name string, limit int) (data []byte, more bool, err error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|openNoWait, 0)
	if err != nil {
		return nil, false, f.wrap(err)
	}
	defer file.Close()
	if err := f.checkFile(name, file); err != nil {
		return nil, false, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, false, f.wrap(err)
	}
	buf := bytes.NewBuffer(make([]byte, 0, int(min(info.Size(), int64(limit)))+bytes.MinRead)) // one read, no copies
	if _, err := buf.ReadFrom(io.LimitReader(file, int64(limit)+1)); err != nil {
		return nil, false, f.wrap(err)
	}
	data = buf.Bytes()
	if len(data) > limit {
		return data[:limit], true, nil
	}
	return data, false, nil
}

// checkFile refuses what is no file of ours alone.
func (f folder) checkFile(name string, file *os.File) error {
	info, err := file.Stat()
	path := filepath.Join(f.path, name)
	switch {
	case err != nil:
		return f.wrap(err)
	case !info.Mode().IsRegular():
		return &UnsafeError{path, "is not a regular file", "remove it"}
	case !owned(info):
		return &UnsafeError{path, "belongs to another user", "remove it"}
	case modes && info.Mode().Perm()&0o077 != 0:
		return &UnsafeError{path, fmt.Sprintf("is open to others (mode %#o)", info.Mode().Perm()), "chmod 600 " + path}
	}
	return nil
}

// create makes a file that must not exist yet. If it cannot be written, it is
// removed again.
func (f folder) create(name string, data []byte) error {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return f.wrap(err)
	}
	_, err = file.Write(data)
	if err == nil && !f.cache {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = f.sync()
	}
	if err != nil {
		_ = f.root.Remove(name)
		return f.wrap(err)
	}
	return nil
}

// replace makes a file, or puts another in its place in one step.
func (f folder) replace(name string, data []byte) error {
	if err := f.remove(temporary); err != nil {
		return err
	}
	if err := f.create(temporary, data); err != nil {
		return err
	}
	err := f.root.Rename(temporary, name)
	if err == nil {
		err = f.sync()
	}
	return f.wrap(err)
}

// remove removes a file that may be missing.
func (f folder) remove(name string) error {
	if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f.wrap(err)
	}
	return nil
}

// names lists at most limit files that are named after ids.
func (f folder) names(limit int) ([]string, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, f.wrap(err)
	}
	defer dir.Close()
	all, err := dir.Readdirnames(limit)
	if err != nil && err != io.EOF {
		return nil, f.wrap(err)
	}
	names := all[:0]
	for _, name := range all {
		if len(name) == hex.EncodedLen(sha256.Size) {
			names = append(names, name)
		}
	}
	return names, nil
}

// sync brings to the disk which files there are.
func (f folder) sync() error {
	if f.cache {
		return nil
	}
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncDir(dir)
}

// wrap says where an error of the system happened.
func (f folder) wrap(err error) error { return explain(f.path, err) }

// explain says where an error of the system happened, and, of those that people
// can mend, what to do about it (L10).
func explain(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EROFS):
		return &UnusableError{path, "is on a file system that is mounted read-only", elsewhere, err}
	case errors.Is(err, syscall.ENOSPC):
		return &UnusableError{path, "is on a file system that is full", "free some space, or " + elsewhere, err}
	case errors.Is(err, syscall.EDQUOT):
		return &UnusableError{path, "is over this user's disk quota", "free some space, or " + elsewhere, err}
	case errors.Is(err, fs.ErrPermission):
		return &UnusableError{path, "or what it is in may not be used by this user", "change its owner and mode, or " + elsewhere, err}
	}
	return fmt.Errorf("state directory %s: %w", path, err)
}

// elsewhere is how to use another state directory.
const elsewhere = "name another state directory (Config.StateDir, --state, TOOLHOST_STATE)"
