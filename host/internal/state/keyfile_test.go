package state

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Any number of processes that start at the same moment get the same key.
func TestKeys_Race(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "state") // the directories race too
	var commands [][]string
	for range 20 {
		commands = append(commands, []string{"keys", path})
	}
	d, err := Open(path)
	must(t, err)
	said := together(t, commands...)
	k, err := d.Keys(nil)
	must(t, err)
	want := "keys [" + k.IDs()[0] + "] <nil>"
	for _, s := range said {
		if s != want {
			t.Errorf("%q, want %q", s, want)
		}
	}
}

func TestKeys_Given(t *testing.T) {
	d, _ := newDir(t)
	given := [][]byte{secret(1), secret(2)}
	k, err := d.Keys(given)
	must(t, err)
	if _, err := os.Stat(d.path); err == nil {
		t.Error("I/O for given keys")
	}
	sealed, err := k.Seal([]byte("x"), nil)
	must(t, err)
	clear(given[0]) // no reference is kept
	if _, err := k.Open(sealed, nil); err != nil {
		t.Error(err)
	}
	if _, err := d.Keys([][]byte{{1}}); err == nil {
		t.Error("a short key")
	}
}

func TestT30_RotateAndRevoke(t *testing.T) {
	d, _ := newDir(t)
	load := func() *Keyring {
		t.Helper()
		k, err := d.Keys(nil)
		must(t, err)
		return k
	}
	first := load()
	sealed, err := first.Seal([]byte("x"), nil)
	must(t, err)
	if got := load(); got.IDs()[0] != first.IDs()[0] || len(got.IDs()) != 1 {
		t.Errorf("%v, then %v", first, got)
	}
	must(t, d.RotateKeys())
	second := load()
	if ids := second.IDs(); len(ids) != 2 || ids[1] != first.IDs()[0] || ids[0] == ids[1] {
		t.Fatalf("%v after %v", second, first)
	}
	if _, err := second.Open(sealed, nil); err != nil {
		t.Error(err)
	}
	must(t, d.RotateKeys())
	_, err = load().Open(sealed, nil)
	as[*UnknownKeyError](t, err)

	fresh, err := load().Seal([]byte("x"), nil)
	must(t, err)
	must(t, d.RevokeKeys())
	if got := load(); len(got.IDs()) != 1 {
		t.Error(got)
	}
	_, err = load().Open(fresh, nil)
	as[*UnknownKeyError](t, err)

	must(t, os.Remove(filepath.Join(d.path, "key"))) // lost
	_, err = load().Open(fresh, nil)
	as[*UnknownKeyError](t, err)
}

// A damaged key file is not replaced, and not quoted.
func TestKeys_Damaged(t *testing.T) {
	line := hex.EncodeToString(secret(0xab)) + "\n"
	for name, text := range map[string]string{
		"empty":         "",
		"cut short":     line[:40],
		"no newline":    line[:64],
		"short line":    line[:62] + "\n",
		"second short":  line + line[:30] + "\n",
		"not hex":       strings.Replace(line, "a", "x", 1),
		"blank":         "\n",
		"three":         line + line + line,
		"long":          strings.Repeat("ab", 100000),
		"all zero":      strings.Repeat("0", 64) + "\n",
		"carriage":      line[:64] + "\r\n",
		"trailing":      line + "x",
		"leading space": " " + line,
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newDir(t)
			_, err := d.Clock()
			must(t, err)
			path := filepath.Join(d.path, "key")
			must(t, os.WriteFile(path, []byte(text), 0o600))
			_, err = d.Keys(nil)
			if err == nil || strings.Contains(err.Error(), "abab") {
				t.Fatal(err)
			}
			if name != "all zero" {
				if e := as[*CorruptError](t, err); e.Path != path || !strings.Contains(e.Error(), "remove it") {
					t.Error(e)
				}
			}
			if got, _ := os.ReadFile(path); !bytes.Equal(got, []byte(text)) {
				t.Error("the file was changed")
			}
			must(t, d.RevokeKeys())
			if _, err := d.Keys(nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a process left that died while it made the key is in nobody's way.
func TestKeys_AfterACrash(t *testing.T) {
	d, _ := newDir(t)
	_, err := d.Clock()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(d.path, temporary), []byte("abc"), 0o600))
	k, err := d.Keys(nil)
	must(t, err)
	again, err := d.Keys(nil)
	must(t, err)
	if k.IDs()[0] != again.IDs()[0] {
		t.Error(k, again)
	}
}
