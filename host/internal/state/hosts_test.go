package state

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestK13_Hosts(t *testing.T) {
	d, c := newDir(t)
	list := func(want ...LiveHost) {
		t.Helper()
		other, _ := openDir(t, d.path)
		got, err := other.Hosts()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	list()
	first := LiveHost{PID: 1, Started: c.t, Program: "agent"}
	second := LiveHost{PID: 1, Started: c.t.Add(-time.Hour), Plugins: []LivePlugin{{"weather", "ready", 7}, {"\x1b", "idle", 0}}}
	a, err := d.Announce(first)
	must(t, err)
	b, err := d.Announce(second)
	must(t, err)
	list(second, first)
	first.Plugins = make([]LivePlugin, 500)
	for n := range first.Plugins {
		first.Plugins[n] = LivePlugin{strings.Repeat("p", n), "starting", n}
	}
	must(t, a.Update(first))
	list(second, first)
	first.Plugins = first.Plugins[:1]
	must(t, a.Update(first)) // shorter than before
	list(second, first)
	must(t, b.Close())
	must(t, b.Close())
	if err := b.Update(second); !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
	list(first)
	// One whose file, or whole directory, was removed is back with the next update.
	must(t, os.RemoveAll(d.path))
	list()
	must(t, a.Update(first))
	list(first)
	first.Program = strings.Repeat("x", hostMax)
	as[*TooLargeError](t, a.Update(first))
	if _, err := d.Announce(first); err == nil {
		t.Error("announced")
	}
	must(t, a.Close())
	list()
	if left, _ := os.ReadDir(filepath.Join(d.path, hostsName)); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// K13: a host that was killed is gone, and its file with it, whoever has its process id now; one that lives is seen.
func TestK13_HostKilled(t *testing.T) {
	d, _ := newDir(t)
	var live []LiveHost
	start := func(program string) func() {
		cmd := child(t, "host", d.path, program)
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatal(line, err)
		}
		return func() {
			defer in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	killFirst, killSecond := start("first"), start("second")
	defer killSecond()
	live, err := d.Hosts()
	if err != nil || len(live) != 2 {
		killFirst()
		t.Fatal(live, err)
	}
	// This process's own id in the file of a dead host does not make it live.
	mine := LiveHost{PID: os.Getpid(), Started: time.Now()}
	data, err := encodeHost(mine)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(d.path, hostsName, strings.Repeat("ab", 32)), data, 0o600))
	killFirst()
	live, err = d.Hosts()
	if err != nil || len(live) != 1 || live[0].Program != "second" {
		t.Error(live, err)
	}
	if left, _ := os.ReadDir(filepath.Join(d.path, hostsName)); len(left) != 1 {
		t.Errorf("left %v", left)
	}
}

// Who reads while a host writes sees it as it was, or is.
func TestHosts_Meanwhile(t *testing.T) {
	d, c := newDir(t)
	hosts := []LiveHost{{PID: 1, Started: c.t}, {PID: 2, Started: c.t, Plugins: make([]LivePlugin, 400)}}
	a, err := d.Announce(hosts[0])
	must(t, err)
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() { // until stop is closed; done tells
		for n := 0; ; n++ {
			select {
			case <-stop:
				done <- a.Close()
				return
			default:
			}
			if err := a.Update(hosts[n%2]); err != nil {
				done <- err
				return
			}
			if n%50 == 0 { // others come and go
				b, err := d.Announce(LiveHost{PID: 3, Started: c.t.Add(time.Hour)})
				if err == nil {
					err = b.Close()
				}
				if err != nil {
					done <- err
					return
				}
			}
		}
	}()
	other, _ := openDir(t, d.path)
	for range 300 {
		got, err := other.Hosts()
		if err != nil || len(got) == 0 {
			t.Fatal(got, err)
		}
		if h := got[0]; h.PID != 1 && len(h.Plugins) != 400 {
			t.Fatalf("%+v", h)
		}
	}
	close(stop)
	must(t, <-done)
}

// What others than this user put there is no host.
func TestHosts_Strange(t *testing.T) {
	d, _ := newDir(t)
	a, err := d.Announce(LiveHost{PID: 1})
	must(t, err)
	defer a.Close()
	dir := filepath.Join(d.path, hostsName)
	name := func(s string) string { return filepath.Join(dir, strings.Repeat(s, 32)) }
	must(t, os.WriteFile(name("aa"), []byte("half"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "README"), nil, 0o600))
	must(t, os.Symlink("/etc/passwd", name("bb")))
	must(t, os.Mkdir(name("cc"), 0o700))
	hosts, err := d.Hosts()
	if err != nil || len(hosts) != 1 || hosts[0].PID != 1 {
		t.Error(hosts, err)
	}
	if _, err := os.Stat("/etc/passwd"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left %v", left)
	}
}

func FuzzHost(f *testing.F) {
	data, err := encodeHost(LiveHost{PID: 1, Plugins: []LivePlugin{{Name: "p"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("\xff\xff\xff\xff\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, ok := decodeHost(data); ok {
			if _, err := encodeHost(h); err != nil {
				t.Error(err)
			}
		}
	})
}

func BenchmarkAnnounce(b *testing.B) {
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a, err := d.Announce(LiveHost{PID: 1, Plugins: make([]LivePlugin, 20)})
		if err == nil {
			err = a.Close()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
