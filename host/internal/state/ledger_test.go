package state

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpend(t *testing.T) {
	d, c := newDir(t)
	rec := Record{Decision: Approved, Expires: c.t.Add(7 * 24 * time.Hour)}
	if _, ok, err := d.Spent("a"); ok || err != nil {
		t.Fatal(ok, err)
	}
	must(t, d.Spend("a", rec))
	must(t, d.Spend("b", Record{Decision: Denied, Outcome: "not_started", Expires: rec.Expires, At: c.t.Add(-time.Minute)}))

	want := Record{At: c.t, Decision: Approved, Outcome: Unknown, Expires: rec.Expires}
	check := func(id string, want Record) {
		t.Helper()
		again, _ := openDir(t, d.path)
		got, ok, err := again.Spent(id)
		if diff := cmp.Diff(want, got); !ok || err != nil || diff != "" {
			t.Errorf("%v, %v, %s", ok, err, diff)
		}
		e := as[*SpentError](t, again.Spend(id, Record{Decision: Denied, Expires: rec.Expires}))
		if diff := cmp.Diff(want, e.First); diff != "" {
			t.Error(diff)
		}
	}
	check("a", want)
	must(t, d.SetOutcome("a", "done"))
	want.Outcome = "done"
	check("a", want)
	must(t, d.SetOutcome("a", "failed"))
	want.Outcome = "failed"
	check("a", want)
	check("b", Record{At: c.t.Add(-time.Minute), Decision: Denied, Outcome: "not_started", Expires: rec.Expires})

	e := as[*SpentError](t, d.Spend("a", rec))
	if got, want := e.Error(), "already approved on 2030-01-02T03:04:05Z: outcome failed"; got != want {
		t.Error(got)
	}
	as[*NotFoundError](t, d.SetOutcome("c", "done"))
}

func TestSpend_Refused(t *testing.T) {
	d, c := newDir(t)
	later, long := c.t.Add(time.Hour), strings.Repeat("x", wordMax+1)
	for id, rec := range map[string]Record{
		"":  {Decision: Approved, Expires: later},
		"a": {Expires: later},
		"b": {Decision: Approved},
		"c": {Decision: long, Expires: later},
		"d": {Decision: Approved, Outcome: long, Expires: later},
	} {
		if err := d.Spend(id, rec); err == nil {
			t.Errorf("%q: %+v", id, rec)
		}
	}
	if _, err := os.Stat(d.path); err == nil {
		t.Error("the directory was made")
	}
	must(t, d.Spend("x", Record{Decision: strings.Repeat("\x00", wordMax), Outcome: strings.Repeat("\x00", wordMax), Expires: later}))
	as[*SpentError](t, d.Spend("x", Record{Decision: Approved, Expires: later}))
	for _, outcome := range []string{"", long} {
		if err := d.SetOutcome("x", outcome); err == nil {
			t.Errorf("outcome of %d bytes", len(outcome))
		}
	}
}

// Of 20 processes that spend one id at the same moment, one wins.
func TestSpend_RaceOfProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	var commands [][]string
	for range 20 {
		commands = append(commands, []string{"spend", path, "../../one"})
	}
	count := map[string]int{}
	for _, s := range together(t, commands...) {
		count[s]++
	}
	if diff := cmp.Diff(map[string]int{"won <nil>": 1, "spent approved unknown": 19}, count); diff != "" {
		t.Error(diff)
	}
}

// And of goroutines with one Dir, or each with its own.
func TestSpend_RaceOfGoroutines(t *testing.T) {
	d, c := newDir(t)
	var wg sync.WaitGroup
	results := make([]error, 24)
	for i := range results {
		use := d
		if i%2 == 0 {
			use, _ = openDir(t, d.path)
		}
		wg.Go(func() { // ends with its call
			results[i] = use.Spend("one", Record{Decision: Approved, Expires: c.t.Add(time.Hour)})
		})
	}
	wg.Wait()
	if won := len(slices.DeleteFunc(results, func(err error) bool { _, lost := errors.AsType[*SpentError](err); return lost })); won != 1 {
		t.Errorf("%d won", won)
	}
}

// The file alone decides, even between hosts that do not share a lock.
func TestSpend_FileDecides(t *testing.T) {
	d, _ := newDir(t)
	must(t, d.use(func(s *session) error {
		f, err := s.sub(spentName)
		must(t, err)
		defer f.root.Close()
		must(t, f.create("x", []byte("first")))
		if err := f.create("x", []byte("second")); !errors.Is(err, fs.ErrExist) {
			t.Error(err)
		}
		if got, _, _ := f.read("x", 100); string(got) != "first" {
			t.Errorf("%q", got)
		}
		return nil
	}))
}

// A host that died while it spent, or any damage, leaves the id spent.
func TestSpend_Damaged(t *testing.T) {
	whole := `{"at":"2030-01-02T03:04:05Z","decision":"approved","outcome":"unknown","expires":"2030-01-09T03:04:05Z"}`
	plant := map[string]func(path string) error{
		"a directory":    func(p string) error { return os.Mkdir(p, 0o700) },
		"a dead link":    func(p string) error { return os.Symlink("nowhere", p) },
		"a link outside": func(p string) error { return os.Symlink("/etc/passwd", p) },
		"open to others": func(p string) error { return errors.Join(os.WriteFile(p, []byte(whole), 0o600), os.Chmod(p, 0o644)) },
	}
	for _, text := range []string{"", "{", whole[:50], "null", "{}", "[]", strings.Replace(whole, "approved", "", 1),
		strings.Replace(whole, "2030-01-09T03:04:05Z", "soon", 1), whole + whole, whole + strings.Repeat(" ", recordMax)} {
		plant[fmt.Sprintf("%.60q", text)] = func(p string) error { return os.WriteFile(p, []byte(text), 0o600) }
	}
	for name, f := range plant {
		t.Run(name, func(t *testing.T) {
			d, c := newDir(t)
			rec := Record{Decision: Approved, Expires: c.t.Add(time.Hour)}
			must(t, d.Spend("other", rec))
			must(t, f(filepath.Join(d.path, spentName, fileName("x"))))
			e := as[*SpentError](t, d.Spend("x", rec))
			if diff := cmp.Diff(Record{Outcome: Unknown}, e.First); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(e.Error(), "outcome unknown") {
				t.Error(e)
			}
			if _, ok, err := d.Spent("x"); !ok || err != nil {
				t.Error(ok, err)
			}
			as[*CorruptError](t, d.SetOutcome("x", "done"))
		})
	}
}

// T30: a suspension that has expired stays so, with its record swept and the
// clock set back.
func TestT30_NoRevival(t *testing.T) {
	d, c := newDir(t)
	start := c.t
	rec := Record{Decision: Approved, Expires: start.Add(time.Hour)}
	must(t, d.Spend("spent", rec))

	c.t = rec.Expires
	e := as[*ExpiredError](t, d.Spend("unspent", rec))
	if !e.Expires.Equal(rec.Expires) || !e.Now.Equal(c.t) || strings.Contains(e.Error(), "set back") {
		t.Error(e)
	}
	as[*SpentError](t, d.Spend("spent", rec)) // what is known is said

	c.t = rec.Expires.Add(sweepGrace + time.Second)
	must(t, d.Spend("later", Record{Decision: Denied, Expires: c.t.Add(time.Hour)}))
	if _, ok, _ := d.Spent("spent"); ok {
		t.Error("not swept")
	}
	c.t = start
	again, _ := openDir(t, d.path)
	again.Now = c.now
	for _, id := range []string{"spent", "unspent"} {
		e := as[*ExpiredError](t, again.Spend(id, rec))
		if !e.Wall.Equal(start) || !strings.Contains(e.Error(), "set back") {
			t.Error(e)
		}
	}
}

// The ledger does not grow without end, and no call looks at all of it.
func TestSpend_Sweep(t *testing.T) {
	d, c := newDir(t)
	n := 0
	spend := func() {
		t.Helper()
		n++
		must(t, d.Spend(fmt.Sprint(n), Record{Decision: Approved, Expires: c.t.Add(time.Hour)}))
	}
	left := func() int {
		entries, err := os.ReadDir(filepath.Join(d.path, spentName))
		must(t, err)
		return len(entries)
	}
	for range 3 * sweepRead {
		spend()
	}
	damaged := filepath.Join(d.path, spentName, fileName("damaged"))
	must(t, os.WriteFile(damaged, nil, 0o600))
	must(t, os.WriteFile(filepath.Join(d.path, spentName, "foreign"), nil, 0o600))
	c.t = c.t.Add(3 * time.Hour)
	before := left()
	spend()
	if got := left(); got < before+1-sweepRead || got >= before {
		t.Errorf("%d files of %d after one call", got, before)
	}
	for range 12 {
		spend()
	}
	if got := left(); got != 13+2 {
		t.Errorf("%d files, want 13 records, the damaged and the foreign", got)
	}
	if _, err := os.Stat(damaged); err != nil {
		t.Error("the damaged one is gone, and with it the knowledge that its id is spent")
	}
}

// Processes that are killed at any moment leave nothing half done: what they
// said is there, and nothing stands in the way of the next.
func TestCrash_Kill(t *testing.T) {
	d, _ := newDir(t)
	d.Now = nil
	for round := range 6 {
		cmd := child(t, "work", d.path)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		said := map[string]string{}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			word, id, _ := strings.Cut(lines.Text(), " ")
			if said[id] = word; strings.HasSuffix(word, ":") {
				t.Fatal(lines.Text())
			}
			if n == 20+round { // the rest is read until its end
				must(t, cmd.Process.Kill())
			}
		}
		_ = cmd.Wait()
		waiting := map[string]bool{}
		entries, damaged, err := d.Pending()
		if err != nil || damaged != nil {
			t.Fatal(damaged, err)
		}
		for _, e := range entries {
			waiting[e.ID] = true
		}
		for id, word := range said {
			rec, ok, err := d.Spent(id)
			must(t, err)
			switch {
			case word == "put" && !waiting[id] && !ok, word != "put" && !ok, word == "done" && rec.Outcome != "done":
				t.Errorf("%s %s: %+v", word, id, rec)
			}
		}
	}
}

func BenchmarkSpend(b *testing.B) {
	d, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		n++
		if err := d.Spend(fmt.Sprint(n), Record{Decision: Approved, Expires: time.Now().Add(time.Hour)}); err != nil {
			b.Fatal(err)
		}
	}
}
