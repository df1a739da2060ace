package main

import (
	"encoding/hex"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

var (
	idPattern  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	runPattern = regexp.MustCompile(`_x(?:[0-9a-f]{2})+_`)
)

// decodeName reads a name back from the id that was made of it, unless it was shortened.
func decodeName(id string) string {
	return runPattern.ReplaceAllStringFunc(id, func(run string) string {
		raw, err := hex.DecodeString(run[2 : len(run)-1])
		if err != nil {
			panic(err)
		}
		return string(raw)
	})
}

func TestR9_Names(t *testing.T) {
	for name, want := range map[string]string{
		"get_weather":           "get_weather",
		"get-weather2":          "get-weather2",
		"open_xcode":            "open_xcode",
		"files/read":            "files_x2f_read",
		"files.read all":        "files_x2e_read_x20_all",
		"über":                  "_xc3bc_ber",
		"a_x2f_b":               "a_x5f_x2f_b",
		"_x20 ":                 "_x5f_x20_x20_",
		"x__x41_":               "x__x5f_x41_",
		"../../etc/passwd":      "_x2e2e2f2e2e2f_etc_x2f_passwd",
		strings.Repeat("n", 64): strings.Repeat("n", 64),
	} {
		id := toolIDs([]string{name})[name]
		if id != want || decodeName(id) != name {
			t.Errorf("%q: %q, which reads as %q; want %q", name, id, decodeName(id), want)
		}
	}
	if id := toolIDs([]string{""})[""]; !idPattern.MatchString(id) {
		t.Errorf("no name: %q", id)
	}
}

// TestR10_LongNames: names that only differ where they are cut have different ids.
func TestR10_LongNames(t *testing.T) {
	long := strings.Repeat("long", 30)
	names := []string{long + "a", long + "b", long, strings.Repeat("/", 40)}
	names = append(names, shorten(long, 8)) // and a name that is what another is cut to
	ids := toolIDs(names)
	seen := map[string]bool{}
	for _, name := range names {
		if id := ids[name]; seen[id] || !idPattern.MatchString(id) {
			t.Errorf("%q: %q", name, id)
		}
		seen[ids[name]] = true
	}
}

// TestR10_NamesProperty: over random sets of names every id is legal and another one, the same in whatever order the names
// come, and reads back as its name unless it was cut.
func TestR10_NamesProperty(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"_x", "_", "x", "2f", "_x2f_", "/", ".", " ", "a", "-", "é", "Z9", strings.Repeat("q", 31)}
	for range 2000 {
		names := make([]string, 1+rnd.IntN(20))
		for i := range names {
			for range rnd.IntN(8) {
				names[i] += pieces[rnd.IntN(len(pieces))]
			}
		}
		ids, owners := toolIDs(names), map[string]string{}
		for _, name := range names {
			id := ids[name]
			if other, taken := owners[id]; taken && other != name || !idPattern.MatchString(id) {
				t.Fatalf("%q: id %q, which %q has too", name, id, other)
			}
			owners[id] = name
			if full := encodeName(name); full == id && decodeName(id) != name {
				t.Fatalf("%q: id %q reads as %q", name, id, decodeName(id))
			}
		}
		rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for name, id := range toolIDs(names) {
			if ids[name] != id {
				t.Fatalf("%q: %q, in another order %q", name, ids[name], id)
			}
		}
	}
}
