package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// T43: whatever an id, a name or a hash is, everything that is kept of it is in files of the directory that are named after
// hashes, and what is asked for is what was put there.
func FuzzT43_Ids(f *testing.F) {
	for _, id := range []string{
		"../../x", "/etc/passwd", "a/../../b", "a\x00b", "CON", "nul.txt", ".new", "lock", "key", "\xff", "..", ".", "~", "a\nb", strings.Repeat("x", 1024),
		`..\..\x`, "C:\\x", "\u202ex", "пlugin", "-rf", "$(id)", "clock", "spent", strings.Repeat("a", 64),
	} {
		f.Add(id)
	}
	fixed := map[string]bool{
		"key": true, "clock": true, "lock": true, spentName: true, pendingName: true, acceptedName: true, quarantineName: true, baselineName: true,
		trustedName: true, hostsName: true,
	}
	memory := "/dev/shm" // what is written is synced: on a disk that is slow
	if _, err := os.Stat(memory); err != nil {
		memory = f.TempDir()
	}
	f.Fuzz(func(t *testing.T, id string) {
		base, err := os.MkdirTemp(memory, "ids")
		must(t, err)
		at := filepath.Join(base, "deep", "below", "state")
		d, err := Open(at)
		must(t, err)
		when := time.Now().Add(time.Hour)
		// What is not taken, such as an empty name, is an error and nothing else.
		put := d.PutPending(Entry{ID: id, Caller: id, Body: []byte(id), Expires: when})
		spend := d.Spend(id, Record{Decision: Approved, Expires: when})
		accept := d.Accept(id, id)
		held := d.SetQuarantine(Quarantine{Plugin: id, Reason: id})
		based := d.SetBaseline(Baseline{Plugin: id, Manifest: []byte(id)})
		_ = d.TrustDir(id, id)
		_, _, _ = d.TrustedDir(id)
		announced, err := d.Announce(LiveHost{Program: id, Plugins: []LivePlugin{{Name: id, State: id}}})
		must(t, err)
		if e, err := d.TakePending(id); put == nil && (err != nil || e.ID != id) {
			t.Errorf("pending: %+v, %v", e, err)
		}
		if _, ok, err := d.Spent(id); spend == nil && (err != nil || !ok) {
			t.Errorf("spent: %t, %v", ok, err)
		}
		if ok, err := d.Accepted(id, id); err != nil || ok != (accept == nil) {
			t.Errorf("accepted: %t, %v, %v", ok, err, accept)
		}
		if q, ok, err := d.Quarantined(id); held == nil && (err != nil || !ok || q.Plugin != id) {
			t.Errorf("quarantine: %+v, %v", q, err)
		}
		if b, ok, err := d.Baseline(id); based == nil && (err != nil || !ok || b.Plugin != id) {
			t.Errorf("baseline: %+v, %v", b, err)
		}
		must(t, filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(at, path)
			name := e.Name()
			if rel == "." || strings.HasPrefix(at, path) || fixed[name] && filepath.Dir(rel) == "." {
				return err
			}
			if len(name) != 64 || strings.Trim(name, "0123456789abcdef") != "" || strings.HasPrefix(rel, "..") {
				t.Errorf("%q made %q", id, rel)
			}
			return err
		}))
		_, err = d.Release(id)
		must(t, errors.Join(err, announced.Close(), os.RemoveAll(base)))
	})
}
