package state

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestK7_Quarantine(t *testing.T) {
	d, c := newDir(t)
	sum := strings.Repeat("ab", 32)
	check := func(plugin string, want *Quarantine) {
		t.Helper()
		again, _ := openDir(t, d.path) // as a restarted host does
		got, ok, err := again.Quarantined(plugin)
		if err != nil || ok != (want != nil) || ok && got != *want {
			t.Errorf("%s: %v, %t, %v; want %v", plugin, got, ok, err, want)
		}
	}
	check("weather", nil)
	q := Quarantine{Plugin: "weather", Program: sum, Reason: "died 5 times in a row: \x1b[31mexit status 2"}
	must(t, d.SetQuarantine(q))
	q.At = c.t
	check("weather", &q)
	check("Weather", nil)
	c.t = c.t.Add(time.Hour)
	must(t, d.SetQuarantine(Quarantine{Plugin: "weather", Reason: strings.Repeat("\xffx", 2500)}))
	must(t, d.SetQuarantine(Quarantine{Plugin: "../a", Reason: strings.Repeat("é", 5000)}))
	all, err := d.Quarantines()
	if err != nil || len(all) != 2 || all[0].Plugin != "../a" || all[1].Program != "" || !all[1].At.Equal(c.t) {
		t.Error(all, err)
	}
	for _, q := range all {
		if len(q.Reason) > reasonMax || len(q.Reason) < reasonMax-3 {
			t.Errorf("%d bytes of reason", len(q.Reason))
		}
	}
	for _, want := range []bool{true, false} {
		if ok, err := d.Release("weather"); ok != want || err != nil {
			t.Error(ok, err)
		}
	}
	check("weather", nil)
	for _, bad := range []Quarantine{{}, {Plugin: "\xff"}, {Plugin: strings.Repeat("x", nameMax+1)}, {Plugin: "x", Program: "ab"}, {Plugin: "x", Program: strings.Repeat("x", 64)}} {
		if d.SetQuarantine(bad) == nil {
			t.Errorf("%.20v was recorded", bad)
		}
	}
}

func TestT19_Baseline(t *testing.T) {
	d, c := newDir(t)
	if b, ok, err := d.Baseline("p"); ok || err != nil {
		t.Error(b, ok, err)
	}
	want := Baseline{Plugin: "p", Manifest: bytes.Repeat([]byte("\x00\xff"), MaxManifest/2)}
	must(t, d.SetBaseline(Baseline{Plugin: "p", Manifest: []byte("old")}))
	must(t, d.SetBaseline(want))
	if got, ok, err := d.Baseline("p"); !ok || err != nil || got.Plugin != "p" || !got.At.Equal(c.t) || !bytes.Equal(got.Manifest, want.Manifest) {
		t.Error(len(got.Manifest), ok, err)
	}
	if _, ok, _ := d.Baseline("P"); ok {
		t.Error("another's")
	}
	want.Manifest = append(want.Manifest, 0)
	as[*TooLargeError](t, d.SetBaseline(want))
	if d.SetBaseline(Baseline{}) == nil {
		t.Error("no name was recorded")
	}
	for _, want := range []bool{true, false} {
		if ok, err := d.DropBaseline("p"); ok != want || err != nil {
			t.Error(ok, err)
		}
	}
	if _, ok, err := d.Baseline("p"); ok || err != nil {
		t.Error(ok, err)
	}
}

func TestT51_TrustedDir(t *testing.T) {
	d, c := newDir(t)
	must(t, d.TrustDir("/home/x/repo", "hash"))
	must(t, d.TrustDir("/b\xff", "other"))
	must(t, d.TrustDir("/b\xff", "newer"))
	for path, want := range map[string]string{
		"/home/x/repo": "hash", "/b\xff": "newer", // and none of its neighbours
		"/home/x": "", "/": "", "/home/x/repo/sub": "", "/home/x/repo/": "", "/home/x/./repo": "", "/home/x/Repo": "", "repo": "", "/b\xfe": "", "/b\uFFFD": "", "": "",
	} {
		if hash, ok, err := d.TrustedDir(path); hash != want || ok != (want != "") || err != nil {
			t.Errorf("%q: %q, %t, %v; want %q", path, hash, ok, err, want)
		}
	}
	all, err := d.TrustedDirs()
	if diff := cmp.Diff([]Trust{{"/b\xff", "newer", c.t}, {"/home/x/repo", "hash", c.t}}, all); diff != "" || err != nil {
		t.Error(diff, err)
	}
	for _, want := range []bool{true, false} {
		if ok, err := d.UntrustDir("/home/x/repo"); ok != want || err != nil {
			t.Error(ok, err)
		}
	}
	if _, ok, _ := d.TrustedDir("/home/x/repo"); ok {
		t.Error("still trusted")
	}
	for _, bad := range []struct{ path, hash string }{
		{"", "h"}, {"repo", "h"}, {".", "h"}, {"/a/", "h"}, {"/a/../b", "h"}, {"/a", ""}, {"/a", strings.Repeat("x", nameMax+1)}, {"/" + strings.Repeat("x", pathMax), "h"},
	} {
		if d.TrustDir(bad.path, bad.hash) == nil {
			t.Errorf("%.20v was recorded", bad)
		}
	}
}

// T43: names that lead somewhere else lead nowhere, and each has a file of its own, for this user alone.
func TestT43_RecordNames(t *testing.T) {
	d, _ := newDir(t)
	names := []string{"..", "../../x", "/etc/passwd", "CON", "a", "A", "a\x00b", strings.Repeat("x", nameMax), "é", "e\u0301"}
	for _, name := range names {
		must(t, d.SetQuarantine(Quarantine{Plugin: name, Reason: name}))
		must(t, d.SetBaseline(Baseline{Plugin: name, Manifest: []byte(name)}))
	}
	for _, name := range names {
		q, ok, err := d.Quarantined(name)
		b, there, err2 := d.Baseline(name)
		if !ok || !there || err != nil || err2 != nil || q.Plugin != name || string(b.Manifest) != name {
			t.Errorf("%.20q: %v %v %v %v", name, q, err, b, err2)
		}
	}
	for _, folder := range []string{quarantineName, baselineName} {
		entries, err := os.ReadDir(filepath.Join(d.path, folder))
		must(t, err)
		if len(entries) != len(names) {
			t.Errorf("%s: %d files", folder, len(entries))
		}
		for _, e := range entries {
			if info, _ := e.Info(); len(e.Name()) != 64 || modes && info.Mode() != 0o600 {
				t.Errorf("%s: %v %v", folder, e.Name(), info.Mode())
			}
		}
	}
}

// What cannot be read as a record trusts nothing, keeps a plugin in quarantine, and is said to be damaged.
func TestRecord_Damaged(t *testing.T) {
	damages := map[string]func(path string) error{
		"empty":   func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"cut":     func(p string) error { return os.Truncate(p, 10) },
		"another": func(p string) error { return os.WriteFile(p, []byte(`{"plugin":"q","path":"L3E=","hash":"h"}`), 0o600) },
		"null":    func(p string) error { return os.WriteFile(p, []byte(`null`), 0o600) },
		"huge":    func(p string) error { return os.Truncate(p, 64<<20) },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			d, _ := newDir(t)
			for _, plugin := range []string{"p", "whole"} {
				must(t, d.SetQuarantine(Quarantine{Plugin: plugin}))
				must(t, d.SetBaseline(Baseline{Plugin: plugin}))
				must(t, d.TrustDir("/"+plugin, "h"))
			}
			for folder, id := range map[string]string{quarantineName: "p", baselineName: "p", trustedName: "/p"} {
				must(t, damage(filepath.Join(d.path, folder, fileName(id))))
			}
			q, ok, err := d.Quarantined("p")
			if !ok || err != nil || q.Plugin != "p" || q.Program != "" || !strings.Contains(q.Reason, "damaged") {
				t.Error(q, ok, err)
			}
			_, ok, err = d.Baseline("p")
			if e := as[*CorruptError](t, err); ok || e.Fix == "" {
				t.Error(ok, err)
			}
			if hash, ok, err := d.TrustedDir("/p"); hash != "" || ok || err != nil {
				t.Error(hash, ok, err)
			}
			quarantines, err := d.Quarantines()
			if as[*CorruptError](t, err); len(quarantines) != 1 || quarantines[0].Plugin != "whole" {
				t.Error(quarantines)
			}
			dirs, err := d.TrustedDirs()
			if as[*CorruptError](t, err); len(dirs) != 1 || dirs[0].Path != "/whole" {
				t.Error(dirs)
			}
			for _, drop := range []func() (bool, error){
				func() (bool, error) { return d.Release("p") },
				func() (bool, error) { return d.DropBaseline("p") },
				func() (bool, error) { return d.UntrustDir("/p") },
			} {
				if ok, err := drop(); !ok || err != nil {
					t.Error(ok, err)
				}
			}
			if _, ok, _ := d.Quarantined("p"); ok {
				t.Error("still in quarantine")
			}
			if _, ok, err := d.Baseline("p"); ok || err != nil {
				t.Error(ok, err)
			}
		})
	}
}

func TestRecord_AtOnce(t *testing.T) {
	d, _ := newDir(t)
	var all sync.WaitGroup
	for range 6 {
		other, _ := openDir(t, d.path)
		all.Go(func() {
			for _, plugin := range []string{"a", "b"} {
				if err := other.SetQuarantine(Quarantine{Plugin: plugin}); err != nil {
					t.Error(err)
				}
				if q, ok, err := other.Quarantined(plugin); !ok || err != nil || q.Plugin != plugin || q.At.IsZero() {
					t.Error(q, ok, err)
				}
			}
		})
	}
	all.Wait()
}
