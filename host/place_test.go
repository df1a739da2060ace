//go:build unix

package host_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// lay makes base/a/b with a file of the name in it, and returns its path.
func lay(t *testing.T, name, text string) (base, file string) {
	t.Helper()
	base = t.TempDir()
	dir := filepath.Join(base, "a", "b")
	file = filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(file, []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
	return base, file
}

func TestT55_PlacesThatOthersCanChange(t *testing.T) {
	chmod := func(path string, mode os.FileMode) func(string) error {
		return func(base string) error { return os.Chmod(filepath.Join(base, path), mode) }
	}
	for _, tt := range []struct {
		name, at, says string // at: what the error names, below base; empty: it is fine
		root           bool   // needs to be root
		spoil          func(base string) error
	}{
		{name: "as it should be", spoil: func(string) error { return nil }},
		{name: "file, other", at: "a/b/f", says: "chmod go-w", spoil: chmod("a/b/f", 0o757)},
		{name: "file, own group", spoil: chmod("a/b/f", 0o775)},
		{name: "directory, other", at: "a/b", says: "(mode 0777)", spoil: chmod("a/b", 0o777)},
		{name: "parent, other", at: "a", says: "other users can write to it: chmod go-w", spoil: chmod("a", 0o707)},
		{name: "parent, sticky", spoil: chmod("a", fs.ModeSticky|0o777)},
		{name: "file, sticky does not count", at: "a/b/f", says: "(mode 1757)", spoil: chmod("a/b/f", fs.ModeSticky|0o757)},
		{name: "file, foreign group", at: "a/b/f", says: "group 12345 can write", root: true, spoil: func(b string) error {
			return errors.Join(os.Chown(b+"/a/b/f", 0, 12345), os.Chmod(b+"/a/b/f", 0o775))
		}},
		{name: "file, foreign group that only reads", root: true, spoil: func(b string) error { return os.Chown(b+"/a/b/f", 0, 12345) }},
		{name: "parent, foreign group, sticky", root: true, spoil: func(b string) error {
			return errors.Join(os.Chown(b+"/a", 0, 12345), os.Chmod(b+"/a", fs.ModeSticky|0o775))
		}},
		{name: "parent, another owner", at: "a", says: "belongs to user 12345", root: true, spoil: func(b string) error { return os.Chown(b+"/a", 12345, 0) }},
		{name: "link, another owner", at: "a/b", says: "belongs to user 12345", root: true, spoil: func(b string) error {
			return errors.Join(os.Rename(b+"/a/b", b+"/real"), os.Symlink("../real", b+"/a/b"), os.Lchown(b+"/a/b", 12345, 0))
		}},
		{name: "link to a good place", spoil: func(b string) error {
			return errors.Join(os.Rename(b+"/a/b", b+"/real"), os.Symlink("./.././real", b+"/a/b"))
		}},
		{name: "link to a bad place", at: "bad", says: "chmod go-w", spoil: func(b string) error {
			return errors.Join(os.Mkdir(b+"/bad", 0o755), os.Chmod(b+"/bad", 0o777), os.Rename(b+"/a/b", b+"/bad/b"), os.Symlink(b+"/bad/b", b+"/a/b"))
		}},
		{name: "link through a bad place", at: "bad", says: "chmod go-w", spoil: func(b string) error {
			return errors.Join(os.Mkdir(b+"/bad", 0o755), os.Chmod(b+"/bad", 0o777), os.Rename(b+"/a/b", b+"/real"),
				os.Symlink("../bad/x", b+"/a/b"), os.Symlink("../real", b+"/bad/x"))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			base, file := lay(t, "f", "")
			if err := tt.spoil(base); err != nil {
				t.Fatal(err)
			}
			err := host.CheckPlace(file)
			if tt.at == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*host.PlaceError](err)
			if !ok || e.Path != filepath.Join(base, tt.at) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %s and %q", err, tt.at, tt.says)
			}
		})
	}
}

// What a plugin starts in turn, such as the server that it imports, is held to the same (T55).
func TestT55_ProgramsOfAPlugin(t *testing.T) {
	base, server := lay(t, "server", "#!/bin/sh\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := host.Plugin{Name: "p", Path: self, Programs: []string{server}}
	if err := host.Check(p); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(server, 0o757); err != nil {
		t.Fatal(err)
	}
	for says, program := range map[string]string{
		`its program "npx" is not in PATH`:             "npx",
		"its program " + base + "/gone does not exist": base + "/gone",
		"its program: " + server + " (mode 0757)":      server,
	} {
		p.Programs = []string{program}
		if err := host.Check(p); err == nil || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("Check: got %v, want %s…", err, says)
		}
		h, err := host.Open(t.Context(), host.Config{StateDir: t.TempDir(), Plugins: []host.Plugin{p}, Eager: true})
		if err != nil {
			t.Fatal(err)
		}
		for s := range h.Plugins() {
			if !strings.Contains(s.Error, says) {
				t.Errorf("status: got %q, want %s", s.Error, says)
			}
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestT55_LinksThatGoRound(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("loop", filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	if err := host.CheckPlace(filepath.Join(dir, "loop")); err == nil {
		t.Error("no error")
	}
	if err := host.CheckPlace(filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestT55_InterpretersAreCheckedToo(t *testing.T) {
	base, sh := lay(t, "sh", "\x7fELF")
	script := func(line string) string {
		path := filepath.Join(t.TempDir(), "toolplugin-script")
		if err := os.WriteFile(path, []byte(line+"\necho\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	direct, byEnv, byPath := script("#!"+sh+" -e"), script("#!/usr/bin/env -S X=1 sh -u"), script("#! "+script("#!"+sh))
	t.Setenv("PATH", filepath.Dir(sh))
	for _, path := range []string{direct, byEnv, byPath} {
		if err := host.CheckPluginPlace(path); err != nil {
			t.Errorf("a good interpreter: %v", err)
		}
	}
	if err := os.Chmod(filepath.Join(base, "a"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{direct, byEnv, byPath} {
		if e, ok := errors.AsType[*host.PlaceError](host.CheckPluginPlace(path)); !ok || e.Path != filepath.Join(base, "a") {
			t.Errorf("a bad place of an interpreter: %v", e)
		}
		if err := host.Check(host.Plugin{Path: path}); err == nil {
			t.Errorf("Check says nothing of %s", path)
		}
	}
	t.Setenv("PATH", "")
	if err := host.CheckPluginPlace(byEnv); err == nil || !strings.Contains(err.Error(), "interpreter") {
		t.Errorf("an interpreter that is not in PATH: %v", err)
	}
	t.Chdir(filepath.Dir(sh))
	for _, dir := range []string{".", ""} { // T55: the working directory is no place for programs
		t.Setenv("PATH", dir+string(filepath.ListSeparator))
		if err := host.CheckPluginPlace(byEnv); err == nil {
			t.Errorf("PATH %q: an interpreter in the working directory was taken", dir)
		}
	}
}

func TestT55_DiscoverAndCheckRefuseWhatOthersCanChange(t *testing.T) {
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := os.ReadFile(me)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "plugins")
	good, bad := filepath.Join(dir, "toolplugin-good"), filepath.Join(dir, "toolplugin-bad")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(good, bin, 0o755), os.WriteFile(bad, bin, 0o755), os.Chmod(bad, 0o777)); err != nil {
		t.Fatal(err)
	}
	found, err := host.Discover(dir)
	want := fmt.Sprintf("%s: %[1]s (mode 0777): other users can write to it: chmod go-w %[1]s", bad)
	if len(found) != 1 || found[0].Path != good || err == nil || err.Error() != want {
		t.Errorf("%v, %v; want %s", found, err, want)
	}
	if err := host.Check(host.Plugin{Path: good}); err != nil {
		t.Error(err)
	}
	if _, ok := errors.AsType[*host.PlaceError](host.Check(host.Plugin{Path: bad})); !ok {
		t.Errorf("Check: %v", err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if found, err := host.Discover(dir); len(found) > 0 || !strings.Contains(err.Error(), "chmod go-w "+dir) {
		t.Errorf("a directory that others can change: %v, %v", found, err)
	}
}

// T55: neither the plugin's own place nor that of its private copy may be one that others can change, at every start.
func TestT55_PlacesAreCheckedAtEveryStart(t *testing.T) {
	bin, state := filepath.Join(t.TempDir(), "bin"), filepath.Join(t.TempDir(), "state")
	p := self("test", "")
	path := filepath.Join(bin, "toolplugin-test")
	text, err := os.ReadFile(p.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(bin, 0o755), os.Mkdir(state, 0o755), os.WriteFile(path, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	p.Path = path
	h := open(t, host.Config{StateDir: filepath.Join(state, "toolhost"), Limits: host.Limits{BackoffFirst: time.Millisecond, BackoffMost: time.Millisecond}}, p)
	for _, dir := range []string{bin, state} {
		call(t, h, "pid", `{}`)
		if _, err := h.Call(t.Context(), host.Call{Tool: "exit", Input: []byte(`{"n":1}`)}); err == nil {
			t.Fatal("exit returned")
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for range 6 { // it is not held against the plugin for ever
			fails(t, h, "pid", `{}`, host.Unavailable, host.NotStarted)
		}
		e := fails(t, h, "pid", `{}`, host.Unavailable, host.NotStarted)
		if !strings.Contains(e.Error(), "chmod go-w "+dir) {
			t.Errorf("%v does not say what to do about %s", e, dir)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	call(t, h, "pid", `{}`)
}
