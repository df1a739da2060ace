package main

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// maxID is how long a tool's id may be.
const maxID = 64

// toolIDs gives every name of a server's tools an id: 1 to 64 letters, digits, _ and - (R9). It depends on the set of names
// only, not on their order (R11). A name that fits is its own id; one with other bytes has each run of them written as
// _x, their hex and _ ("files/read" is files_x2f_read), from which the name can be read back; one that gets too long is cut and
// ends with a hash of the whole name (R10). No two names have the same id.
func toolIDs(names []string) map[string]string {
	ids := make(map[string]string, len(names))
	taken := make(map[string]bool, len(names))
	var long []string
	for _, name := range names {
		id := encodeName(name)
		if id == "" || len(id) > maxID {
			long = append(long, name)
			continue
		}
		ids[name], taken[id] = id, true
	}
	slices.Sort(long)
	for _, name := range slices.Compact(long) {
		id := shorten(name, 8)
		for digits := 16; taken[id]; digits += 8 { // 32 bits of a hash that another name has, or looks like
			id = shorten(name, digits)
		}
		ids[name], taken[id] = id, true
	}
	return ids
}

// encodeName writes a name in the characters of ids. Different names give different texts: an underscore of the name that would
// read as the beginning of a run is written as a run itself.
func encodeName(name string) string {
	var back []string // the parts, the last one first: whether an underscore begins a run depends on what follows it
	follows := ""
	put := func(part string) {
		back = append(back, part)
		follows = (part + follows)[:min(len(part)+len(follows), 2*maxID)]
	}
	for end := len(name); end > 0; {
		begin := end - 1
		switch c := name[begin]; {
		case c == '_' && beginsRun("_"+follows):
			put("_x5f_")
		case isIDByte(c):
			put(string(c))
		default:
			for begin > 0 && !isIDByte(name[begin-1]) {
				begin--
			}
			put("_x" + hex.EncodeToString([]byte(name[begin:end])) + "_")
		}
		end = begin
	}
	slices.Reverse(back)
	return strings.Join(back, "")
}

// beginsRun reports whether s begins with _x, an even number of hex digits, at least two, and _.
func beginsRun(s string) bool {
	digits, ok := strings.CutPrefix(s, "_x")
	if !ok {
		return false
	}
	n := 0
	for n < len(digits) && strings.IndexByte("0123456789abcdef", digits[n]) >= 0 {
		n++
	}
	return n >= 2 && n%2 == 0 && n < len(digits) && digits[n] == '_'
}

// shorten is the beginning of a name and so many digits of its hash.
func shorten(name string, digits int) string {
	sum := sha256.Sum256([]byte(name))
	head := encodeName(name)
	return head[:min(len(head), maxID-1-digits)] + "_" + hex.EncodeToString(sum[:])[:digits]
}

func isIDByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
