//go:build linux || darwin

package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/internal/state"
)

// A file that ran before is found without being read, whether its directory is named by an absolute path or a relative one.
func TestDiscover_KnownFilesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	path := filepath.Join(dir, "toolplugin-known")
	if err := os.WriteFile(path, []byte("no program at all"), 0o700); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := state.Identify(info)
	store, err := state.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Minute) // the file's identity can be trusted by then
	if err := store.UpdateIndex(func(u *state.IndexUpdate) { u.SetFile(path, state.File{ID: id}, later) }); err != nil {
		t.Fatal(err)
	}
	known, err := store.ReadIndex()
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range []string{dir, "."} {
		if found, err := discover(known, []string{named}); len(found) != 1 || err != nil {
			t.Errorf("in %s: %v, %v", named, found, err)
		}
	}
	if found, err := discover(nil, []string{dir}); len(found) != 0 || err == nil {
		t.Errorf("what is not known is a plugin: %v", found)
	}
}
