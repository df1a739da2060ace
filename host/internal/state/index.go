package state

import (
	"bytes"
	"crypto/sha256"
	"sort"
	"time"
)

// Index is what is remembered of files and of what plugins said of themselves, so that nothing needs to be hashed, and no
// process started, to know it again (D5, D7). It is a cache: losing it costs time. It is never written to, and may be used
// at the same time. The zero value and nil are empty.
type Index struct {
	data      []byte
	files     []int // where each record begins in data, sorted by path
	manifests []int // the same, sorted by key
}

// File is what is known of the file at a path.
type File struct {
	// ID is what the file was when it was read. It is zero if that cannot tell whether the file still is what it was.
	ID Identity
	// SHA256 is the hash of its content; zero if it was not hashed.
	SHA256 [sha256.Size]byte
	// Refused is why the file is no plugin; empty if it may be one. It is cut after 1024 bytes.
	Refused string
}

// Is reports whether the file with that identity is the one that f tells of.
func (f File) Is(id Identity) bool { return f.ID == id && id != Identity{} }

// Key says under which conditions a plugin described itself. Who uses it computes it.
type Key [32]byte

// Manifest is what a plugin said of itself.
type Manifest struct {
	Bytes   []byte    // at most MaxManifest; not to be written to
	At      time.Time // when it said so
	Dynamic bool      // it said that this may change
}

// MaxManifest is the largest manifest that is remembered, in bytes. So is that of a Baseline.
const MaxManifest = 4 << 20

const (
	indexName = "index"
	// indexMax is the largest index in bytes, and indexFilesMax what of that are files.
	indexMax, indexFilesMax = 16 << 20, 4 << 20
	// pathMax is the longest path that is remembered, refusedMax the longest reason, in bytes.
	pathMax, refusedMax = 4096, 1024
	// indexKept is how long something is remembered that nobody says is used.
	indexKept = 30 * 24 * time.Hour
)

// ReadIndex reads the index, in one piece. One that is missing, damaged, not this user's alone, or of a release that writes
// it in another way, is empty and no error. An error says that the state directory cannot be used; the index is empty then,
// never nil. It makes nothing and waits for no lock.
func (d *Dir) ReadIndex() (*Index, error) {
	dir, err := d.open(false)
	if err != nil {
		return &Index{}, ignoreMissing(err)
	}
	defer dir.root.Close()
	return dir.readIndex(), nil
}

// File returns what is known of the file at an absolute path.
func (x *Index) File(path string) (File, bool) {
	r, ok := x.file(path)
	if !ok {
		return File{}, false
	}
	return File{r.id, r.sum, string(r.refused)}, true
}

// Previous returns the hash of the program that was at a path before the one that is there now.
func (x *Index) Previous(path string) (sum [sha256.Size]byte, ok bool) {
	r, _ := x.file(path)
	return r.previous, r.previous != sum
}

// Manifest returns what is known under a key.
func (x *Index) Manifest(key Key) (Manifest, bool) {
	if x == nil {
		return Manifest{}, false
	}
	i, ok := sort.Find(len(x.manifests), func(i int) int {
		c := cursor{rest: x.data[x.manifests[i]:]}
		return bytes.Compare(key[:], c.take(len(key)))
	})
	if !ok {
		return Manifest{}, false
	}
	c := cursor{rest: x.data[x.manifests[i]:]}
	return c.manifest().Manifest, true
}

// Binaries returns the hashes of the programs that are at some path, or were before what is there now: what Sweep is to
// keep.
func (x *Index) Binaries() map[[sha256.Size]byte]bool {
	keep := map[[sha256.Size]byte]bool{}
	if x == nil {
		return keep
	}
	var none [sha256.Size]byte
	for _, at := range x.files {
		c := cursor{rest: x.data[at:]}
		r := c.file()
		if r.sum != none && len(r.refused) == 0 {
			keep[r.sum] = true
		}
		if r.previous != none {
			keep[r.previous] = true
		}
	}
	return keep
}

func (x *Index) file(path string) (fileRecord, bool) {
	if x == nil {
		return fileRecord{}, false
	}
	i, ok := sort.Find(len(x.files), func(i int) int {
		c := cursor{rest: x.data[x.files[i]:]}
		there := c.bytes()
		switch { // these conversions do not copy
		case path < string(there):
			return -1
		case path == string(there):
			return 0
		}
		return 1
	})
	if !ok {
		return fileRecord{}, false
	}
	c := cursor{rest: x.data[x.files[i]:]}
	return c.file(), true
}

// readIndex reads the index as it is now.
func (f folder) readIndex() *Index {
	data, more, err := f.read(indexName, indexMax)
	if err != nil || more {
		return &Index{}
	}
	return parseIndex(data)
}
