package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// T43: whatever a suspension is named, --save writes the one file that the flag names, and reads it back the same.
func FuzzT43_Save(f *testing.F) {
	for _, id := range []string{"../../x", "/etc/passwd", "a\x00b", "CON", "\u202ex", "", "~", "a\nb"} {
		f.Add(id, id)
	}
	f.Fuzz(func(t *testing.T, id, tool string) {
		dir := t.TempDir()
		path := filepath.Join(dir, "down", "save.json")
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		// Ids that are no UTF-8 do not exist outside of JSON, which replaces them.
		text, err := json.Marshal(host.Suspension{ID: id, CallID: id, Tool: tool, Plugin: tool, Kind: host.KindApproval, Expires: time.Unix(1, 0).UTC(), Sealed: []byte{1}})
		if err != nil {
			t.Fatal(err)
		}
		var s host.Suspension
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(mayCreate(path), writeSuspension(path, s)); err != nil {
			t.Fatal(err)
		}
		for at, want := range map[string]string{dir: "down", filepath.Dir(path): "save.json"} {
			entries, err := os.ReadDir(at)
			if err != nil || len(entries) != 1 || entries[0].Name() != want {
				t.Errorf("%q made %v, %v", id, entries, err)
			}
		}
		text, err = os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseSuspension(path, text)
		if diff := cmp.Diff(s, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
		if writeSuspension(path, s) == nil || mayCreate(path) == nil {
			t.Error("it was overwritten")
		}
	})
}
