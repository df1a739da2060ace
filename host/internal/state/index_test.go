package state

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// seen is a file as it may be remembered, last changed long before began.
func seen(d *Dir, n byte) (f File, began time.Time) {
	now := d.Now()
	id := Identity{Dev: 1 << 60, Inode: uint64(n) + 1, Size: 1 << 40, MTime: -5, CTime: now.Add(-time.Hour).UnixNano()}
	return File{ID: id, SHA256: [32]byte{n, 31: 1}}, now
}

func update(t *testing.T, d *Dir, change func(*IndexUpdate)) *Index {
	t.Helper()
	must(t, d.UpdateIndex(change))
	return read(t, d)
}

func read(t *testing.T, d *Dir) *Index {
	t.Helper()
	x, err := d.ReadIndex()
	must(t, err)
	return x
}

func TestD7_Index(t *testing.T) {
	d, c := newDir(t)
	good, began := seen(d, 1)
	refused := File{ID: good.ID, Refused: "not a Go program"}
	m := Manifest{Bytes: []byte("manifest"), At: c.t.Add(-time.Minute), Dynamic: true}
	x := update(t, d, func(u *IndexUpdate) {
		if _, ok := u.Old.File("/a"); ok {
			t.Error("there is something")
		}
		u.SetFile("/b", good, began)
		u.SetFile("/a", refused, began)
		u.SetFile("/c\xff", File{SHA256: [32]byte{2}}, began)
		u.SetFile("", good, began)
		u.SetFile(strings.Repeat("/", pathMax+1), good, began)
		u.SetManifest(Key{9}, m)
		u.SetManifest(Key{8}, Manifest{})
		u.SetManifest(Key{7}, Manifest{Bytes: make([]byte, MaxManifest+1)})
	})
	for path, want := range map[string]File{"/b": good, "/a": refused, "/c\xff": {SHA256: [32]byte{2}}} {
		if got, ok := x.File(path); !ok || got != want {
			t.Errorf("%q: %v, want %v", path, got, want)
		}
	}
	for _, path := range []string{"", "/", "/aa", "/z", strings.Repeat("/", pathMax+1)} {
		if f, ok := x.File(path); ok {
			t.Errorf("%.10q: %v", path, f)
		}
	}
	if got, ok := x.Manifest(Key{9}); !ok || !cmp.Equal(got, m) {
		t.Error(cmp.Diff(m, got))
	}
	if got, ok := x.Manifest(Key{8}); !ok || len(got.Bytes) != 0 || !got.At.Equal(c.t) || got.Dynamic {
		t.Error(got, ok)
	}
	for _, key := range []Key{{}, {7}, {9, 1}, {10}} {
		if m, ok := x.Manifest(key); ok {
			t.Errorf("%x: %v", key, m)
		}
	}
	x = update(t, d, func(u *IndexUpdate) {
		if got, ok := u.Old.File("/b"); !ok || got != good {
			t.Error(got, ok)
		}
		u.ForgetFile("/a")
		u.ForgetManifest(Key{9})
	})
	_, a := x.File("/a")
	_, b := x.File("/b")
	_, k := x.Manifest(Key{9})
	if a || !b || k {
		t.Error(a, b, k)
	}
}

// L8: the program before the one at a path is known, for as long as that is, and both are kept.
func TestL8_Previous(t *testing.T) {
	d, _ := newDir(t)
	file := func(n byte) File { f, _ := seen(d, n); return f }
	bad := File{Refused: "broken"}
	badSum := file(9)
	badSum.Refused = "broken"
	for _, tt := range []struct {
		name     string
		files    []File
		previous byte
		keep     []byte
	}{
		{"first", []File{file(1)}, 0, []byte{1}},
		{"same", []File{file(1), file(1)}, 0, []byte{1}},
		{"new", []File{file(1), file(2)}, 1, []byte{1, 2}},
		{"third", []File{file(1), file(2), file(3)}, 2, []byte{2, 3}},
		{"back", []File{file(1), file(2), file(1)}, 2, []byte{1, 2}},
		{"touched", []File{file(1), file(2), {SHA256: file(2).SHA256}}, 1, []byte{1, 2}},
		{"refused", []File{bad}, 0, nil},
		{"broken", []File{file(1), bad}, 1, []byte{1}},
		{"broken and hashed", []File{file(1), badSum}, 1, []byte{1}},
		{"broken twice", []File{file(1), bad, badSum}, 1, []byte{1}},
		{"mended", []File{file(1), badSum, file(2)}, 1, []byte{1, 2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, _ := newDir(t)
			for _, f := range tt.files {
				must(t, d.UpdateIndex(func(u *IndexUpdate) { u.SetFile("/p", f, d.Now()) }))
			}
			x := read(t, d)
			want := [32]byte{}
			if tt.previous > 0 {
				want = file(tt.previous).SHA256
			}
			if got, ok := x.Previous("/p"); got != want || ok != (tt.previous > 0) {
				t.Errorf("previous %x, %t; want %x", got, ok, want)
			}
			keep := map[[32]byte]bool{}
			for _, n := range tt.keep {
				keep[file(n).SHA256] = true
			}
			if got := x.Binaries(); !maps.Equal(got, keep) {
				t.Error(cmp.Diff(keep, got))
			}
		})
	}
}

// A file that was changed just before it was read may be changed again without being seen to be: it is not known by its
// identity.
func TestD5_RacilyClean(t *testing.T) {
	d, _ := newDir(t)
	f, began := seen(d, 1)
	for _, tt := range []struct {
		before time.Duration
		began  time.Time
		want   bool
	}{
		{time.Hour, began, true},
		{settle, began, true},
		{settle - 1, began, false},
		{0, began, false},
		{-time.Hour, began, false}, // a clock of the disk's own
		{time.Hour, time.Time{}, false},
	} {
		f.ID.CTime = began.Add(-tt.before).UnixNano()
		x := update(t, d, func(u *IndexUpdate) { u.ForgetFile("/p"); u.SetFile("/p", f, tt.began) })
		got, _ := x.File("/p")
		if got.Is(f.ID) != tt.want || got.SHA256 != f.SHA256 {
			t.Errorf("changed %v before: %v", tt.before, got)
		}
	}
	if (File{}).Is(Identity{}) {
		t.Error("what is unknown is known")
	}

	// With a file of the disk: the same size, and at the same moment.
	path := filepath.Join(t.TempDir(), "p")
	must(t, os.WriteFile(path, []byte("one"), 0o700))
	b, err := d.Store(path)
	must(t, err)
	must(t, b.Close())
	id, ok := Identify(mustStat(t, path))
	if !ok {
		t.Skip("this system tells no identities")
	}
	known := func() bool {
		x := update(t, d, func(u *IndexUpdate) {
			u.ForgetFile(path)
			u.SetFile(path, File{ID: b.Source, SHA256: b.SHA256}, b.Began)
		})
		f, _ := x.File(path)
		return f.Is(id)
	}
	if b.Began.Sub(time.Unix(0, id.CTime)) < settle && known() {
		t.Error("known too early")
	}
	time.Sleep(2 * settle)
	b, err = d.Store(path)
	must(t, err)
	must(t, b.Close())
	if !known() {
		t.Errorf("not known: %v, began %v", b.Source, b.Began)
	}
	must(t, os.WriteFile(path, []byte("two"), 0o700))
	if changed, _ := Identify(mustStat(t, path)); changed == id {
		t.Error("a change is not seen")
	}
}

func mustStat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info
}

func TestD5_IndexForgets(t *testing.T) {
	d, c := newDir(t)
	f, began := seen(d, 1)
	set := func(path string, key Key) {
		must(t, d.UpdateIndex(func(u *IndexUpdate) {
			u.SetFile(path, f, began)
			u.SetManifest(key, Manifest{Bytes: []byte("m"), At: c.t})
		}))
	}
	has := func(path string, key Key) bool {
		x := read(t, d)
		_, file := x.File(path)
		_, manifest := x.Manifest(key)
		if file != manifest {
			t.Errorf("%s: %t, %t", path, file, manifest)
		}
		return file
	}
	start := c.t
	set("/unused", Key{1})
	set("/used", Key{2})
	c.t = start.Add(20 * 24 * time.Hour)
	must(t, d.UpdateIndex(func(u *IndexUpdate) { u.Used("/used", Key{2}); u.Used("/unknown", Key{9}) }))
	c.t = start.Add(indexKept)
	set("/other", Key{3})
	if !has("/unused", Key{1}) || !has("/used", Key{2}) || has("/unknown", Key{9}) {
		t.Error("forgotten too early")
	}
	c.t = c.t.Add(time.Second)
	set("/another", Key{4})
	if has("/unused", Key{1}) || !has("/used", Key{2}) || !has("/other", Key{3}) {
		t.Error("what was not used for 30 days is there, or what was is not")
	}
	// A clock that was set back does not keep for ever what was remembered before.
	c.t = start.Add(-1000 * 24 * time.Hour)
	set("/early", Key{5})
	if !has("/other", Key{3}) {
		t.Error("forgotten because of the clock")
	}
	c.t = c.t.Add(indexKept + time.Second)
	set("/later", Key{6})
	if has("/other", Key{3}) || has("/early", Key{5}) {
		t.Error("kept because of the clock")
	}
}

// What there is no room for goes, that which was not used for longest first.
func TestD5_IndexBounded(t *testing.T) {
	d, c := newDir(t)
	for n := range byte(5) {
		must(t, d.UpdateIndex(func(u *IndexUpdate) {
			u.SetManifest(Key{n}, Manifest{Bytes: make([]byte, MaxManifest), At: c.t})
			for i := range 3000 {
				u.SetFile(fmt.Sprintf("/%d/%04d/%0250d", n, i, 0), File{SHA256: [32]byte{1}}, c.t)
			}
		}))
		c.t = c.t.Add(time.Hour)
	}
	if size := mustStat(t, filepath.Join(d.path, indexName)).Size(); size > indexMax || size < indexMax/2 {
		t.Errorf("%d bytes", size)
	}
	x := read(t, d)
	_, oldest := x.Manifest(Key{0})
	_, newest := x.Manifest(Key{4})
	if oldest || !newest || len(x.manifests) != 2 {
		t.Errorf("%d manifests; oldest %t, newest %t", len(x.manifests), oldest, newest)
	}
	_, oldest = x.File(fmt.Sprintf("/0/0000/%0250d", 0))
	_, newest = x.File(fmt.Sprintf("/4/2999/%0250d", 0))
	if oldest || !newest {
		t.Errorf("%d files; oldest %t, newest %t", len(x.files), oldest, newest)
	}
}

// An update that says nothing new costs no write.
func TestD7_IndexUnchanged(t *testing.T) {
	d, c := newDir(t)
	f, began := seen(d, 1)
	at := c.t
	same := func(u *IndexUpdate) {
		u.SetFile("/p", f, began)
		u.SetManifest(Key{1}, Manifest{Bytes: []byte("m"), At: at})
		u.ForgetFile("/none")
		u.ForgetManifest(Key{2})
		u.Used("/p", Key{1})
	}
	must(t, d.UpdateIndex(same))
	path := filepath.Join(d.path, indexName)
	before := mustStat(t, path)
	c.t = c.t.Add(23 * time.Hour)
	must(t, d.UpdateIndex(same))
	if !os.SameFile(before, mustStat(t, path)) {
		t.Error("written")
	}
	c.t = c.t.Add(2 * time.Hour)
	must(t, d.UpdateIndex(same))
	if os.SameFile(before, mustStat(t, path)) {
		t.Error("not written after a day")
	}
}
