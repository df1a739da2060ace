package state

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Sweep removes the private copies whose hash is not in keep and that no process of this user holds, and what dead
// writers have left of others. It returns how many files it has removed, also with an error, and makes nothing.
func (d *Dir) Sweep(keep map[[sha256.Size]byte]bool) (removed int, err error) {
	err = d.look(binariesName, func(f folder) error {
		release, err := f.lock(d.lockWait) // nobody puts a copy in place meanwhile
		if err != nil {
			return err
		}
		defer release()
		names, err := f.all()
		if err != nil {
			return err
		}
		var errs []error
		for _, name := range names {
			if sum, err := hex.DecodeString(name); err == nil && len(sum) == sha256.Size {
				if keep[[sha256.Size]byte(sum)] {
					continue
				}
			} else if !strings.HasPrefix(name, copyPrefix) {
				continue
			}
			gone, err := f.removeUnused(name)
			if gone {
				removed++
			}
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return removed, err
}

// all lists the names of all files.
func (f folder) all() ([]string, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, f.wrap(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	return names, f.wrap(err)
}

// removeUnused removes a file that nobody has locked.
func (f folder) removeUnused(name string) (gone bool, err error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, f.wrap(err)
	}
	if info.Mode().IsRegular() && owned(info) {
		file, err := f.root.OpenFile(name, os.O_RDONLY|openNoWait, 0)
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, f.wrap(err)
		}
		defer file.Close()
		locked, err := tryLock(file)
		if err != nil || !locked {
			return false, f.wrap(err)
		}
		defer unlock(file)
		if !f.is(name, file) {
			return false, nil
		}
	} // else it is nothing of ours, which nobody uses
	return true, f.remove(name)
}
