package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"time"
)

// Decisions.
const (
	Approved = "approved"
	Denied   = "denied"
	Resumed  = "resumed"
)

// Unknown is the outcome of a run whose end was not recorded: it goes on, or its
// host died. It may have had side effects (C3).
const Unknown = "unknown"

// Record is how a suspension was decided.
type Record struct {
	At       time.Time `json:"at"`       // if zero at Spend, the time by Clock
	Decision string    `json:"decision"` // Approved, Denied or Resumed
	Outcome  string    `json:"outcome"`  // a word of the host's; if empty at Spend, Unknown
	Expires  time.Time `json:"expires"`  // when the suspension expires; the record is kept until then
}

const (
	spentName = "spent"
	// recordMax is the largest record in bytes.
	recordMax = 8192
	// wordMax is the longest decision or outcome in bytes.
	wordMax = 512
	// A call of Spend lists sweepList records and looks at sweepRead of them, so
	// that its cost does not grow with the ledger.
	sweepList, sweepRead = 16384, 32
	// sweepGrace is how much longer than needed a record is kept.
	sweepGrace = time.Hour
)

// Spend records that the suspension is decided, before what was decided is done.
// For one id it succeeds once, whoever calls it, and then *SpentError tells of
// the first decision, even if that is half written. It returns *ExpiredError,
// and records nothing, if rec.Expires is over by Clock. After any error, nothing
// of what was decided may be done. Some records that have expired are removed.
func (d *Dir) Spend(id string, rec Record) error {
	if err := checkRecord(id, rec); err != nil {
		return err
	}
	return d.use(func(s *session) error {
		ledger, err := s.sub(spentName)
		if err != nil {
			return err
		}
		defer ledger.root.Close()
		name := fileName(id)
		if first, ok := ledger.record(name); ok {
			return &SpentError{first}
		}
		if err := s.expired(rec.Expires); err != nil {
			return err
		}
		if rec.At.IsZero() {
			rec.At = s.now
		}
		if rec.Outcome == "" {
			rec.Outcome = Unknown
		}
		data, err := encodeRecord(rec)
		if err != nil {
			return err
		}
		err = ledger.create(name, data)
		if errors.Is(err, fs.ErrExist) { // by somebody without the lock
			first, _ := ledger.record(name)
			return &SpentError{first}
		}
		if err == nil {
			s.sweep(ledger)
		}
		return err
	})
}

// SetOutcome records how the run ended that Spend allowed. It returns
// *NotFoundError if the id was not spent, or so long ago that it is forgotten.
func (d *Dir) SetOutcome(id, outcome string) error {
	if outcome == "" || len(outcome) > wordMax {
		return fmt.Errorf("spent suspension: an outcome has 1 to %d bytes, not %d", wordMax, len(outcome))
	}
	return d.use(func(s *session) error {
		ledger, err := s.sub(spentName)
		if err != nil {
			return err
		}
		defer ledger.root.Close()
		name := fileName(id)
		rec, ok := ledger.record(name)
		if !ok {
			return &NotFoundError{"spent suspension"}
		}
		if rec.Expires.IsZero() {
			return &CorruptError{Path: filepath.Join(ledger.path, name), Err: errors.New("no record")}
		}
		rec.Outcome = outcome
		data, err := encodeRecord(rec)
		if err != nil {
			return err
		}
		return ledger.replace(name, data)
	})
}

// Spent returns how a suspension was decided, and whether it was. It does not make
// the directory.
func (d *Dir) Spent(id string) (rec Record, ok bool, err error) {
	if !d.has(spentName) {
		return Record{}, false, nil
	}
	err = d.use(func(s *session) error {
		ledger, err := s.sub(spentName)
		if err != nil {
			return err
		}
		defer ledger.root.Close()
		rec, ok = ledger.record(fileName(id))
		return nil
	})
	return rec, ok, err
}

func checkRecord(id string, rec Record) error {
	switch {
	case id == "":
		return errors.New("spent suspension: no id")
	case rec.Decision == "" || len(rec.Decision) > wordMax || len(rec.Outcome) > wordMax:
		return fmt.Errorf("spent suspension: a decision has 1 to %d bytes, an outcome at most as many", wordMax)
	case rec.Expires.IsZero():
		return errors.New("spent suspension: no expiry")
	}
	return nil
}

func encodeRecord(rec Record) ([]byte, error) {
	rec.At, rec.Expires = rec.At.UTC(), rec.Expires.UTC()
	data, err := json.Marshal(rec)
	if err != nil {
		return nil, fmt.Errorf("spent suspension: %w", err)
	}
	return append(data, '\n'), nil
}

// record reads a record. Anything that is there counts as a record, even if it
// cannot be read: then only its outcome is set, to Unknown.
func (f folder) record(name string) (rec Record, ok bool) {
	damaged := Record{Outcome: Unknown}
	if _, err := f.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return Record{}, false
	}
	data, more, err := f.read(name, recordMax)
	if err != nil || more || json.Unmarshal(data, &rec) != nil ||
		rec.Decision == "" || rec.Outcome == "" || rec.At.IsZero() || rec.Expires.IsZero() {
		return damaged, true
	}
	return rec, true
}

// sweep removes records that nobody needs any more, of a few taken at random. One
// that is damaged does not say until when it is needed, and stays.
//
// Its time is in the clock's file by then: a suspension whose record is gone stays
// expired, even if the clock is set back.
func (s *session) sweep(ledger folder) {
	names, err := ledger.names(sweepList)
	if err != nil {
		return // another call will
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names[:min(len(names), sweepRead)] {
		if rec, _ := ledger.record(name); !rec.Expires.IsZero() && s.now.After(rec.Expires.Add(sweepGrace)) {
			_ = ledger.remove(name)
		}
	}
}
