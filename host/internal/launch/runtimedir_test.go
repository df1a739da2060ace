//go:build linux

package launch

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestL9_LengthOfTheRuntimeDir(t *testing.T) {
	for _, n := range []int{60, 70, socketPathMax - 1 - len(socketName), 120} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			base := shortDir(t)
			dir := base + "/" + strings.Repeat("d", n-len(base)-1)
			l, err := New(Config{RuntimeDir: dir})
			if n > socketPathMax-len(socketName)-1 {
				if err == nil || !strings.Contains(err.Error(), "120 bytes, and a socket's path allows 9") || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
					t.Fatalf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			p := start(t, l, self(nil, "goplugin")) // it really listens there
			p.Kill()
			if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%v, %v", info, err)
			}
		})
	}
}

func TestRuntimeDir_Default(t *testing.T) {
	base := shortDir(t)
	for xdg, want := range map[string]string{
		base:                      base + "/toolhost",
		"":                        tempRuntimeDir(),
		"relative":                tempRuntimeDir(),
		base + "/nothing":         tempRuntimeDir(),
		strings.Repeat("/xx", 50): tempRuntimeDir(),
	} {
		t.Setenv("XDG_RUNTIME_DIR", xdg)
		d, err := openRuntimeDir("")
		if err != nil || d.path != want {
			t.Errorf("XDG_RUNTIME_DIR=%s: %s, want %s (%v)", xdg, d.path, want, err)
		}
	}
}

func TestRuntimeDir_NotOurs(t *testing.T) {
	base := shortDir(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(base+"/open", 0o700))
	must(os.Chmod(base+"/open", 0o755))
	must(os.Symlink(base, base+"/link"))
	must(os.WriteFile(base+"/file", nil, 0o600))
	tests := map[string]string{"open": "chmod 700", "link": "symbolic link", "file": "no directory"}
	if os.Getuid() == 0 {
		must(os.Mkdir(base+"/foreign", 0o700))
		must(os.Chown(base+"/foreign", 65534, 65534))
		tests["foreign"] = "another user"
	}
	for name, says := range tests {
		if _, err := New(Config{RuntimeDir: filepath.Join(base, name)}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := newLauncher(t)
	must(os.Chmod(l.RuntimeDir(), 0o777)) // after New
	if e := refuse(t, l, self(nil, conforming...)); e.Cause != CausePath || !strings.Contains(e.Error(), "chmod 700") {
		t.Error(e)
	}
	must(os.RemoveAll(l.RuntimeDir())) // as cleaners of /tmp do
	start(t, l, self(nil, conforming...)).Kill()
}

// D10: only what is certainly dead goes.
func TestD10_Sweep(t *testing.T) {
	dir := shortDir(t)
	listen := func(name string) *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		return l
	}
	defer listen("plugin1-live").Close()
	listen("plugin2-dead").Close()
	listen("other-dead").Close()
	old := time.Now().Add(-time.Minute)
	for name, mtime := range map[string]time.Time{"plugin3-old": old, "plugin4-young": time.Now(), "other-old": old, "plugin5-full": old} {
		path := filepath.Join(dir, name)
		text := strings.TrimPrefix(name, "plugin5-")
		if text == name {
			text = ""
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, mtime, mtime); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"plugin-dir1", "plugin-dir2/full", "plugin-dir3-young", "plugin6-dir"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(name, "young") {
			top, _, _ := strings.Cut(name, "/")
			if err := os.Chtimes(filepath.Join(dir, top), old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	l, err := New(Config{RuntimeDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	want := []string{"other-dead", "other-old", "plugin-dir2", "plugin-dir3-young", "plugin1-live", "plugin4-young", "plugin5-full", "plugin6-dir"}
	if !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
}

// A handshake cannot make the host remove anything but a socket of its own.
func TestRemoveSocket(t *testing.T) {
	dir, other := shortDir(t), shortDir(t)
	listen := func(path string) {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
	}
	d := runtimeDir{dir}
	listen(other + "/s")
	listen(dir + "/s")
	if err := os.WriteFile(dir+"/f", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{other + "/s", dir + "/f", dir, dir + "/", "s", "", dir + "/../" + filepath.Base(other) + "/s"} {
		d.removeSocket(path)
	}
	for _, path := range []string{other + "/s", dir + "/s", dir + "/f"} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	d.removeSocket(dir + "/s")
	if _, err := os.Lstat(dir + "/s"); err == nil {
		t.Error("the socket is still there")
	}
}
