package state

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ids(entries []Entry) (ids []string) {
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestPending(t *testing.T) {
	d, c := newDir(t)
	start := c.t
	put := func(id string, lives time.Duration) Entry {
		t.Helper()
		e := Entry{ID: id, Caller: "ann", Body: []byte("body of\n" + id), Expires: c.t.Add(lives)}
		must(t, d.PutPending(e))
		e.At = c.t
		return e
	}
	list := func(want ...Entry) {
		t.Helper()
		got, damaged, err := d.Pending()
		if diff := cmp.Diff(want, got); err != nil || damaged != nil || diff != "" {
			t.Errorf("%v, %v, %s", damaged, err, diff)
		}
	}
	list()
	a := put("a", 3*time.Hour)
	c.t = start.Add(time.Minute)
	b := put("b", time.Hour)
	c.t = start.Add(2 * time.Minute)
	x, y := put("\xff not UTF-8", 3*time.Hour), put("../../etc/passwd", 3*time.Hour)
	list(y, x, b, a)
	b = put("b", 2*time.Hour) // replaced, and newer
	list(y, b, x, a)

	got, err := d.TakePending("a")
	if diff := cmp.Diff(a, got); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	_, err = d.TakePending("a")
	as[*NotFoundError](t, err)
	must(t, d.DropPending(y.ID))
	must(t, d.DropPending(y.ID))
	list(b, x)

	c.t = b.Expires // b is over
	list(x)
	c.t = start // T30
	list(x)
	as[*ExpiredError](t, d.PutPending(Entry{ID: "n", Expires: start.Add(time.Hour)}))
	c.t = x.Expires
	e, err := d.TakePending(x.ID)
	if as[*ExpiredError](t, err); e.Body != nil {
		t.Error("an expired entry was handed out")
	}
	left, err := os.ReadDir(filepath.Join(d.path, pendingName))
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v: what has expired is not removed", left, err)
	}
}

func TestPutPending_Refused(t *testing.T) {
	d, c := newDir(t)
	later, long := c.t.Add(time.Hour), strings.Repeat("\xff", nameMax+1)
	for _, e := range []Entry{{Expires: later}, {ID: long, Expires: later}, {ID: "a", Caller: long, Expires: later}} {
		if err := d.PutPending(e); err == nil {
			t.Errorf("%.20q %.20q", e.ID, e.Caller)
		}
	}
	e := Entry{ID: long[1:], Caller: long[1:], Body: make([]byte, MaxBody+1), Expires: later}
	as[*TooLargeError](t, d.PutPending(e))
	e.Body = e.Body[1:]
	must(t, d.PutPending(e))
	as[*ExpiredError](t, d.PutPending(Entry{ID: "zero"}))
	got, err := d.TakePending(e.ID)
	if err != nil || got.ID != e.ID || got.Caller != e.Caller || !bytes.Equal(got.Body, e.Body) {
		t.Error("the largest entry does not come back", err)
	}
}

// T29: a caller cannot fill the list, and nobody can fill it beyond its limit.
func TestT29_Throttled(t *testing.T) {
	d, c := newDir(t)
	put := func(n, caller int) error {
		return d.PutPending(Entry{ID: fmt.Sprint(n), Caller: fmt.Sprint(caller), Expires: c.t.Add(time.Hour)})
	}
	for n := range defaultMaxPerCaller {
		must(t, put(n, 0))
	}
	e := as[*ThrottledError](t, put(1000, 0))
	if want := (ThrottledError{20, true}); *e != want || !strings.Contains(e.Error(), "20 calls of this caller") {
		t.Error(e)
	}
	must(t, put(3, 0)) // a new round of one that waits
	for n := defaultMaxPerCaller; n < defaultMaxPending; n++ {
		must(t, put(n, n/defaultMaxPerCaller))
	}
	e = as[*ThrottledError](t, put(1000, 99))
	if want := (ThrottledError{100, false}); *e != want {
		t.Error(e)
	}
	must(t, d.DropPending("3"))
	must(t, put(1000, 99))
	c.t = c.t.Add(time.Hour) // all have expired
	must(t, put(1001, 0))

	d.MaxPending, d.MaxPerCaller = 3, 1
	if e := as[*ThrottledError](t, put(1002, 0)); e.Limit != 1 {
		t.Error(e)
	}
	must(t, put(1003, 1))
}

// T29 holds between processes too.
func TestT29_RaceOfProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d, err := Open(path)
	must(t, err)
	for n := range defaultMaxPerCaller - 3 {
		must(t, d.PutPending(Entry{ID: fmt.Sprint(n), Caller: "ann", Expires: time.Now().Add(time.Hour)}))
	}
	var commands [][]string
	for n := range 10 {
		commands = append(commands, []string{"put", path, fmt.Sprint("p", n), "ann"})
	}
	count := map[string]int{}
	for _, s := range together(t, commands...) {
		count[s]++
	}
	want := map[string]int{"<nil>": 3, (&ThrottledError{20, true}).Error(): 7}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Error(diff)
	}
}

func TestTakePending_RaceOfProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d, err := Open(path)
	must(t, err)
	must(t, d.PutPending(Entry{ID: "x", Body: []byte("body"), Expires: time.Now().Add(time.Hour)}))
	var commands [][]string
	for range 10 {
		commands = append(commands, []string{"take", path, "x"})
	}
	count := map[string]int{}
	for _, s := range together(t, commands...) {
		count[s]++
	}
	if diff := cmp.Diff(map[string]int{"body <nil>": 1, "no such pending call": 9}, count); diff != "" {
		t.Error(diff)
	}
}

// Damaged files are reported, never fatal, and count for nobody.
func TestPending_Damaged(t *testing.T) {
	d, c := newDir(t)
	e := Entry{ID: "good", Body: []byte("body"), At: c.t, Expires: c.t.Add(time.Hour)}
	must(t, d.PutPending(e))
	whole, err := encodeEntry(e)
	must(t, err)
	dir := filepath.Join(d.path, pendingName)
	plant := func(id string, data []byte) { must(t, os.WriteFile(filepath.Join(dir, fileName(id)), data, 0o600)) }
	mine := bytes.Replace(whole, []byte("Z29vZA=="), []byte("bWluZQ=="), 1) // "mine"
	plant("empty", nil)
	plant("another's", whole)
	plant("mine", mine[:len(mine)-1])
	plant("no JSON", []byte("x\ny"))
	plant("null", []byte("null\n"))
	plant("endless", bytes.Repeat([]byte("x"), headMax+MaxBody+1))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, fileName("link"))))
	must(t, os.Mkdir(filepath.Join(dir, fileName("directory")), 0o700))
	must(t, os.WriteFile(filepath.Join(dir, temporary), []byte("half"), 0o600)) // a dead process's
	must(t, os.WriteFile(filepath.Join(dir, "README"), nil, 0o600))

	got, damaged, err := d.Pending()
	if diff := cmp.Diff([]Entry{e}, got); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
	if len(damaged) != 8 {
		t.Errorf("%d reports: %v", len(damaged), damaged)
	}
	for _, c := range damaged {
		if filepath.Dir(c.Path) != dir || c.Err == nil {
			t.Errorf("%+v", c)
		}
	}
	_, err = d.TakePending("mine")
	as[*CorruptError](t, err)
	must(t, d.DropPending("mine"))
	must(t, d.PutPending(Entry{ID: "empty", Expires: c.t.Add(time.Hour)})) // written anew
	d.MaxPending = 3
	must(t, d.PutPending(Entry{ID: "third", Expires: c.t.Add(time.Hour)}))
	got, damaged, err = d.Pending()
	if err != nil || len(got) != 3 || len(damaged) != 6 {
		t.Errorf("%v, %v, %v", ids(got), damaged, err)
	}
}

// T43: whatever the id, its file has a name of 64 hexadecimal digits.
func FuzzT43_FileName(f *testing.F) {
	for _, id := range []string{"", "../../x", "/", "a\x00b", "CON", ".new", "\xff"} {
		f.Add(id, "other")
	}
	f.Fuzz(func(t *testing.T, id, other string) {
		name := fileName(id)
		if len(name) != 64 || strings.Trim(name, "0123456789abcdef") != "" {
			t.Errorf("%q: %s", id, name)
		}
		if (fileName(other) == name) != (id == other) {
			t.Errorf("%q and %q", id, other)
		}
	})
}

// Whatever a pending file holds: it is an entry that reads the same when it is
// written again, or an error.
func FuzzPendingFile(f *testing.F) {
	when := time.Date(2030, 1, 2, 3, 4, 5, 6, time.UTC)
	for _, e := range []Entry{{ID: "a", At: when, Expires: when}, {ID: "\xff", Caller: "b", Body: []byte("x\n\ny"), At: when, Expires: when}} {
		data, err := encodeEntry(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEntry(data, true)
		short, shortErr := decodeEntry(data, false)
		if err != nil {
			if !cmp.Equal(e, Entry{}) {
				t.Fatalf("%+v with %v", e, err)
			}
			return
		}
		if shortErr != nil || short.ID != e.ID || short.Caller != e.Caller || !short.Expires.Equal(e.Expires) || short.Body != nil {
			t.Fatalf("%+v, %v: without its body %+v", e, shortErr, short)
		}
		again, err := encodeEntry(e)
		if err != nil {
			t.Fatal(err)
		}
		e2, err := decodeEntry(again, true)
		if err != nil || !e2.At.Equal(e.At) || !bytes.Equal(e2.Body, e.Body) || e2.ID != e.ID {
			t.Fatal(errors.Join(err, fmt.Errorf("%+v, then %+v", e, e2)))
		}
	})
}
