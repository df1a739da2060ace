package state

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

const (
	clockName = "clock"
	// clockStep is how far time must move on before it is written down.
	clockStep = time.Second
)

// Clock is the time by which things expire: that of the machine, but never
// before the highest time seen in this directory, to the second (T30). What
// expires is to be dated by it, so that a clock that was once far ahead, and
// stays so here, shortens nothing.
func (d *Dir) Clock() (now time.Time, err error) {
	err = d.use(func(s *session) error {
		now = s.now
		return nil
	})
	return now, err
}

// readClock sets s.now, and writes it down if it is the highest time seen.
func (s *session) readClock() error {
	s.wall = s.wall.UTC().Round(0) // without the monotonic reading
	s.now = s.wall
	data, _, err := s.read(clockName, 64)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var seen time.Time
	if err == nil {
		if seen, err = time.Parse(time.RFC3339Nano, strings.TrimSuffix(string(data), "\n")); err != nil {
			return &CorruptError{filepath.Join(s.path, clockName), err,
				"remove it, and with it the knowledge whether the clock was set back"}
		}
	}
	if seen.After(s.now) {
		s.now = seen.UTC()
	}
	if s.now.Sub(seen) < clockStep {
		return nil
	}
	return s.replace(clockName, []byte(s.now.Format(time.RFC3339Nano)+"\n"))
}

// expired returns an error if the time t is over.
func (s *session) expired(t time.Time) error {
	if t.After(s.now) {
		return nil
	}
	return &ExpiredError{Expires: t, Now: s.now, Wall: s.wall}
}
