package state

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Acceptance is a manifest that a person has accepted.
type Acceptance struct {
	Plugin   string    `json:"plugin"`   // its name, 1 to 1024 bytes
	Manifest string    `json:"manifest"` // the manifest's hash, 1 to 1024 bytes
	At       time.Time `json:"at"`       // by Clock; set by Accept
}

const (
	acceptedName = "accepted"
	// acceptanceMax is the largest record in bytes: both names, if every byte of them is escaped.
	acceptanceMax = 16 << 10
)

// Accept records that the plugin's tools may be used as this manifest defines them. It holds for exactly that plugin
// and manifest, until Revoke. Accepting again does nothing more.
func (d *Dir) Accept(plugin, manifest string) error {
	a := Acceptance{Plugin: plugin, Manifest: manifest}
	if plugin == "" || manifest == "" || len(plugin) > nameMax || len(manifest) > nameMax ||
		!utf8.ValidString(plugin+manifest) {
		return fmt.Errorf("accepted manifest: a plugin and a hash have 1 to %d bytes of UTF-8", nameMax)
	}
	return d.useAccepted(func(s *session, f folder) error {
		if f.accepts(a) {
			return nil
		}
		a.At = s.now.UTC()
		data, err := json.Marshal(a)
		if err != nil {
			return fmt.Errorf("accepted manifest: %w", err)
		}
		return f.replace(a.fileName(), append(data, '\n'))
	})
}

// Accepted reports whether the plugin's manifest was accepted. A record that is damaged, or another's, accepts nothing.
// It makes nothing and waits for no lock.
func (d *Dir) Accepted(plugin, manifest string) (ok bool, err error) {
	err = d.look(acceptedName, func(f folder) error {
		ok = f.accepts(Acceptance{Plugin: plugin, Manifest: manifest})
		return nil
	})
	return ok, ignoreMissing(err)
}

// Revoke takes an acceptance back, also one that is not there.
func (d *Dir) Revoke(plugin, manifest string) error {
	return d.useAccepted(func(_ *session, f folder) error {
		return f.remove(Acceptance{Plugin: plugin, Manifest: manifest}.fileName())
	})
}

func (d *Dir) useAccepted(do func(*session, folder) error) error {
	return d.use(func(s *session) error {
		f, err := s.sub(acceptedName)
		if err != nil {
			return err
		}
		defer f.root.Close()
		return do(s, f)
	})
}

// fileName is that of the record.
func (a Acceptance) fileName() string { return fileName(a.Plugin + "\x00" + a.Manifest) }

// accepts reports whether the folder holds the record of a.
func (f folder) accepts(a Acceptance) bool {
	data, more, err := f.read(a.fileName(), acceptanceMax)
	if err != nil || more {
		return false
	}
	var got Acceptance
	return json.Unmarshal(data, &got) == nil && got.Plugin == a.Plugin && got.Manifest == a.Manifest && !got.At.IsZero()
}
