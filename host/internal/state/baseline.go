package state

import (
	"errors"
	"io/fs"
	"time"
)

// Baseline is what a plugin defined when that was last accepted, to compare with what it defines now (T19).
type Baseline struct {
	Plugin   string    `json:"plugin"`   // its name, 1 to 1024 bytes
	Manifest []byte    `json:"manifest"` // as the host keeps it, at most MaxManifest
	At       time.Time `json:"at"`       // by Clock; set by SetBaseline
}

const (
	baselineName = "baseline"
	// baselineMax is the largest record in bytes: the manifest in base64, and a name of which every byte is escaped.
	baselineMax = (MaxManifest+2)/3*4 + 6*nameMax + 1024
)

// SetBaseline records what a plugin defines, in the place of what was recorded before. It returns *TooLargeError beyond
// MaxManifest.
func (d *Dir) SetBaseline(b Baseline) error {
	if err := checkName("baseline", b.Plugin); err != nil {
		return err
	}
	if err := within("baseline of "+b.Plugin, len(b.Manifest), MaxManifest); err != nil {
		return err
	}
	return d.use(func(s *session) error {
		b.At = s.now.UTC()
		return putRecord(s, baselineName, b.Plugin, b)
	})
}

// Baseline returns what a plugin defined when that was last accepted, and whether anything was. One that is damaged is
// *CorruptError: nothing can be said then.
func (d *Dir) Baseline(plugin string) (b Baseline, ok bool, err error) {
	err = d.look(baselineName, func(f folder) (err error) {
		b, err = readRecord[Baseline](f, fileName(plugin), baselineMax)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return Baseline{}, false, nil
	}
	return b, err == nil, err
}

// DropBaseline forgets a baseline, even a damaged one, and tells whether there was one.
func (d *Dir) DropBaseline(plugin string) (bool, error) { return d.dropRecord(baselineName, plugin) }

func (b Baseline) id() string { return b.Plugin }
