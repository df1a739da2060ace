//go:build unix

package host_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

func TestD1_D2_D3_DiscoverTakesOnlyPlugins(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	put := func(dir, name string, body []byte, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), body, mode); err != nil {
			t.Fatal(err)
		}
	}
	put(dir, "toolplugin-good", bin, 0o755)
	put(dir, "toolplugin-script", []byte("#!/bin/sh\ntouch marker\n"), 0o755)
	put(dir, "toolplugin-text", []byte("hello"), 0o755)
	put(dir, "toolplugin-empty", nil, 0o755)
	put(dir, "toolplugin-plain", bin, 0o644)
	put(dir, "toolplugin-cut", bin[:5000], 0o755)
	put(dir, "other", bin, 0o755)
	for _, name := range []string{"\x1b[31mred", "wеather", "a\u202eb", "old.bak", "", strings.Repeat("x", 65), "a b"} { // T18; one letter is Cyrillic
		put(dir, "toolplugin-"+name, bin, 0o755)
	}
	put(outside, "toolplugin-out", bin, 0o755)
	for link, target := range map[string]string{
		"toolplugin-inside": "toolplugin-good", "toolplugin-outside": filepath.Join(outside, "toolplugin-out"),
		"toolplugin-broken": "nowhere", "toolplugin-loop": "toolplugin-loop", "toolplugin-c": "/bin/sleep",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "toolplugin-dir"), 0o755), syscall.Mkfifo(filepath.Join(dir, "toolplugin-fifo"), 0o755)); err != nil {
		t.Fatal(err)
	}

	found, err := host.Discover(dir, filepath.Join(dir, "missing"))
	var names []string
	for _, p := range found {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"good", "inside"}, names); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"script", "text", "empty", "plain", "cut", "outside", "broken", "loop", "c", "dir", "fifo"} {
		if !strings.Contains(err.Error(), "toolplugin-"+bad+":") {
			t.Errorf("the error does not name %s", bad)
		}
	}
	if n := strings.Count(err.Error(), "use 1 to 64 letters"); n != 7 || !strings.Contains(err.Error(), `"a\u202eb"`) {
		t.Errorf("%d names were refused: %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "marker")); err == nil {
		t.Error("a script was run")
	}
}

func TestSHA256_AMismatchNamesBothAndTheRemedy(t *testing.T) {
	p := self("test", "")
	p.SHA256 = strings.Repeat("0", 64)
	h := open(t, host.Config{Eager: true}, p)
	if s := status(t, h); !strings.Contains(s.Error, p.SHA256) || !strings.Contains(s.Error, "sha256") {
		t.Errorf("got %q", s.Error)
	}
}

// S8: bytes that are not the expected ones are no death of the plugin: nothing keeps it from starting when they are accepted.
func TestS8_AMismatchIsNotHeldAgainstThePlugin(t *testing.T) {
	dir := t.TempDir()
	h := open(t, host.Config{StateDir: dir, Lock: map[string]string{"test": strings.Repeat("0", 64)}})
	for range 8 {
		e := fails(t, h, "pid", `{}`, host.NotFound, host.NotStarted) // nothing is known of its tools
		if !strings.Contains(e.Error(), "toolhost lock accepts the new one") {
			t.Errorf("%v", e)
		}
	}
	if s := status(t, h); s.State != host.Crashed || s.Restarts != 0 || s.PID != 0 {
		t.Errorf("%+v", s)
	}
	h.Close()
	call(t, open(t, host.Config{StateDir: dir}), "pid", `{}`)
}

func TestOpen_ConfigErrors(t *testing.T) {
	for name, p := range map[string]host.Plugin{
		"no path": {Name: "x"}, "slash": {Name: "a/b", Path: "/x"}, "sandbox": {Name: "x", Path: "/x", Sandbox: host.Sandbox{Profile: "paper"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := host.Open(t.Context(), host.Config{Plugins: []host.Plugin{p}}); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestN12_ANamedPluginWinsOverAFoundOneWithAWarning(t *testing.T) {
	dir := t.TempDir()
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := os.ReadFile(me)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"toolplugin-one", "toolplugin-two"} {
		if err := os.WriteFile(filepath.Join(dir, name), bin, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	log := &syncBuffer{}
	cfg := host.Config{Dirs: []string{dir}, Logger: slog.New(slog.NewTextHandler(log, nil))}
	h := open(t, cfg, self("one", "other"), host.Plugin{Name: "two", Path: filepath.Join(dir, "toolplugin-two")})
	var paths []string
	for p := range h.Plugins() {
		paths = append(paths, p.Name+" "+p.Path)
	}
	if diff := cmp.Diff([]string{"one " + me, "two " + filepath.Join(dir, "toolplugin-two")}, paths); diff != "" {
		t.Error(diff)
	}
	h.Close()
	if got := log.String(); !strings.Contains(got, "plugin=one") || strings.Contains(got, "plugin=two") {
		t.Errorf("the warning: %s", got)
	}
}
