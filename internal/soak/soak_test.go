//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/soak/subject"
)

// pluginArg as the first argument makes the test binary the plugin.
const pluginArg = "plugin"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case pluginArg:
			os.Args = append(os.Args[:1], os.Args[2:]...)
			subject.Main()
		case subject.SleepArg:
			subject.Main()
		case victimArg:
			if err := victimHost(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	}
	goleak.VerifyTestMain(m)
}

// passes runs a phase in a directory of its own and holds that no limit is broken.
func passes(t *testing.T, run func(dir string, r *report) error) {
	t.Helper()
	var out bytes.Buffer
	r := &report{out: &out}
	if err := run(t.TempDir(), r); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	if len(r.broken) > 0 {
		t.Errorf("limits: %s\n%s", strings.Join(r.broken, "\n"), &out)
	}
}

// The short form of the phase mixed: every action once on each victim, under the race detector if there is one. The
// ratio is not held: the machine is not ours.
func TestC3_MixedLoadWithChaos(t *testing.T) {
	each := 3 * time.Second
	if testing.Short() {
		each = 2 * time.Second
	}
	passes(t, func(dir string, r *report) error {
		m := &mixed{
			seed: 1, base: os.Args[0], args: []string{pluginArg}, dir: dir, plugins: 4, victims: 2,
			capacity: time.Second, each: each, every: 500 * time.Millisecond, share: 0.2,
		}
		return m.run(t.Context(), r)
	})
}

// The short forms of the phases hostkill and pid1: a whole host, of which launch's test kills only the lowest part.
func TestK4_K5_HostIsKilled(t *testing.T) {
	for name, asInit := range map[string]bool{"below init": false, "as init": true} {
		t.Run(name, func(t *testing.T) {
			passes(t, func(dir string, r *report) error {
				err := hostKills(t.Context(), os.Args[0], dir, 1, asInit, r, pluginArg)
				if asInit && err != nil && strings.Contains(err.Error(), "operation not permitted") {
					t.Skip("no pid namespace for the host here:", err)
				}
				return err
			})
		})
	}
}

// The audit finds every way in which the journals may contradict the outcomes.
func TestBook_Audit(t *testing.T) {
	tests := map[string]struct {
		fate  fate
		runs  int
		other bool // in another plugin's journal
		want  string
	}{
		"answered":                    {fate: answered, runs: 1},
		"not started":                 {fate: notStarted},
		"unknown and ran":             {fate: unknown, runs: 1},
		"unknown and did not":         {fate: unknown},
		"failed":                      {fate: failed, runs: 1},
		"answered, never ran":         {fate: answered, want: "journal does not have it"},
		"failed, never ran":           {fate: failed, want: "journal does not have it"},
		"done, never ran":             {fate: done, want: "journal does not have it"},
		"answered, ran twice":         {fate: answered, runs: 2, want: "ran 2 times"},
		"unknown, ran twice":          {fate: unknown, runs: 2, want: "ran 2 times"},
		"not started, but ran":        {fate: notStarted, runs: 1, want: "its error says not started"},
		"ran in another plugin":       {fate: answered, runs: 1, other: true, want: "ran in p01"},
		"never ended, and so is lost": {fate: started, runs: 1, want: "lost"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := &fleet{dir: t.TempDir(), names: []string{"p00", "p01"}}
			if err := os.Mkdir(f.journals(), 0o700); err != nil {
				t.Fatal(err)
			}
			b := newBook(10)
			id, _ := b.begin(0)
			b.end(id, tt.fate)
			where := 0
			if tt.other {
				where = 1
			}
			j, err := subject.OpenJournal(f.journal(f.names[where]))
			for range tt.runs {
				if err == nil {
					err = j.Add(id)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
			a, err := b.audit(f)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(a.wrong, "; ")
			if a.lost > 0 {
				got += "lost"
			}
			if !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("a call that nobody made", func(t *testing.T) {
		f := &fleet{dir: t.TempDir(), names: []string{"p00"}}
		_ = os.Mkdir(f.journals(), 0o700)
		j, err := subject.OpenJournal(f.journal("p00"))
		if err == nil {
			err = j.Add(5)
		}
		a, err2 := newBook(1).audit(f)
		if err != nil || err2 != nil || a.wrongs != 1 {
			t.Errorf("%+v, %v, %v", a, err, err2)
		}
	})
}

// A full book refuses calls rather than forget them.
func TestBook_Full(t *testing.T) {
	b := newBook(1)
	if _, ok := b.begin(0); !ok {
		t.Error("the first call was refused")
	}
	if _, ok := b.begin(0); ok {
		t.Error("the second call has no entry and was not refused")
	}
}

// Every kind notices an answer that is not its own.
func TestKind_Check(t *testing.T) {
	for _, k := range kinds {
		const id = 41
		right := subject.Output{ID: id, Sum: subject.Sum(id, subject.Text(id, k.text))}
		if k.tool == "large" {
			right.Text = subject.Text(id, k.n)
		}
		encode := func(change func(*subject.Output)) json.RawMessage {
			out := right
			change(&out)
			raw, err := json.Marshal(out)
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		if err := k.check(id, encode(func(*subject.Output) {})); err != nil {
			t.Errorf("%s: the right answer: %v", k.name, err)
		}
		for what, raw := range map[string]json.RawMessage{
			"another id":  encode(func(o *subject.Output) { o.ID++ }),
			"another sum": encode(func(o *subject.Output) { o.Sum = subject.Sum(id+1, subject.Text(id+1, k.text)) }),
			"no JSON":     json.RawMessage("x"),
		} {
			if k.check(id, raw) == nil {
				t.Errorf("%s: %s was not noticed", k.name, what)
			}
		}
		if k.tool == "large" && k.check(id, encode(func(o *subject.Output) { o.Text = o.Text[1:] })) == nil {
			t.Error("a cut text was not noticed")
		}
	}
	weights := 0
	for _, k := range kinds {
		weights += k.weight
	}
	if weights != 100 {
		t.Errorf("the weights come to %d", weights)
	}
}

// Only chaos' own damage, and only while it lasts, explains a failure.
func TestChaos_Explains(t *testing.T) {
	c := &chaos{spans: map[int][]span{}}
	c.hurt(1, time.Second)
	now := time.Now()
	tests := map[string]struct {
		plugin   int
		code     host.Code
		from, to time.Duration
		want     bool
	}{
		"in it":             {1, host.Unavailable, 0, time.Millisecond, true},
		"across it":         {1, host.Timeout, -time.Second, 3 * time.Second, true},
		"another plugin":    {2, host.Unavailable, 0, time.Millisecond, false},
		"before it":         {1, host.Unavailable, -2 * time.Second, -time.Second, false},
		"after it":          {1, host.Unavailable, 2 * time.Second, 3 * time.Second, false},
		"a wrong kind":      {1, host.Protocol, 0, time.Millisecond, false},
		"an invalid output": {1, host.InvalidOutput, 0, time.Millisecond, false},
	}
	for name, tt := range tests {
		if got := c.explains(tt.plugin, tt.code, now.Add(tt.from), now.Add(tt.to)); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestHistogram(t *testing.T) {
	var h histogram
	for i := range 100_000 {
		h.add(time.Duration(i) * time.Microsecond)
	}
	for _, q := range []float64{0, 0.01, 0.5, 0.99, 0.999, 1} {
		want := time.Duration(q*100_000) * time.Microsecond
		if got := h.quantile(q); got < want-time.Microsecond || float64(got) > float64(want)*(1+1.0/subBuckets)+2000 {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	for _, v := range []uint64{0, 1, 63, 64, 65, 127, 128, 1 << 20, 1<<62 + 12345} {
		if i := bucket(v); upper(i) < v || i > 0 && upper(i-1) >= v {
			t.Errorf("%d is in bucket %d: (%d, %d]", v, i, upper(i-1), upper(i))
		}
	}
}

func TestFleet_StampsAndDamage(t *testing.T) {
	base := filepath.Join(t.TempDir(), "base")
	if err := os.WriteFile(base, bytes.Repeat([]byte("program "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := newFleet(base, t.TempDir(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := subject.Stamp{Plugin: "p01", Version: 123456, Broken: true}
	if err := f.write(want); err != nil {
		t.Fatal(err)
	}
	if got, err := subject.ReadStamp(f.path("p01")); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := subject.ReadStamp(base); err != nil || got != (subject.Stamp{}) {
		t.Errorf("%+v, %v", got, err)
	}
	good, err := os.ReadFile(f.path("p00"))
	if err != nil {
		t.Fatal(err)
	}
	for how := range 3 {
		if err := f.write(subject.Stamp{Plugin: "p00", Version: 1}); err != nil {
			t.Fatal(err)
		}
		if err := f.corrupt("p00", how); err != nil {
			t.Fatal(err)
		}
		if bad, err := os.ReadFile(f.path("p00")); err != nil || bytes.Equal(bad, good) {
			t.Errorf("damage %d is none, %v", how, err)
		}
	}
}
