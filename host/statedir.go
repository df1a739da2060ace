package host

import (
	"encoding/hex"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/host/internal/state"
)

// StateDir is a state directory for those who have no host: what was trusted, what is in quarantine, which hosts live. Its
// methods may be called at any time, also while hosts use the directory. Those that only ask make nothing.
type StateDir struct{ dir *state.Dir }

// OpenStateDir returns the directory at a path; if it is empty, the user's. It does no I/O.
func OpenStateDir(path string) (*StateDir, error) {
	dir, err := state.Open(path)
	if err != nil {
		return nil, err
	}
	return &StateDir{dir}, nil
}

// TrustedDir is a directory whose content a person trusts (T51).
type TrustedDir struct {
	Path string    `json:"path"`
	Hash string    `json:"hash"`
	At   time.Time `json:"at"`
}

// TrustDir records that a person trusts what is in a directory, as long as its content has this hash, which who asks
// computes. All names that links give a directory are one; a directory below it is another.
func (s *StateDir) TrustDir(path, hash string) error {
	real, err := realPath(path)
	if err != nil {
		return err
	}
	return s.dir.TrustDir(real, hash)
}

// TrustedDir returns the hash with which a directory was trusted, and whether it was.
func (s *StateDir) TrustedDir(path string) (hash string, ok bool, err error) {
	real, err := realPath(path)
	if err != nil {
		return "", false, err
	}
	return s.dir.TrustedDir(real)
}

// UntrustDir takes the trust back, and tells whether there was any. The directory may be gone.
func (s *StateDir) UntrustDir(path string) (bool, error) {
	real, err := realPath(path)
	if err != nil {
		real, err = filepath.Abs(path)
	}
	if err != nil {
		return false, err
	}
	return s.dir.UntrustDir(real)
}

// TrustedDirs lists all, by path. The error may come with those that could be read.
func (s *StateDir) TrustedDirs() ([]TrustedDir, error) {
	var all []TrustedDir
	trusted, err := s.dir.TrustedDirs()
	for _, t := range trusted {
		all = append(all, TrustedDir(t))
	}
	return all, err
}

// Quarantine is why a plugin is not started any more.
type Quarantine struct {
	Plugin  string    `json:"plugin"`
	Program string    `json:"program,omitempty"` // SHA-256 of the binary that it is about, in hex; another one is started
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
}

// Quarantines lists all, by plugin. The error may come with those that could be read.
func (s *StateDir) Quarantines() ([]Quarantine, error) {
	var all []Quarantine
	held, err := s.dir.Quarantines()
	for _, q := range held {
		all = append(all, toQuarantine(q))
	}
	return all, err
}

// Release ends the quarantine of a plugin, and forgets what the program registered before. It returns what it was, and
// whether there was one. Hosts that run see it at the next call.
func (s *StateDir) Release(plugin string) (Quarantine, bool, error) {
	was, _, err := s.dir.Quarantined(plugin)
	if err != nil {
		return Quarantine{}, false, err
	}
	ok, err := s.dir.Release(plugin)
	if key, keyErr := hex.DecodeString(was.Conditions); err == nil && keyErr == nil && len(key) == len(state.Key{}) {
		err = s.dir.UpdateIndex(func(u *state.IndexUpdate) { u.ForgetManifest(state.Key(key)) })
	}
	return toQuarantine(was), ok, err
}

func toQuarantine(q state.Quarantine) Quarantine {
	return Quarantine{Plugin: q.Plugin, Program: q.Program, Reason: q.Reason, At: q.At}
}

// LiveHost is a host of this user that runs.
type LiveHost struct {
	PID     int          `json:"pid"`
	Started time.Time    `json:"started"`
	Program string       `json:"program"`
	Plugins []LivePlugin `json:"plugins"`
}

// LivePlugin is a plugin of a LiveHost.
type LivePlugin struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	PID   int    `json:"pid,omitempty"` // 0: no process
}

// Hosts lists the hosts of this user that live and use the directory, the oldest first.
func (s *StateDir) Hosts() ([]LiveHost, error) {
	all := []LiveHost{}
	hosts, err := s.dir.Hosts()
	for _, h := range hosts {
		live := LiveHost{PID: h.PID, Started: h.Started, Program: h.Program, Plugins: []LivePlugin{}}
		for _, p := range h.Plugins {
			live.Plugins = append(live.Plugins, LivePlugin{p.Name, State(p.State), p.PID})
		}
		all = append(all, live)
	}
	return all, err
}

// realPath is the one absolute path of what may have many.
func realPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}
