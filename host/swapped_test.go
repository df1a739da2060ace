//go:build unix

package host_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// S7: a binary that is swapped all the time, by rename and in place, is run with the bytes that the lock names or not at
// all.
func TestS7_SwappedBetweenCheckAndRun(t *testing.T) {
	p, path := versioned(t, "1")
	good := read(t, path)
	install(t, path, "2")
	bad := read(t, path)
	sum := sha256.Sum256(good)
	lock := map[string]string{"test": hex.EncodeToString(sum[:])}
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	defer swapper.Wait()
	defer close(stop)
	swapper.Go(func() { // ends with stop
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if i%3 == 2 {
				_ = os.WriteFile(path, [][]byte{good, bad}[i%2], 0o700) // in place: cut, then half written
				continue
			}
			_ = os.WriteFile(path+".new", [][]byte{good, bad}[i%2], 0o700)
			_ = os.Rename(path+".new", path)
		}
	})
	ran, refused := 0, 0
	for range 300 {
		h, err := host.Open(t.Context(), host.Config{StateDir: t.TempDir(), Lock: lock, Plugins: []host.Plugin{p}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := h.Call(t.Context(), host.Call{Tool: "test/version"})
		h.Close()
		switch {
		case err != nil:
			refused++
		case string(res.Output) != `"1"`:
			t.Fatalf("version %s ran", res.Output)
		default:
			ran++
		}
		if ran > 0 && refused > 1 {
			break
		}
	}
	t.Logf("ran %d times, refused %d times", ran, refused)
	if refused == 0 {
		t.Error("the swapper never came in between")
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// D8: in a reload of many plugins, one whose new version is broken is named and keeps its old one; the others are
// replaced.
func TestD8_OneFailureDoesNotEndTheBatch(t *testing.T) {
	var plugins []host.Plugin
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		p := self(name, "version")
		p.Path = filepath.Join(dir, name)
		install(t, p.Path, "1")
		plugins = append(plugins, p)
	}
	h := open(t, host.Config{StateDir: t.TempDir()}, plugins...)
	versions := func() (all string) {
		for _, p := range plugins {
			all += string(call(t, h, p.Name+"/version", `{}`).Output)
		}
		return all
	}
	if got := versions(); got != `"1""1""1"` {
		t.Fatal(got)
	}
	install(t, plugins[0].Path, "2")
	install(t, plugins[1].Path, "2 exits")
	install(t, plugins[2].Path, "2")
	err := h.Reload(t.Context())
	if err == nil || !strings.Contains(err.Error(), " b: ") || strings.Contains(err.Error(), " a: ") || strings.Contains(err.Error(), " c: ") {
		t.Errorf("reload: %v", err)
	}
	if got := versions(); got != `"2""1""2"` {
		t.Error(got)
	}
}
