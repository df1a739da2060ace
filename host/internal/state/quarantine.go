package state

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/runes"
)

// Quarantine is why a plugin is not started any more (K7).
type Quarantine struct {
	Plugin  string    `json:"plugin"`            // its name, 1 to 1024 bytes
	Program string    `json:"program,omitempty"` // the SHA-256 of its binary, in hexadecimal; empty if unknown
	Reason  string    `json:"reason"`            // for people; cut after 4096 bytes
	At      time.Time `json:"at"`                // by Clock; set by SetQuarantine

	// Conditions identifies the binary and what it is given, in hexadecimal, as who asks computes it: with other
	// arguments or settings the plugin may work. Empty if unknown.
	Conditions string `json:"conditions,omitempty"`
}

const (
	quarantineName = "quarantine"
	// quarantineMax is the largest record in bytes, if every byte of it is escaped.
	quarantineMax = 6*(nameMax+reasonMax) + 1024
	reasonMax     = 4096
)

// SetQuarantine records that a plugin is not to be started, until Release, or until who asks sees another binary. It replaces
// what was recorded of the plugin.
func (d *Dir) SetQuarantine(q Quarantine) error {
	if err := checkName("quarantine", q.Plugin); err != nil {
		return err
	}
	for _, sum := range []string{q.Program, q.Conditions} {
		if !isSum(sum) {
			return fmt.Errorf("quarantine of %s: %q is no SHA-256", q.Plugin, sum)
		}
	}
	q.Reason = runes.Prefix(strings.ToValidUTF8(q.Reason, string(utf8.RuneError)), reasonMax)
	return d.use(func(s *session) error {
		q.At = s.now.UTC()
		return putRecord(s, quarantineName, q.Plugin, q)
	})
}

// Quarantined returns why a plugin is not to be started, and whether that is so. A record that is damaged keeps its plugin in
// quarantine, whatever its binary.
func (d *Dir) Quarantined(plugin string) (q Quarantine, ok bool, err error) {
	err = d.look(quarantineName, func(f folder) (err error) {
		q, err = readRecord[Quarantine](f, fileName(plugin), quarantineMax)
		return err
	})
	if corrupt, damaged := errors.AsType[*CorruptError](err); damaged {
		return Quarantine{Plugin: plugin, Reason: corrupt.Error()}, true, nil
	}
	return q, err == nil, ignoreMissing(err)
}

// Release ends a quarantine, also one whose record is damaged, and tells whether there was one.
func (d *Dir) Release(plugin string) (bool, error) { return d.dropRecord(quarantineName, plugin) }

// Quarantines lists all, in the order of the plugins' names. err also has a *CorruptError for each that is damaged; the
// others are returned with it.
func (d *Dir) Quarantines() ([]Quarantine, error) {
	return listRecords[Quarantine](d, quarantineName, quarantineMax)
}

func (q Quarantine) id() string { return q.Plugin }

// isSum reports whether s is empty or a SHA-256 in hexadecimal.
func isSum(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && (s == "" || len(s) == 64)
}
