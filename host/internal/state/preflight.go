package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Preflight says why the state directory cannot be used, or programs not be run from it, as far as that is to be seen without
// trying: *UnsafeError or *UnusableError (L10). Of a directory that is not there yet, it looks at the nearest one above. It
// makes nothing.
func (d *Dir) Preflight() error {
	path, err := d.Path()
	if err != nil {
		return err
	}
	dir, err := d.open(false)
	if err == nil {
		dir.root.Close()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := path
	for {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			break
		}
		at = filepath.Dir(at)
	}
	if err := mayWrite(at); err != nil {
		return explain(path, err)
	}
	if binaries := filepath.Join(path, binariesName); at == path && isDir(binaries) {
		at = binaries
	}
	file, err := os.Open(at)
	if err != nil {
		return explain(path, err)
	}
	defer file.Close()
	return mountedExec(path, file)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// mountedExec refuses a directory whose programs cannot be run.
func mountedExec(path string, dir *os.File) error {
	if noExec(dir) {
		return &UnusableError{path, "is on a file system that is mounted noexec, and plugins run from there", elsewhere, nil}
	}
	return nil
}
