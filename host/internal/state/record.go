package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// A record is a small value that has a file of its own: JSON, named after its id (T43), put in place in one step. It is
// read without the lock, and reading makes nothing.

// putRecord writes a record, durably.
func putRecord(s *session, folderName, id string, v any) error {
	f, err := s.sub(folderName)
	if err != nil {
		return err
	}
	defer f.root.Close()
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("state directory: record of %q: %w", id, err)
	}
	return f.replace(fileName(id), append(data, '\n'))
}

// dropRecord removes a record, even a damaged one, and tells whether there was one.
func (d *Dir) dropRecord(folderName, id string) (there bool, err error) {
	err = d.look(folderName, func(f folder) error {
		_, err := f.root.Lstat(fileName(id))
		return f.wrap(err)
	})
	if err != nil {
		return false, ignoreMissing(err)
	}
	err = d.use(func(s *session) error {
		f, err := s.sub(folderName)
		if err != nil {
			return err
		}
		defer f.root.Close()
		_, err = f.root.Lstat(fileName(id))
		there = err == nil
		if err := f.remove(fileName(id)); err != nil {
			return err
		}
		return f.wrap(f.sync())
	})
	return there, err
}

// readRecord reads a record of at most limit bytes. It returns fs.ErrNotExist if there is none, and *CorruptError for one
// that cannot be read as what it should be, or belongs to another id.
func readRecord[T interface{ id() string }](f folder, name string, limit int) (T, error) {
	var v, none T
	data, more, err := f.read(name, limit)
	if err != nil {
		return none, err
	}
	err = json.Unmarshal(data, &v)
	if more {
		err = errors.New("it is too long")
	}
	if err == nil && fileName(v.id()) != name {
		err = errors.New("it is another's")
	}
	if err != nil {
		return none, &CorruptError{Path: filepath.Join(f.path, name), Err: err, Fix: "remove it"}
	}
	return v, nil
}

// listRecords reads all records of a folder, in the order of their ids. Those that are damaged are in err.
func listRecords[T interface{ id() string }](d *Dir, folderName string, limit int) (all []T, err error) {
	var errs []error
	err = d.look(folderName, func(f folder) error {
		names, err := f.names(pendingList)
		if err != nil {
			return err
		}
		slices.Sort(names)
		for _, name := range names {
			v, err := readRecord[T](f, name, limit)
			switch {
			case err == nil:
				all = append(all, v)
			case !errors.Is(err, fs.ErrNotExist): // or it was removed meanwhile
				errs = append(errs, err)
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b T) int { return strings.Compare(a.id(), b.id()) })
	return all, errors.Join(ignoreMissing(err), errors.Join(errs...))
}

// checkName refuses what is no name of a plugin that a record can have.
func checkName(what, name string) error {
	if name == "" || len(name) > nameMax || !utf8.ValidString(name) {
		return fmt.Errorf("%s: a plugin's name has 1 to %d bytes of UTF-8", what, nameMax)
	}
	return nil
}

// ignoreMissing is err, unless something is just not there.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
