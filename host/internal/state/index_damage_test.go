package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// full is an index with a bit of everything.
func full(t *testing.T, d *Dir) (path string, data []byte) {
	t.Helper()
	f, began := seen(d, 1)
	must(t, d.UpdateIndex(func(u *IndexUpdate) {
		u.SetFile("/p", File{SHA256: [32]byte{7}}, began)
		u.SetFile("/q", File{Refused: "no"}, began)
		u.SetManifest(Key{1}, Manifest{Bytes: []byte("one"), At: d.Now(), Dynamic: true})
		u.SetManifest(Key{2}, Manifest{Bytes: []byte("two"), At: d.Now()})
	}))
	must(t, d.UpdateIndex(func(u *IndexUpdate) { u.SetFile("/p", f, began) }))
	path = filepath.Join(d.path, indexName)
	data, err := os.ReadFile(path)
	must(t, err)
	return path, data
}

// Whatever is where the index should be: it is empty, no error, and replaced.
func TestD5_IndexDamaged(t *testing.T) {
	d, _ := newDir(t)
	path, data := full(t, d)
	sealed := func(b []byte) []byte { return seal(b[:len(b)-crc32.Size]) }
	tests := map[string]func() error{
		"empty":   func() error { return os.WriteFile(path, nil, 0o600) },
		"zeros":   func() error { return os.WriteFile(path, make([]byte, len(data)), 0o600) },
		"foreign": func() error { return os.WriteFile(path, []byte(`{"version":1}`), 0o600) },
		"newer": func() error {
			return os.WriteFile(path, sealed(bytes.Replace(data, []byte("\x01"), []byte("\x02"), 1)), 0o600)
		},
		"longer":     func() error { return os.WriteFile(path, append(bytes.Clone(data), 0), 0o600) },
		"more after": func() error { return os.WriteFile(path, seal(append(bytes.Clone(data[:len(data)-4]), 0)), 0o600) },
		"too long":   func() error { return os.Truncate(path, indexMax+1) },
		"directory":  func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
		"link out":   func() error { return errors.Join(os.Remove(path), os.Symlink("/etc/passwd", path)) },
		"link": func() error {
			return errors.Join(os.Rename(path, path+"2"), os.Chmod(path+"2", 0o644), os.Symlink("index2", path))
		},
	}
	if modes {
		tests["open to others"] = func() error { return os.Chmod(path, 0o644) }
	}
	if os.Geteuid() == 0 {
		tests["another's"] = func() error { return os.Chown(path, 65534, 65534) }
	}
	for name, spoil := range tests {
		must(t, os.RemoveAll(path))
		must(t, os.WriteFile(path, data, 0o600))
		if f, ok := read(t, d).File("/p"); !ok {
			t.Fatal(f, ok)
		}
		must(t, spoil())
		x := read(t, d)
		if _, ok := x.File("/p"); ok || len(x.files)+len(x.manifests) > 0 {
			t.Errorf("%s: not empty", name)
		}
		if name == "directory" {
			continue
		}
		x = update(t, d, func(u *IndexUpdate) { u.SetManifest(Key{3}, Manifest{}) })
		if _, ok := x.Manifest(Key{3}); !ok || len(x.files)+len(x.manifests) != 1 {
			t.Errorf("%s: not replaced", name)
		}
	}
}

// Every bit counts.
func TestD5_IndexBitFlips(t *testing.T) {
	d, _ := newDir(t)
	_, data := full(t, d)
	for n := range 8 * len(data) {
		flipped := bytes.Clone(data)
		flipped[n/8] ^= 1 << (n % 8)
		if x := parseIndex(flipped); len(x.files)+len(x.manifests) > 0 {
			t.Fatalf("bit %d of byte %d", n%8, n/8)
		}
	}
	for n := range data {
		if x := parseIndex(data[:n]); len(x.files)+len(x.manifests) > 0 {
			t.Fatalf("cut to %d bytes", n)
		}
	}
	if x := parseIndex(data); len(x.files) != 2 || len(x.manifests) != 2 {
		t.Error("the whole index is empty")
	}
}

// seal puts the checksum behind it.
func seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(bytes.Clone(b), crc32.ChecksumIEEE(b))
}

// An index whose checksum is right may still say anything.
func FuzzIndex(f *testing.F) {
	dir := f.TempDir()
	d, err := Open(dir + "/state")
	if err != nil {
		f.Fatal(err)
	}
	if err := d.UpdateIndex(func(u *IndexUpdate) {
		u.SetFile("/p", File{SHA256: [32]byte{7}}, time.Now())
		u.SetFile("/q", File{Refused: "no"}, time.Now())
		u.SetManifest(Key{1}, Manifest{Bytes: []byte("one"), Dynamic: true})
		u.SetManifest(Key{2}, Manifest{Bytes: []byte("two")})
	}); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(d.path, indexName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[len(indexMagic):len(data)-crc32.Size], "/p")
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "/")
	f.Add([]byte("\x00\xff\xff\xff\xff\x07"), "/")
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		x := parseIndex(seal(append([]byte(indexMagic), body...)))
		if n := 16 * (cap(x.files) + cap(x.manifests)); n > 16*len(body) {
			t.Errorf("%d bytes for %d", n, len(body))
		}
		x.File(path)
		x.Previous(path)
		x.Manifest(Key{1})
		x.Binaries()
		files, manifests := x.decode()
		if len(files) != len(x.files) || len(manifests) != len(x.manifests) {
			t.Fatal("something is there twice")
		}
		for path := range files {
			if _, ok := x.File(path); !ok {
				t.Errorf("%q is not found", path)
			}
		}
		for key := range manifests {
			if _, ok := x.Manifest(key); !ok {
				t.Errorf("%x is not found", key)
			}
		}
		again := parseIndex(encodeIndex(files, manifests))
		if len(again.files) != len(files) || len(again.manifests) != len(manifests) {
			t.Error("what was read cannot be written")
		}
	})
}
