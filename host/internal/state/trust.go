package state

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Trust is a directory whose content a person has accepted (T51).
type Trust struct {
	Path string
	Hash string    // of what was in it, as who asks computes it; 1 to 1024 bytes
	At   time.Time // by Clock
}

// trustRecord is its record. Paths need not be UTF-8.
type trustRecord struct {
	Path []byte    `json:"path"`
	Hash string    `json:"hash"`
	At   time.Time `json:"at"`
}

const (
	trustedName = "trusted"
	// trustMax is the largest record in bytes: the path in base64, and a hash of which every byte is escaped.
	trustMax = (pathMax+2)/3*4 + 6*nameMax + 1024
)

// TrustDir records that a person accepts what is in a directory, as long as it has this hash. It holds for exactly this
// path, which must be absolute and clean: not for what is above or below it, and not for another name of it. It replaces what
// was recorded of the path.
func (d *Dir) TrustDir(path, hash string) error {
	if err := checkTrust(path); err != nil {
		return err
	}
	if hash == "" || len(hash) > nameMax {
		return fmt.Errorf("trusted directory: a hash has 1 to %d bytes", nameMax)
	}
	return d.use(func(s *session) error {
		return putRecord(s, trustedName, path, trustRecord{[]byte(path), hash, s.now.UTC()})
	})
}

// TrustedDir returns the hash with which a directory was accepted, and whether it was. A record that is damaged accepts
// nothing.
func (d *Dir) TrustedDir(path string) (hash string, ok bool, err error) {
	var r trustRecord
	err = d.look(trustedName, func(f folder) (err error) {
		r, err = readRecord[trustRecord](f, fileName(path), trustMax)
		return err
	})
	if _, damaged := errors.AsType[*CorruptError](err); damaged {
		return "", false, nil
	}
	return r.Hash, err == nil && r.Hash != "", ignoreMissing(err)
}

// UntrustDir takes that back, and tells whether there was anything to take back.
func (d *Dir) UntrustDir(path string) (bool, error) { return d.dropRecord(trustedName, path) }

// TrustedDirs lists all, in the order of their paths. err also has a *CorruptError for each that is damaged; the others are
// returned with it.
func (d *Dir) TrustedDirs() ([]Trust, error) {
	records, err := listRecords[trustRecord](d, trustedName, trustMax)
	var all []Trust
	for _, r := range records {
		all = append(all, Trust{string(r.Path), r.Hash, r.At})
	}
	return all, err
}

func (r trustRecord) id() string { return string(r.Path) }

func checkTrust(path string) error {
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || len(path) > pathMax {
		return fmt.Errorf("trusted directory: %q must be an absolute path without . and .., of at most %d bytes", path, pathMax)
	}
	return nil
}
