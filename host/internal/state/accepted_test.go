package state

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestT16_Accepted(t *testing.T) {
	d, _ := newDir(t)
	check := func(plugin, manifest string, want bool) {
		t.Helper()
		again, _ := openDir(t, d.path)
		if got, err := again.Accepted(plugin, manifest); got != want || err != nil {
			t.Errorf("%s %s: %t, %v", plugin, manifest, got, err)
		}
	}
	check("weather", "aa", false)
	must(t, d.Accept("weather", "aa"))
	must(t, d.Accept("weather", "aa"))
	check("weather", "aa", true)
	check("weather", "ab", false)
	check("weathe", "raa", false)
	check("other", "aa", false)
	must(t, d.Revoke("weather", "aa"))
	must(t, d.Revoke("weather", "aa"))
	check("weather", "aa", false)
	for _, a := range []Acceptance{{}, {Plugin: "x"}, {Manifest: "x"}, {Plugin: string(make([]byte, nameMax+1)), Manifest: "x"}} {
		if d.Accept(a.Plugin, a.Manifest) == nil {
			t.Errorf("%.20q was accepted", a)
		}
	}
}

func TestT16_AcceptedFileIsPrivateAndExact(t *testing.T) {
	d, _ := newDir(t)
	must(t, d.Accept("../../weather", "aa"))
	path := filepath.Join(d.path, acceptedName, Acceptance{Plugin: "../../weather", Manifest: "aa"}.fileName())
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if modes && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for _, damage := range []string{"", "{}", `{"plugin":"../../weather","manifest":"ab","at":"2030-01-01T00:00:00Z"}`, `{"plugin":"../../weather","manif`} {
		must(t, os.WriteFile(path, []byte(damage), 0o600))
		if ok, err := d.Accepted("../../weather", "aa"); ok || err != nil {
			t.Errorf("%s: %t, %v", damage, ok, err)
		}
	}
	must(t, d.Accept("../../weather", "aa")) // over what is damaged
	if ok, err := d.Accepted("../../weather", "aa"); !ok || err != nil {
		t.Error(ok, err)
	}
	if !modes {
		return
	}
	must(t, os.Chmod(path, 0o644))
	if ok, _ := d.Accepted("../../weather", "aa"); ok {
		t.Error("a file that others can read accepts")
	}
}

func TestT16_AcceptAtOnce(t *testing.T) {
	d, _ := newDir(t)
	var all sync.WaitGroup
	for range 8 {
		other, _ := openDir(t, d.path)
		all.Go(func() {
			if err := other.Accept("p", "h"); err != nil {
				t.Error(err)
			}
			if ok, err := other.Accepted("p", "h"); !ok || err != nil {
				t.Error(ok, err)
			}
		})
	}
	all.Wait()
}
