package state

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// MaxBody is the largest body of an Entry in bytes.
const MaxBody = 8 << 20

// Entry is a call that waits for an answer.
type Entry struct {
	ID      string    // the suspension's, at most 1024 bytes
	Caller  string    // who is counted, at most 1024 bytes; may be empty, which counts as one caller
	Body    []byte    // what the host needs to show and resume it; not encrypted here
	At      time.Time // since when it waits, by Clock; set by PutPending
	Expires time.Time
}

const (
	pendingName         = "pending"
	defaultMaxPending   = 100
	defaultMaxPerCaller = 20
	nameMax             = 1024
	// headMax is the largest first line of a file, in bytes.
	headMax = 8192
	// pendingList is how many files are looked at.
	pendingList = 4096
)

// head is the first line of an entry's file, as JSON; the body follows as it is.
// Ids and callers are bytes because they need not be UTF-8.
type head struct {
	ID      []byte    `json:"id"`
	Caller  []byte    `json:"caller"`
	At      time.Time `json:"at"`
	Expires time.Time `json:"expires"`
	Size    int       `json:"size"`
	SHA256  []byte    `json:"sha256"` // of the body
}

// PutPending adds an entry, or replaces the one of the same id. It returns
// *ThrottledError if too many wait, *TooLargeError for a large body,
// *ExpiredError if its time is over. e.At is ignored.
func (d *Dir) PutPending(e Entry) error {
	if e.ID == "" || len(e.ID) > nameMax || len(e.Caller) > nameMax {
		return fmt.Errorf("pending call: an id has 1 to %d bytes, a caller at most as many", nameMax)
	}
	if err := within("pending call", len(e.Body), MaxBody); err != nil {
		return err
	}
	return d.usePending(func(s *session, f folder) error {
		if err := s.expired(e.Expires); err != nil {
			return err
		}
		waiting, _, err := s.scan(f, false)
		if err != nil {
			return err
		}
		total, own := 0, 0
		for _, w := range waiting {
			if w.ID == e.ID {
				continue
			}
			total++
			if w.Caller == e.Caller {
				own++
			}
		}
		if limit := cmp.Or(d.MaxPerCaller, defaultMaxPerCaller); own >= limit {
			return &ThrottledError{limit, true}
		}
		if limit := cmp.Or(d.MaxPending, defaultMaxPending); total >= limit {
			return &ThrottledError{limit, false}
		}
		e.At = s.now
		data, err := encodeEntry(e)
		if err != nil {
			return err
		}
		return f.replace(fileName(e.ID), data)
	})
}

// Pending lists what waits, newest first, and removes what has expired. Files
// that cannot be read are left alone and reported in damaged; they are no error.
// It does not make the directory.
func (d *Dir) Pending() (entries []Entry, damaged []*CorruptError, err error) {
	if !d.has(pendingName) {
		return nil, nil, nil
	}
	err = d.usePending(func(s *session, f folder) (err error) {
		entries, damaged, err = s.scan(f, true)
		return err
	})
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.ID, b.ID))
	})
	return entries, damaged, err
}

// TakePending removes an entry and returns it: of those who ask, one gets it. It
// returns *NotFoundError if nothing waits under the id, *ExpiredError if it did
// for too long, and *CorruptError, with the file left alone, if it is damaged.
func (d *Dir) TakePending(id string) (Entry, error) {
	var taken Entry
	err := d.usePending(func(s *session, f folder) error {
		name := fileName(id)
		e, err := f.entry(name, true)
		if errors.Is(err, fs.ErrNotExist) {
			return &NotFoundError{"pending call"}
		}
		if err != nil {
			return err
		}
		if err := f.remove(name); err != nil {
			return err
		}
		if err := s.expired(e.Expires); err != nil {
			return err
		}
		taken = e
		return nil
	})
	return taken, err
}

// DropPending removes an entry, even a damaged one, and one that is not there.
func (d *Dir) DropPending(id string) error {
	return d.usePending(func(_ *session, f folder) error { return f.remove(fileName(id)) })
}

func (d *Dir) usePending(do func(*session, folder) error) error {
	return d.use(func(s *session) error {
		f, err := s.sub(pendingName)
		if err != nil {
			return err
		}
		defer f.root.Close()
		return do(s, f)
	})
}

// scan reads all entries, in no order, and removes those that have expired.
func (s *session) scan(f folder, bodies bool) (entries []Entry, damaged []*CorruptError, err error) {
	names, err := f.names(pendingList)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range names {
		e, err := f.entry(name, bodies)
		switch corrupt, ok := errors.AsType[*CorruptError](err); {
		case ok:
			damaged = append(damaged, corrupt)
		case err != nil:
			damaged = append(damaged, &CorruptError{Path: filepath.Join(f.path, name), Err: err})
		case s.expired(e.Expires) != nil:
			_ = f.remove(name) // if it cannot be, it stays expired
		default:
			entries = append(entries, e)
		}
	}
	return entries, damaged, nil
}

// entry reads an entry's file; without its body if so asked.
func (f folder) entry(name string, body bool) (Entry, error) {
	limit := headMax
	if body {
		limit += MaxBody
	}
	data, more, err := f.read(name, limit)
	if err != nil {
		return Entry{}, err
	}
	e, err := decodeEntry(data, body)
	if err == nil && fileName(e.ID) != name {
		err = errors.New("its name is not that of its id")
	}
	if err == nil && body && more {
		err = errors.New("it is too long")
	}
	if err != nil {
		return Entry{}, &CorruptError{Path: filepath.Join(f.path, name), Err: err}
	}
	return e, nil
}

func encodeEntry(e Entry) ([]byte, error) {
	sum := sha256.Sum256(e.Body)
	line, err := json.Marshal(head{[]byte(e.ID), []byte(e.Caller), e.At.UTC(), e.Expires.UTC(), len(e.Body), sum[:]})
	if err != nil {
		return nil, fmt.Errorf("pending call: %w", err)
	}
	return slices.Concat(line, []byte("\n"), e.Body), nil
}

func decodeEntry(data []byte, body bool) (Entry, error) {
	line, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || len(line) >= headMax {
		return Entry{}, errors.New("it is cut short")
	}
	var h head
	if err := json.Unmarshal(line, &h); err != nil {
		return Entry{}, err
	}
	if len(h.ID) == 0 || h.Expires.IsZero() || h.At.IsZero() {
		return Entry{}, errors.New("its first line says too little")
	}
	e := Entry{ID: string(h.ID), Caller: string(h.Caller), At: h.At, Expires: h.Expires}
	if !body {
		return e, nil
	}
	if sum := sha256.Sum256(rest); len(rest) != h.Size || !bytes.Equal(sum[:], h.SHA256) {
		return Entry{}, errors.New("its body is not the one that was written")
	}
	e.Body = rest
	return e, nil
}
