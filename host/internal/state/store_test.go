//go:build unix

package state

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program writes a file to be stored.
func program(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(path, data, 0o755))
	return path
}

func TestS7_Store(t *testing.T) {
	d, _ := newDir(t)
	data := bytes.Repeat([]byte("program"), copyChunk/3) // several pieces
	src := program(t, data)
	b, err := d.Store(src)
	must(t, err)
	defer b.Close()
	sum := sha256.Sum256(data)
	want := filepath.Join(d.path, "binaries", fmt.Sprintf("%x", sum))
	if b.Path != want || b.SHA256 != sum {
		t.Errorf("%s %x, want %s", b.Path, b.SHA256, want)
	}
	info, err := os.Stat(src)
	must(t, err)
	if id, ok := Identify(info); ok && (b.Source != id || time.Since(b.Began) > time.Minute) {
		t.Errorf("source %v, began %v; want %v", b.Source, b.Began, id)
	}
	// What happens to the source, in place too, does not reach the copy.
	must(t, os.WriteFile(src, []byte("other"), 0o755))
	got, err := os.ReadFile(b.Path)
	if must(t, err); !bytes.Equal(got, data) {
		t.Error("the copy is not what was stored")
	}
	first, err := os.Stat(b.Path)
	must(t, err)
	if first.Mode() != 0o500 {
		t.Errorf("mode %v", first.Mode())
	}
	// The same program again is the same file, and so is what Stored returns.
	again, err := d.Store(program(t, data))
	must(t, err)
	defer again.Close()
	stored, err := d.Stored(sum)
	must(t, err)
	defer stored.Close()
	if second, err := os.Stat(again.Path); err != nil || !os.SameFile(first, second) || stored.Path != want || stored.SHA256 != sum {
		t.Error("the copy was replaced", err)
	}
	if names := binaries(t, d); len(names) != 1 {
		t.Errorf("left %v", names)
	}
	must(t, stored.Close())
	must(t, stored.Close())
	if _, err := d.Stored([32]byte{1}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestS7_StoreRefuses(t *testing.T) {
	d, _ := newDir(t)
	base := t.TempDir()
	must(t, syscall.Mkfifo(base+"/fifo", 0o700))
	must(t, os.WriteFile(base+"/empty", nil, 0o700))
	must(t, os.WriteFile(base+"/huge", nil, 0o700))
	must(t, os.Truncate(base+"/huge", MaxBinary+1))
	for name, says := range map[string]string{"fifo": "not a regular file", "": "not a regular file", "empty": "is empty", "huge": "are allowed", "none": "no such file"} {
		if b, err := d.Store(filepath.Join(base, name)); b != nil || err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", name, err, says)
		}
	}
	if names := binaries(t, d); len(names) != 0 {
		t.Errorf("left %v", names)
	}
}

// A copy that is not what was put there counts as missing, is not followed or waited for, and is replaced.
func TestS7_StoredWhole(t *testing.T) {
	data := []byte("#!/bin/sh\nexit 0\n")
	sum := sha256.Sum256(data)
	for _, tt := range []struct {
		name  string
		root  bool
		spoil func(path, outside string) error
	}{
		{name: "written to", spoil: func(p, _ string) error {
			return errors.Join(os.Chmod(p, 0o700), os.WriteFile(p, []byte("#!/bin/sh\nexit 1\n"), 0), os.Chmod(p, 0o500))
		}},
		{name: "cut short", spoil: func(p, _ string) error {
			return errors.Join(os.Chmod(p, 0o700), os.Truncate(p, 3), os.Chmod(p, 0o500))
		}},
		{name: "empty", spoil: func(p, _ string) error {
			return errors.Join(os.Chmod(p, 0o700), os.Truncate(p, 0), os.Chmod(p, 0o500), os.Chtimes(p, time.Time{}, stamp(sum)))
		}},
		{name: "may be written", spoil: func(p, _ string) error { return os.Chmod(p, 0o700) }},
		{name: "open to others", spoil: func(p, _ string) error { return os.Chmod(p, 0o555) }},
		{name: "a pipe", spoil: func(p, _ string) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o500)) }},
		{name: "a link out", spoil: func(p, o string) error {
			return errors.Join(os.Rename(p, o+"/copy"), os.Symlink(o+"/copy", p))
		}},
		{name: "a link within", spoil: func(p, _ string) error {
			return errors.Join(os.Rename(p, filepath.Dir(p)+"/copy"), os.Symlink("copy", p))
		}},
		{name: "another owner", root: true, spoil: func(p, _ string) error { return os.Chown(p, 65534, 65534) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root && os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			d, _ := newDir(t)
			src := program(t, data)
			b, err := d.Store(src)
			must(t, err)
			must(t, b.Close())
			must(t, tt.spoil(b.Path, t.TempDir()))
			if _, err := d.Stored(sum); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v, want missing", err)
			}
			b, err = d.Store(src)
			must(t, err)
			defer b.Close()
			if got, err := os.ReadFile(b.Path); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%q, %v", got, err)
			}
			if again, err := d.Stored(sum); err != nil {
				t.Error(err)
			} else {
				must(t, again.Close())
			}
		})
	}
}

// A copy may have lost bytes when the system crashed: of one that is older than the system's start, the bytes are looked at.
func TestS7_StoredAfterCrash(t *testing.T) {
	d, _ := newDir(t)
	good, bad := program(t, []byte("good")), program(t, []byte("bad."))
	var sums [][32]byte
	for _, src := range []string{good, bad} {
		b, err := d.Store(src)
		must(t, err)
		must(t, b.Close())
		sums = append(sums, b.SHA256)
	}
	lost := filepath.Join(d.path, "binaries", fmt.Sprintf("%x", sums[1]))
	must(t, errors.Join(os.Chmod(lost, 0o700), os.WriteFile(lost, make([]byte, 4), 0), os.Chmod(lost, 0o500), os.Chtimes(lost, time.Time{}, stamp(sums[1]))))
	if _, ok := Identify(mustStat(t, lost)); !ok {
		t.Skip("this system tells no change times")
	}
	if b, err := d.Stored(sums[1]); err != nil {
		t.Fatal(err) // not looked at: the system has not been started since
	} else {
		must(t, b.Close())
	}
	time.Sleep(20 * time.Millisecond) // more than a tick of the clock of change times
	d.boot = time.Now()
	before := mustStat(t, good)
	if _, err := d.Stored(sums[1]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lost bytes: %v", err)
	}
	time.Sleep(20 * time.Millisecond)
	b, err := d.Stored(sums[0])
	must(t, err)
	must(t, b.Close())
	after := mustStat(t, b.Path)
	if id, _ := Identify(after); os.SameFile(before, after) || id.CTime <= d.boot.UnixNano() {
		t.Error("it will be hashed each time")
	}
	b, err = d.Store(bad)
	must(t, err)
	defer b.Close()
	if got, err := os.ReadFile(b.Path); err != nil || string(got) != "bad." {
		t.Errorf("%q, %v", got, err)
	}
}

// A file that never stays the same is refused, and what is stored is what was hashed.
func TestS7_StoreChanging(t *testing.T) {
	d, _ := newDir(t)
	src := program(t, make([]byte, 8<<20))
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() { // until stop is closed
		file, err := os.OpenFile(src, os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		for n := byte(0); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := file.WriteAt(bytes.Repeat([]byte{n}, 4096), int64(n)*4096); err != nil {
				t.Error(err)
				return
			}
		}
	})
	defer writer.Wait()
	defer close(stop)
	for end := time.Now().Add(2 * time.Minute); ; {
		b, err := d.Store(src)
		if changed, ok := errors.AsType[*ChangedError](err); ok {
			if changed.Path != src || !strings.Contains(err.Error(), "rename") {
				t.Error(err)
			}
			break
		}
		must(t, err)
		data, err := os.ReadFile(b.Path)
		if must(t, err); sha256.Sum256(data) != b.SHA256 {
			t.Error("the copy is not what was hashed")
		}
		must(t, b.Close())
		if time.Now().After(end) {
			t.Fatal("never refused")
		}
	}
	for _, name := range binaries(t, d) {
		if strings.HasPrefix(name, copyPrefix) {
			t.Errorf("left %s", name)
		}
	}
}

// L7: what Store returns can be run at once, by whom and beside whatever else: no process has it open for writing.
func TestL7_NeverBusy(t *testing.T) {
	base, err := os.ReadFile("/bin/true")
	if err != nil || !bytes.HasPrefix(base, []byte("\x7fELF")) {
		t.Skip("/bin/true is not a program of its own: ", err)
	}
	d, _ := newDir(t)
	dir := t.TempDir()
	const rounds, processes = 4, 2
	for n := range 24 * rounds {
		data := append(bytes.Clone(base), bytes.Repeat([]byte{byte(n)}, copyChunk/4)...)
		must(t, os.WriteFile(fmt.Sprintf("%s/%02d", dir, n), data, 0o700))
	}
	var commands [][]string
	for range processes {
		commands = append(commands, []string{"run", d.path, dir})
	}
	for _, said := range together(t, commands...) {
		if said != fmt.Sprintf("%d <nil>", 24*rounds) {
			t.Error(said)
		}
	}
	if names := binaries(t, d); len(names) != 24*rounds {
		t.Errorf("left %v", names)
	}
}

// Who dies while he stores leaves nothing that is taken for a copy, and nothing that stays.
func TestS7_StoreKilled(t *testing.T) {
	d, _ := newDir(t)
	data := bytes.Repeat([]byte("0123456789"), 400_000)
	src := program(t, data)
	leftovers := 0
	for round := range 12 {
		must(t, os.RemoveAll(filepath.Join(d.path, "binaries")))
		cmd := child(t, "copy", d.path, src)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatal(line, err)
		}
		time.Sleep(time.Duration(round) * time.Millisecond) // to die at another point each time
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		for _, name := range binaries(t, d) {
			if strings.HasPrefix(name, copyPrefix) {
				leftovers++
			}
		}
		b, err := d.Store(src)
		must(t, err)
		if got, err := os.ReadFile(b.Path); err != nil || !bytes.Equal(got, data) {
			t.Error("half a copy", err)
		}
		_, err = d.Sweep(nil)
		must(t, err)
		if names := binaries(t, d); len(names) != 1 {
			t.Errorf("left %v", names)
		}
		must(t, b.Close())
	}
	t.Logf("%d of 12 left half a copy", leftovers)
}

// binaries lists what is in the folder of the copies, without its lock.
func binaries(t *testing.T, d *Dir) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(d.path, "binaries"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != lockName {
			names = append(names, e.Name())
		}
	}
	return names
}

func BenchmarkStore(b *testing.B) {
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	src := filepath.Join(b.TempDir(), "program")
	const size = 16 << 20
	if err := os.WriteFile(src, make([]byte, size), 0o700); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	var sum [32]byte
	for b.Loop() {
		c, err := d.Store(src)
		if err != nil {
			b.Fatal(err)
		}
		sum = c.SHA256
		c.Close()
	}
	b.StopTimer()
	c, err := d.Stored(sum)
	if err != nil {
		b.Fatal(err)
	}
	_ = c.Close()
}

func BenchmarkStored(b *testing.B) {
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	src := filepath.Join(b.TempDir(), "program")
	if err := os.WriteFile(src, []byte("x"), 0o700); err != nil {
		b.Fatal(err)
	}
	c, err := d.Store(src)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	for b.Loop() {
		again, err := d.Stored(c.SHA256)
		if err != nil {
			b.Fatal(err)
		}
		again.Close()
	}
}
