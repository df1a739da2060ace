package subject

import (
	"encoding/binary"
	"fmt"
	"os"
)

// Journal is the side effect of every call: a file to which each run of a tool appends the call's number with one
// write, so that a process killed at any moment leaves whole records only. Processes of one plugin share it.
type Journal struct{ file *os.File }

// OpenJournal opens the journal at path for appending, and makes it.
func OpenJournal(path string) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &Journal{f}, nil
}

// Add records that the call runs.
func (j *Journal) Add(id uint64) error {
	var rec [recordSize]byte
	binary.LittleEndian.PutUint64(rec[:], id)
	_, err := j.file.Write(rec[:])
	return err
}

// ReadJournal calls f with the number of every run in the journal at path. A journal that is not there is empty.
func ReadJournal(path string, f func(id uint64)) error {
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(data)%recordSize != 0 {
		return fmt.Errorf("%s: %d bytes are no whole number of records", path, len(data))
	}
	for ; len(data) > 0; data = data[recordSize:] {
		f(binary.LittleEndian.Uint64(data))
	}
	return nil
}

const recordSize = 8
