package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Who only reads leaves nothing behind, in a fresh home and in one where something is.
func TestReadingMakesNothing(t *testing.T) {
	reads := map[string]func(*Dir) error{
		"ReadIndex":   func(d *Dir) error { _, err := d.ReadIndex(); return err },
		"Quarantined": func(d *Dir) error { _, ok, err := d.Quarantined("p"); return said(ok, err) },
		"Quarantines": func(d *Dir) error { q, err := d.Quarantines(); return said(len(q) > 0, err) },
		"Release":     func(d *Dir) error { ok, err := d.Release("p"); return said(ok, err) },
		"Baseline":    func(d *Dir) error { _, ok, err := d.Baseline("p"); return said(ok, err) },
		"TrustedDir":  func(d *Dir) error { _, ok, err := d.TrustedDir("/p"); return said(ok, err) },
		"TrustedDirs": func(d *Dir) error { all, err := d.TrustedDirs(); return said(len(all) > 0, err) },
		"UntrustDir":  func(d *Dir) error { ok, err := d.UntrustDir("/p"); return said(ok, err) },
		"Hosts":       func(d *Dir) error { all, err := d.Hosts(); return said(len(all) > 0, err) },
		"Accepted":    func(d *Dir) error { ok, err := d.Accepted("p", "h"); return said(ok, err) },
		"Pending":     func(d *Dir) error { all, bad, err := d.Pending(); return said(len(all)+len(bad) > 0, err) },
		"Spent":       func(d *Dir) error { _, ok, err := d.Spent("id"); return said(ok, err) },
		"Sweep":       func(d *Dir) error { n, err := d.Sweep(nil); return said(n > 0, err) },
		"Preflight":   func(d *Dir) error { return d.Preflight() },
		"Stored": func(d *Dir) error {
			_, err := d.Stored([32]byte{})
			return said(!errors.Is(err, fs.ErrNotExist), nil)
		},
	}
	for name, do := range reads {
		home := t.TempDir()
		d, _ := openDir(t, filepath.Join(home, "a", "state"))
		if err := do(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(home); len(left) > 0 {
			t.Errorf("%s made %v", name, left)
		}
		must(t, os.MkdirAll(d.path, 0o700))
		if err := do(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(d.path); len(left) > 0 {
			t.Errorf("%s made %v in the directory", name, left)
		}
		if !modes {
			continue
		}
		must(t, os.Chmod(d.path, 0o777))
		if err := do(d); name != "Pending" && name != "Spent" && name != "Stored" {
			as[*UnsafeError](t, err)
		}
	}
}

func said(something bool, err error) error {
	if err == nil && something {
		return errors.New("says that there is something")
	}
	return err
}
