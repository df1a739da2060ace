//go:build unix

package state

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestDefaultDir(t *testing.T) {
	for _, tt := range []struct{ xdg, home, want string }{
		{"/x", "/h", "/x/toolhost"},
		{"", "/h", "/h/.local/state/toolhost"},
		{"relative", "/h", "/h/.local/state/toolhost"},
		{"", "relative", ""},
		{"", "", ""},
	} {
		t.Setenv("XDG_STATE_HOME", tt.xdg)
		t.Setenv("HOME", tt.home)
		got, err := DefaultDir()
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%+v: %q, %v", tt, got, err)
		}
		d, err := Open("") // needs no home yet
		must(t, err)
		if path, _ := d.Path(); path != tt.want {
			t.Errorf("%+v: Open: %q", tt, path)
		}
	}
}

// Open does nothing; the first use makes everything, for this user alone.
func TestOpen_LazyAndPrivate(t *testing.T) {
	base := t.TempDir()
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	d, c := openDir(t, filepath.Join(base, "a", "b", "state"))
	if left, _ := os.ReadDir(base); len(left) > 0 {
		t.Fatalf("Open made %v", left)
	}
	_, err := d.Keys(nil)
	must(t, err)
	must(t, d.Spend("id", Record{Decision: Approved, Expires: c.t.Add(time.Hour)}))
	must(t, d.SetOutcome("id", "done"))
	must(t, d.PutPending(Entry{ID: "id", Expires: c.t.Add(time.Hour)}))
	seen := 0
	must(t, filepath.WalkDir(filepath.Join(base, "a"), func(path string, e fs.DirEntry, err error) error {
		must(t, err)
		info, err := e.Info()
		must(t, err)
		want := fs.FileMode(0o600)
		if e.IsDir() {
			want = 0o700
		}
		if seen++; info.Mode().Perm() != want {
			t.Errorf("%s: %v", path, info.Mode())
		}
		return nil
	}))
	if seen != 10 { // a, b, state, spent, pending and the five files
		t.Errorf("%d files and directories", seen)
	}
}

func TestDir_Refused(t *testing.T) {
	spend := func(d *Dir, c *clock) error { return d.Spend("x", Record{Decision: Denied, Expires: c.t.Add(1)}) }
	keys := func(d *Dir, _ *clock) error { _, err := d.Keys(nil); return err }
	pending := func(d *Dir, _ *clock) error { _, _, err := d.Pending(); return err }
	for _, tt := range []struct {
		name, says string
		root       bool
		spoil      func(path, outside string) error
		use        func(*Dir, *clock) error
	}{
		{name: "others write", says: "chmod 700", use: keys, spoil: func(p, _ string) error { return os.Chmod(p, 0o707) }},
		{name: "group writes", says: "chmod 700", use: pending, spoil: func(p, _ string) error { return os.Chmod(p, 0o770) }},
		{name: "others write below", says: "spent can be written by others", use: spend,
			spoil: func(p, _ string) error { return os.Chmod(p+"/spent", 0o777) }},
		{name: "another owner", says: "another user", root: true, use: keys,
			spoil: func(p, _ string) error { return os.Chown(p, 65534, 65534) }},
		{name: "key of another owner", says: "another user", root: true, use: keys,
			spoil: func(p, _ string) error { return os.Chown(p+"/key", 65534, 65534) }},
		{name: "key open", says: "chmod 600", use: keys, spoil: func(p, _ string) error { return os.Chmod(p+"/key", 0o640) }},
		{name: "clock open", says: "chmod 600", use: keys, spoil: func(p, _ string) error { return os.Chmod(p+"/clock", 0o606) }},
		{name: "key is a pipe", says: "not a regular file", use: keys, spoil: func(p, _ string) error {
			return errors.Join(os.Remove(p+"/key"), syscall.Mkfifo(p+"/key", 0o600))
		}},
		{name: "lock is a pipe", says: "not a regular file", use: pending, spoil: func(p, _ string) error {
			return errors.Join(os.Remove(p+"/lock"), syscall.Mkfifo(p+"/lock", 0o600))
		}},
		{name: "key leads out", says: "escapes", use: keys, spoil: func(p, o string) error {
			return errors.Join(os.WriteFile(o+"/key", nil, 0o600), os.Remove(p+"/key"), os.Symlink(o+"/key", p+"/key"))
		}},
		{name: "lock leads out", says: "escapes", use: keys, spoil: func(p, o string) error {
			return errors.Join(os.Remove(p+"/lock"), os.Symlink(o+"/lock", p+"/lock"))
		}},
		{name: "ledger leads out", says: "escapes", use: spend, spoil: func(p, o string) error {
			return errors.Join(os.RemoveAll(p+"/spent"), os.Symlink(o, p+"/spent"))
		}},
		{name: "pending leads out", says: "escapes", use: pending, spoil: func(p, o string) error {
			return errors.Join(os.RemoveAll(p+"/pending"), os.Symlink("../../outside", p+"/pending"))
		}},
		{name: "a file", says: "not a directory", use: keys, spoil: func(p, _ string) error {
			return errors.Join(os.RemoveAll(p), os.WriteFile(p, nil, 0o600))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			d, c := newDir(t)
			path, _ := d.Path()
			outside := filepath.Join(filepath.Dir(path), "outside")
			must(t, os.Mkdir(outside, 0o700))
			_, err := d.Keys(nil)
			must(t, err)
			must(t, d.Spend("first", Record{Decision: Denied, Expires: c.t.Add(time.Hour)}))
			must(t, d.PutPending(Entry{ID: "first", Expires: c.t.Add(time.Hour)}))
			must(t, tt.spoil(path, outside))
			if err := tt.use(d, c); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want %q", err, tt.says)
			}
			entries, err := os.ReadDir(outside)
			must(t, err)
			for _, e := range entries {
				if info, _ := e.Info(); info.Size() > 0 || e.Name() != "key" {
					t.Errorf("written outside: %v", e)
				}
			}
		})
	}
}

// One that others can only look into, or that a link of the user's leads to, is
// his own choice.
func TestDir_Allowed(t *testing.T) {
	base := t.TempDir()
	must(t, os.Mkdir(base+"/real", 0o755))
	must(t, os.Symlink("real", base+"/link"))
	d, _ := openDir(t, base+"/link")
	_, err := d.Clock()
	must(t, err)
	if _, err := os.Stat(base + "/real/clock"); err != nil {
		t.Error(err)
	}
}

// Who does not give the lock back is named; when he dies, it is free.
func TestLock(t *testing.T) {
	d, _ := newDir(t)
	path, _ := d.Path()
	cmd := child(t, "hold", path)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	d.lockWait = 30 * time.Millisecond
	_, err = d.Clock()
	if e := as[*BusyError](t, err); e.Path != filepath.Join(path, "lock") {
		t.Error(e)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if _, err := d.Clock(); err != nil {
		t.Error(err)
	}
}

// A directory that is removed under a running host is made again.
func TestDir_Removed(t *testing.T) {
	d, c := newDir(t)
	path, _ := d.Path()
	must(t, d.PutPending(Entry{ID: "a", Expires: c.t.Add(time.Hour)}))
	must(t, os.RemoveAll(path))
	must(t, d.PutPending(Entry{ID: "b", Expires: c.t.Add(time.Hour)}))
	entries, _, err := d.Pending()
	if err != nil || len(entries) != 1 {
		t.Error(entries, err)
	}
}

func TestT30_Clock(t *testing.T) {
	d, c := newDir(t)
	start := c.t
	at := func(now, want time.Time) {
		t.Helper()
		c.t = now
		again, _ := openDir(t, d.path) // as a restarted host does
		again.Now = c.now
		if got, err := again.Clock(); err != nil || !got.Equal(want) {
			t.Errorf("at %v: %v, %v; want %v", now, got, err, want)
		}
	}
	at(start, start)
	at(start.Add(time.Hour), start.Add(time.Hour))
	at(start, start.Add(time.Hour))
	at(start.Add(-1000*time.Hour), start.Add(time.Hour))
	at(start.Add(2*time.Hour), start.Add(2*time.Hour))

	path := filepath.Join(d.path, "clock")
	must(t, os.WriteFile(path, []byte("yesterday"), 0o600))
	_, err := d.Clock()
	if e := as[*CorruptError](t, err); e.Path != path || !strings.Contains(e.Error(), "remove it") {
		t.Error(e)
	}
	must(t, os.Remove(path))
	at(start, start)
}

// The clock costs a write only when a second has gone by.
func TestClock_Cost(t *testing.T) {
	d, c := newDir(t)
	_, err := d.Clock()
	must(t, err)
	before, err := os.Stat(filepath.Join(d.path, "clock"))
	must(t, err)
	c.t = c.t.Add(999 * time.Millisecond)
	_, err = d.Clock()
	must(t, err)
	if after, _ := os.Stat(filepath.Join(d.path, "clock")); !os.SameFile(before, after) {
		t.Error("written")
	}
	c.t = c.t.Add(time.Millisecond)
	_, err = d.Clock()
	must(t, err)
	if after, _ := os.Stat(filepath.Join(d.path, "clock")); os.SameFile(before, after) {
		t.Error("not written")
	}
	if _, err := os.Stat(filepath.Join(d.path, temporary)); err == nil {
		t.Error("a temporary file is left")
	}
}
