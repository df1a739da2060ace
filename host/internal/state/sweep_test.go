//go:build unix

package state

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestS7_Sweep(t *testing.T) {
	d, _ := newDir(t)
	if n, err := d.Sweep(nil); n != 0 || err != nil {
		t.Error(n, err)
	}
	if _, err := os.Stat(d.path); err == nil {
		t.Error("Sweep made the directory")
	}
	kept, err := d.Store(program(t, []byte("kept")))
	must(t, err)
	must(t, kept.Close())
	used := program(t, []byte("used"))
	cmd := child(t, "keep", d.path, used)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	mine, err := d.Store(used)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(d.path, "binaries", copyPrefix+"dead"), []byte("half"), 0o600))
	must(t, os.WriteFile(filepath.Join(d.path, "binaries", "strange"), nil, 0o600))
	must(t, os.Symlink("/bin/true", filepath.Join(d.path, "binaries", strings.Repeat("ab", 32))))
	sweep := func(want int, left ...string) {
		t.Helper()
		n, err := d.Sweep(map[[32]byte]bool{kept.SHA256: true})
		if n != want || err != nil {
			t.Errorf("removed %d, %v; want %d", n, err, want)
		}
		if got := strings.Join(binaries(t, d), " "); len(binaries(t, d)) != len(left) {
			t.Errorf("left %s", got)
		}
	}
	sweep(2, "kept", "used", "strange") // the leftover and the link; not what two hold
	must(t, mine.Close())
	sweep(0, "kept", "used", "strange") // one still does
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	sweep(1, "kept", "strange")
	if _, err := d.Stored(kept.SHA256); err != nil {
		t.Error(err)
	}
}

// Whoever sweeps at whatever moment: a copy that somebody has is there.
func TestS7_SweepMeanwhile(t *testing.T) {
	d, _ := newDir(t)
	src := program(t, bytes.Repeat([]byte("x"), 300_000))
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		other, _ := openDir(t, d.path)
		all.Go(func() { // until stop is closed
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := other.Sweep(nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	found := 0
	for range 60 {
		b, err := d.Store(src)
		if err != nil {
			t.Error(err)
			break
		}
		if data, err := os.ReadFile(b.Path); err != nil || len(data) != 300_000 {
			t.Error(len(data), err)
		}
		must(t, b.Close())
		b, err = d.Stored(b.SHA256)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		must(t, err)
		found++
		if _, err := os.Stat(b.Path); err != nil {
			t.Error(err)
		}
		must(t, b.Close())
	}
	close(stop)
	all.Wait()
	t.Logf("found %d of 60 again", found)
}

// No child of this process gets the lock of a copy, or keeps it.
func TestS7_LockIsNotInherited(t *testing.T) {
	d, _ := newDir(t)
	b, err := d.Store(program(t, []byte("x")))
	must(t, err)
	sleep := exec.Command("sleep", "60")
	must(t, sleep.Start())
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	must(t, b.Close())
	if n, err := d.Sweep(nil); n != 1 || err != nil {
		t.Error(n, err)
	}
}
