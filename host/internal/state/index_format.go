package state

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"
	"time"
)

// The index is: indexMagic; the number of files, and each of them, sorted by path; the number of manifests, and each of
// them, sorted by key; the CRC-32 (IEEE) of all that, 4 bytes, little endian. Numbers are varints of encoding/binary, text is
// its length and its bytes. The records are what file and manifest of cursor read.

// indexMagic begins an index. Its last byte is the version of the format.
const indexMagic = "thindex\x01"

const (
	hasSum = 1 << iota
	hasPrevious
	isDynamic
)

// The fewest bytes that a record has.
const (
	fileRecordMin     = 9
	manifestRecordMin = 36
)

// fileRecord is a file's record. Its slices are parts of the index.
type fileRecord struct {
	path          []byte
	id            Identity
	sum, previous [32]byte
	used          int64 // seconds since 1970
	refused       []byte
}

// manifestRecord is a manifest's record. Its bytes are a part of the index.
type manifestRecord struct {
	Manifest
	used int64 // seconds since 1970
}

// parseIndex checks all of an index, so that nothing can go wrong later. What is not one is empty.
func parseIndex(data []byte) *Index {
	body := len(data) - crc32.Size
	if body < len(indexMagic) || string(data[:len(indexMagic)]) != indexMagic ||
		binary.LittleEndian.Uint32(data[body:]) != crc32.ChecksumIEEE(data[:body]) {
		return &Index{}
	}
	x := Index{data: data[:body]}
	c := cursor{rest: data[len(indexMagic):body]}
	n := c.count(fileRecordMin)
	x.files = make([]int, 0, n)
	var last []byte
	for i := range n {
		x.files = append(x.files, body-len(c.rest))
		r := c.file()
		if i > 0 && bytes.Compare(last, r.path) >= 0 {
			return &Index{}
		}
		last = r.path
	}
	n = c.count(manifestRecordMin)
	x.manifests = make([]int, 0, n)
	for i := range n {
		x.manifests = append(x.manifests, body-len(c.rest))
		key := c.peek(len(Key{}))
		c.manifest()
		if i > 0 && bytes.Compare(last, key) >= 0 {
			return &Index{}
		}
		last = key
	}
	if c.bad || len(c.rest) > 0 {
		return &Index{}
	}
	return &x
}

// encodeIndex is the opposite of parseIndex.
func encodeIndex(files map[string]fileRecord, manifests map[Key]manifestRecord) []byte {
	size := len(indexMagic) + 2*binary.MaxVarintLen64 + crc32.Size
	for path, r := range files {
		size += r.size(path)
	}
	for _, r := range manifests {
		size += r.size()
	}
	b := append(make([]byte, 0, size), indexMagic...)
	b = binary.AppendUvarint(b, uint64(len(files)))
	for _, path := range slices.Sorted(maps.Keys(files)) {
		b = files[path].append(b, path)
	}
	b = binary.AppendUvarint(b, uint64(len(manifests)))
	for _, key := range slices.SortedFunc(maps.Keys(manifests), func(a, b Key) int { return bytes.Compare(a[:], b[:]) }) {
		b = manifests[key].append(append(b, key[:]...))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (r fileRecord) append(b []byte, path string) []byte {
	flags := byte(0)
	if r.sum != [32]byte{} {
		flags |= hasSum
	}
	if r.previous != [32]byte{} {
		flags |= hasPrevious
	}
	b = binary.AppendUvarint(b, uint64(len(path)))
	b = append(append(b, path...), flags)
	b = binary.AppendUvarint(b, r.id.Dev)
	b = binary.AppendUvarint(b, r.id.Inode)
	for _, n := range []int64{r.id.Size, r.id.MTime, r.id.CTime, r.used} {
		b = binary.AppendVarint(b, n)
	}
	if flags&hasSum != 0 {
		b = append(b, r.sum[:]...)
	}
	if flags&hasPrevious != 0 {
		b = append(b, r.previous[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(r.refused)))
	return append(b, r.refused...)
}

func (r manifestRecord) append(b []byte) []byte {
	flags := byte(0)
	if r.Dynamic {
		flags |= isDynamic
	}
	b = append(b, flags)
	b = binary.AppendVarint(b, r.At.UnixNano())
	b = binary.AppendVarint(b, r.used)
	b = binary.AppendUvarint(b, uint64(len(r.Bytes)))
	return append(b, r.Bytes...)
}

// size is at least what append adds.
func (r fileRecord) size(path string) int {
	return 8*binary.MaxVarintLen64 + 1 + len(path) + len(r.sum) + len(r.previous) + len(r.refused)
}

// size is at least what the key and append add.
func (r manifestRecord) size() int { return len(Key{}) + 1 + 3*binary.MaxVarintLen64 + len(r.Bytes) }

// cursor reads an index. After the first thing that is not there, bad is set and all else is zero.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) file() (r fileRecord) {
	r.path = c.bytes()
	flags := c.flags()
	r.id = Identity{Dev: c.uvarint(), Inode: c.uvarint()}
	r.id.Size, r.id.MTime, r.id.CTime, r.used = c.varint(), c.varint(), c.varint(), c.varint()
	if flags&hasSum != 0 {
		copy(r.sum[:], c.take(len(r.sum)))
	}
	if flags&hasPrevious != 0 {
		copy(r.previous[:], c.take(len(r.previous)))
	}
	r.refused = c.bytes()
	return r
}

func (c *cursor) manifest() (r manifestRecord) {
	c.take(len(Key{}))
	r.Dynamic = c.flags()&isDynamic != 0
	r.At = time.Unix(0, c.varint()).UTC()
	r.used = c.varint()
	r.Bytes = c.bytes()
	return r
}

// count reads how many records follow, each of at least so many bytes.
func (c *cursor) count(least int) int {
	n := c.uvarint()
	if n > uint64(len(c.rest)/least) {
		c.fail()
		return 0
	}
	return int(n)
}

func (c *cursor) bytes() []byte {
	n := c.uvarint()
	if n > uint64(len(c.rest)) {
		c.fail()
		return nil
	}
	return c.take(int(n))
}

func (c *cursor) flags() byte {
	if b := c.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) take(n int) []byte {
	b := c.peek(n)
	if b != nil {
		c.rest = c.rest[n:]
	}
	return b
}

func (c *cursor) peek(n int) []byte {
	if n > len(c.rest) {
		c.fail()
		return nil
	}
	return c.rest[:n:n]
}

func (c *cursor) uvarint() uint64 {
	v, n := binary.Uvarint(c.rest)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		c.fail()
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

func (c *cursor) fail() { c.rest, c.bad = nil, true }
