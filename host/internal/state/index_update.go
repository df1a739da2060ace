package state

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"
)

// IndexUpdate is a change to the index. It is valid while the function that got it runs, and used by that alone. That
// function calls no method of the Dir.
type IndexUpdate struct {
	// Old is the index before the change, read under the lock.
	Old *Index

	files     map[string]fileRecord
	manifests map[Key]manifestRecord
	now       int64 // seconds since 1970
	changed   bool
}

// usedStep is how much later, in seconds, something must be used again for that to be written down.
const usedStep = 24 * 60 * 60

// UpdateIndex changes the index: it reads it again under the lock, runs change, and puts the new one in its place, if there
// is anything new. What was not used for 30 days is forgotten, and then what was not used for longest, if the index is over
// 16 MiB. After a loss of power the index may be empty.
func (d *Dir) UpdateIndex(change func(*IndexUpdate)) error {
	return d.locked(func(dir folder) error {
		dir.cache = true
		u := IndexUpdate{Old: dir.readIndex(), now: d.wall().Unix()}
		u.files, u.manifests = u.Old.decode()
		change(&u)
		if !u.changed {
			return nil
		}
		u.prune()
		return dir.replace(indexName, encodeIndex(u.files, u.manifests))
	})
}

// SetFile remembers what the file at an absolute path is, and keeps the hash that it had before as the previous one. began is
// when its bytes were begun to be read: if the file was changed less than 100 ms before that, its identity cannot tell
// whether it is changed again, and is not remembered; the rest is. A path of more than 4096 bytes is not remembered.
func (u *IndexUpdate) SetFile(path string, f File, began time.Time) {
	if path == "" || len(path) > pathMax {
		return
	}
	if !f.ID.settled(began) {
		f.ID = Identity{}
	}
	old, known := u.files[path]
	r := fileRecord{id: f.ID, sum: f.SHA256, refused: []byte(f.Refused[:min(len(f.Refused), refusedMax)]), previous: old.previous, used: u.now}
	if old.sum != r.sum && old.sum != [32]byte{} && len(old.refused) == 0 {
		r.previous = old.sum
	}
	if known && r.id == old.id && r.sum == old.sum && string(r.refused) == string(old.refused) && u.now-old.used < usedStep {
		return
	}
	u.files[path], u.changed = r, true
}

// ForgetFile forgets a path, and its previous hash.
func (u *IndexUpdate) ForgetFile(path string) {
	if _, known := u.files[path]; known {
		delete(u.files, path)
		u.changed = true
	}
}

// SetManifest remembers a manifest; if m.At is zero, it is of now. One over MaxManifest is not remembered. m.Bytes is not
// kept after UpdateIndex.
func (u *IndexUpdate) SetManifest(key Key, m Manifest) {
	if len(m.Bytes) > MaxManifest {
		u.ForgetManifest(key)
		return
	}
	if m.At.IsZero() {
		m.At = time.Unix(u.now, 0)
	}
	old, known := u.manifests[key]
	if known && bytes.Equal(m.Bytes, old.Bytes) && m.At.Equal(old.At) && m.Dynamic == old.Dynamic && u.now-old.used < usedStep {
		return
	}
	u.manifests[key], u.changed = manifestRecord{m, u.now}, true
}

// ForgetManifest forgets a manifest.
func (u *IndexUpdate) ForgetManifest(key Key) {
	if _, known := u.manifests[key]; known {
		delete(u.manifests, key)
		u.changed = true
	}
}

// Used says that what is remembered of a path and under a key is still used: the 30 days begin anew. Either may be unknown.
// It alone does not make the index be written more than once a day.
func (u *IndexUpdate) Used(path string, key Key) {
	if r, known := u.files[path]; known && u.now-r.used >= usedStep {
		r.used = u.now
		u.files[path], u.changed = r, true
	}
	if r, known := u.manifests[key]; known && u.now-r.used >= usedStep {
		r.used = u.now
		u.manifests[key], u.changed = r, true
	}
}

func (x *Index) decode() (map[string]fileRecord, map[Key]manifestRecord) {
	files, manifests := make(map[string]fileRecord, len(x.files)+1), make(map[Key]manifestRecord, len(x.manifests)+1)
	for _, at := range x.files {
		c := cursor{rest: x.data[at:]}
		r := c.file()
		files[string(r.path)] = r
	}
	for _, at := range x.manifests {
		c := cursor{rest: x.data[at:]}
		key := Key(c.peek(len(Key{})))
		manifests[key] = c.manifest()
	}
	return files, manifests
}

// prune forgets what is old, and what there is no room for.
func (u *IndexUpdate) prune() {
	oldest := u.now - int64(indexKept/time.Second)
	paths := slices.SortedFunc(maps.Keys(u.files), func(a, b string) int {
		return cmp.Or(cmp.Compare(u.files[b].used, u.files[a].used), cmp.Compare(a, b))
	})
	room := indexFilesMax
	for _, path := range paths {
		r := u.files[path]
		r.used = min(r.used, u.now) // the clock was set back
		u.files[path] = r
		if room -= r.size(path); room < 0 || r.used < oldest {
			delete(u.files, path)
		}
	}
	keys := slices.SortedFunc(maps.Keys(u.manifests), func(a, b Key) int {
		return cmp.Or(cmp.Compare(u.manifests[b].used, u.manifests[a].used), u.manifests[b].At.Compare(u.manifests[a].At), bytes.Compare(a[:], b[:]))
	})
	room = indexMax - indexFilesMax - 64
	for _, key := range keys {
		r := u.manifests[key]
		r.used = min(r.used, u.now)
		u.manifests[key] = r
		if room -= r.size(); room < 0 || r.used < oldest {
			delete(u.manifests, key)
		}
	}
}
