package state

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/cost"
)

// Many processes learn at once: nothing is lost, and who reads meanwhile sees all that was there.
func TestD7_IndexTogether(t *testing.T) {
	d, _ := newDir(t)
	d.Now = nil // that of the children
	must(t, d.UpdateIndex(func(u *IndexUpdate) { u.SetFile("/first", File{SHA256: [32]byte{1}}, time.Now()) }))
	stop, done := make(chan struct{}), make(chan int)
	go func() { // until stop is closed; done tells
		n := 0
		for {
			select {
			case <-stop:
				done <- n
				return
			default:
			}
			if x, err := d.ReadIndex(); err != nil {
				t.Error(err)
			} else if _, ok := x.File("/first"); !ok {
				t.Error("half an index")
			}
			n++
		}
	}()
	const processes, each = 4, 25
	var commands [][]string
	for n := range processes {
		commands = append(commands, []string{"learn", d.path, fmt.Sprint(n), fmt.Sprint(each)})
	}
	for _, said := range together(t, commands...) {
		if said != "done" {
			t.Error(said)
		}
	}
	close(stop)
	if n := <-done; n == 0 {
		t.Error("nothing was read meanwhile")
	}
	if n := len(read(t, d).files); n != processes*each+1 {
		t.Errorf("%d files, want %d", n, processes*each+1)
	}
}

// Who dies while he learns leaves the old index or the new one.
func TestD7_IndexKilled(t *testing.T) {
	d, _ := newDir(t)
	d.Now = nil // that of the children
	known := 0
	for round := range 12 {
		cmd := child(t, "learn", d.path, "x", "0")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatal(line, err)
		}
		for before := time.Now(); time.Since(before) < 2*time.Minute; { // until it has learned more than those before
			if x := read(t, d); len(x.files) > known {
				break
			}
		}
		time.Sleep(time.Duration(round) * 100 * time.Microsecond) // to die at another point each time
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		n := len(read(t, d).files)
		if n <= known && n < 1000 {
			t.Errorf("round %d: %d files, %d before", round, n, known)
		}
		known = n
		must(t, d.UpdateIndex(func(u *IndexUpdate) {
			u.SetFile(fmt.Sprintf("/round/%d", round), File{SHA256: [32]byte{1}}, time.Now())
		}))
		known++
		if n := len(read(t, d).files); n != known {
			t.Errorf("round %d: %d files after an update, want %d", round, n, known)
		}
	}
}

// Lookups neither copy nor decode what is not asked for, and find everything among many.
func TestD7_IndexLookups(t *testing.T) {
	d, _ := newDir(t)
	fill(t, d, 300, 2000)
	x := read(t, d)
	for n := range 300 {
		if f, ok := x.File(fmt.Sprintf("/plugins/toolplugin-%d", n)); !ok || f.SHA256 != [32]byte{byte(n), byte(n >> 8), 1} {
			t.Fatal(n, f, ok)
		}
		if m, ok := x.Manifest(Key{byte(n), byte(n >> 8)}); !ok || len(m.Bytes) != 2000 || int(m.Bytes[0]) != n%251 {
			t.Fatal(n, ok)
		}
	}
	if n := cost.Of(100, func() {
		x.File("/plugins/toolplugin-77")
		x.Previous("/plugins/toolplugin-77")
		x.Manifest(Key{77})
	}).Allocs; n > 0 {
		t.Errorf("%d allocations", n)
	}
}

// fill remembers n plugins.
func fill(t testing.TB, d *Dir, n, size int) {
	t.Helper()
	if err := d.UpdateIndex(func(u *IndexUpdate) {
		for i := range n {
			id := Identity{1, uint64(i) + 1, 1 << 24, 1, 1}
			u.SetFile(fmt.Sprintf("/plugins/toolplugin-%d", i), File{ID: id, SHA256: [32]byte{byte(i), byte(i >> 8), 1}}, time.Now())
			u.SetManifest(Key{byte(i), byte(i >> 8)}, Manifest{Bytes: bytes.Repeat([]byte{byte(i % 251)}, size), At: time.Now()})
		}
	}); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkIndex is what a warm list costs here: one read, and a lookup of each plugin's file and manifest.
func BenchmarkIndex(b *testing.B) {
	for _, n := range []int{100, 1000} {
		b.Run(fmt.Sprintf("plugins=%d", n), func(b *testing.B) {
			d, err := Open(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			fill(b, d, n, 8<<10)
			paths := make([]string, n)
			for i := range n {
				paths[i] = fmt.Sprintf("/plugins/toolplugin-%d", i)
			}
			b.ReportAllocs()
			for b.Loop() {
				x, err := d.ReadIndex()
				if err != nil {
					b.Fatal(err)
				}
				for i, path := range paths {
					_, file := x.File(path)
					_, manifest := x.Manifest(Key{byte(i), byte(i >> 8)})
					if !file || !manifest {
						b.Fatal(path)
					}
				}
			}
		})
	}
}

func BenchmarkUpdateIndex(b *testing.B) {
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	fill(b, d, 100, 8<<10)
	for i := 0; b.Loop(); i++ {
		if err := d.UpdateIndex(func(u *IndexUpdate) { u.SetFile("/p", File{SHA256: [32]byte{byte(i), 1}}, time.Now()) }); err != nil {
			b.Fatal(err)
		}
	}
}
