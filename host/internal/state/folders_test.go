//go:build unix

package state

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that others can write to, own, or that leads out is used for nothing, and nothing is written behind it.
func TestT55_FoldersRefused(t *testing.T) {
	src := program(t, []byte("x"))
	uses := map[string]map[string]func(*Dir) error{
		binariesName: {
			"Store":  func(d *Dir) error { _, err := d.Store(src); return err },
			"Stored": func(d *Dir) error { _, err := d.Stored([32]byte{}); return err },
			"Sweep":  func(d *Dir) error { _, err := d.Sweep(nil); return err },
		},
		hostsName: {
			"Announce": func(d *Dir) error { _, err := d.Announce(LiveHost{}); return err },
			"Hosts":    func(d *Dir) error { _, err := d.Hosts(); return err },
		},
		quarantineName: {
			"SetQuarantine": func(d *Dir) error { return d.SetQuarantine(Quarantine{Plugin: "p"}) },
			"Quarantined":   func(d *Dir) error { _, _, err := d.Quarantined("p"); return err },
			"Quarantines":   func(d *Dir) error { _, err := d.Quarantines(); return err },
			"Release":       func(d *Dir) error { _, err := d.Release("p"); return err },
		},
		baselineName: {
			"SetBaseline": func(d *Dir) error { return d.SetBaseline(Baseline{Plugin: "p"}) },
			"Baseline":    func(d *Dir) error { _, _, err := d.Baseline("p"); return err },
		},
		trustedName: {
			"TrustDir":    func(d *Dir) error { return d.TrustDir("/p", "h") },
			"TrustedDir":  func(d *Dir) error { _, _, err := d.TrustedDir("/p"); return err },
			"TrustedDirs": func(d *Dir) error { _, err := d.TrustedDirs(); return err },
		},
	}
	spoils := map[string]func(path, outside string) error{
		"can be written by others": func(p, _ string) error { return errors.Join(os.Mkdir(p, 0o700), os.Chmod(p, 0o777)) },
		"escapes":                  func(p, o string) error { return os.Symlink(o, p) },
	}
	if os.Geteuid() == 0 {
		spoils["belongs to another user"] = func(p, _ string) error { return errors.Join(os.Mkdir(p, 0o700), os.Chown(p, 65534, 65534)) }
	}
	for folder, all := range uses {
		for says, spoil := range spoils {
			d, _ := newDir(t)
			_, err := d.Clock()
			must(t, err)
			outside := t.TempDir()
			must(t, spoil(filepath.Join(d.path, folder), outside))
			for name, use := range all {
				if err := use(d); err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%s: %v, want %q", name, err, says)
				}
			}
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("%s: written outside: %v", folder, left)
			}
		}
	}
}
