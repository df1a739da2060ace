//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// records keeps what a host logs.
type records struct {
	mu   sync.Mutex
	all  []slog.Record
	wait time.Duration // how long one record takes
}

func (r *records) Enabled(context.Context, slog.Level) bool { return true }
func (r *records) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r *records) WithGroup(string) slog.Handler            { return r }
func (r *records) Handle(_ context.Context, rec slog.Record) error {
	time.Sleep(r.wait)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, rec.Clone())
	return nil
}

// with returns the records whose message has a text.
func (r *records) with(text string) (found []slog.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.all {
		if strings.Contains(rec.Message, text) {
			found = append(found, rec)
		}
	}
	return found
}

// attr is an attribute of a record as text; empty if it has none.
func attr(rec slog.Record, name string) (value string) {
	rec.Attrs(func(a slog.Attr) bool {
		if a.Key == name {
			value = a.Value.String()
		}
		return a.Key != name
	})
	return value
}

// O5: whatever way a plugin and its children print, it is in one log, in order, with stream and time.
func TestO5_EveryRouteIsInOneLog(t *testing.T) {
	log := &records{}
	h := open(t, host.Config{Logger: slog.New(log)}, self("more", "more"))
	before := time.Now()
	call(t, h, "routes", `{}`)
	eventually(t, "all is logged", func() bool { return len(log.with("by ")) >= 9 }) // a busy machine's log may follow the result
	got := map[string][]string{}
	for _, rec := range log.with("by ") {
		stream := attr(rec, "stream")
		got[stream] = append(got[stream], regexp.MustCompile(`by [a-z0-9 ]+$`).FindString(rec.Message))
		if rec.Time.Before(before) || rec.Time.After(time.Now()) || rec.Level != slog.LevelInfo {
			t.Errorf("%v %v: %s", rec.Time, rec.Level, rec.Message)
		}
	}
	want := map[string][]string{
		"stdout": {"by fmt", "by descriptor 1", "by a child"},
		"stderr": {"by fmt to stderr", "by log", "by slog", "by println", "by descriptor 2", "by a child to stderr"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// O2: a record over the limit keeps its level and says how much of it was cut.
func TestO2_ALongRecordKeepsItsLevel(t *testing.T) {
	log := &records{}
	h := open(t, host.Config{Logger: slog.New(log)}, self("more", "more"))
	call(t, h, "record", `{"n":200000}`)
	found := log.with("start ")
	if len(found) != 1 {
		t.Fatalf("%d records", len(found))
	}
	rec := found[0]
	var cut int
	if _, err := fmt.Sscanf(rec.Message[strings.LastIndex(rec.Message, "[")+1:], "%d bytes cut]", &cut); err != nil {
		t.Fatalf("%v: the message ends %q", err, rec.Message[len(rec.Message)-40:])
	}
	kept := strings.Count(rec.Message, "é")
	if rec.Level != slog.LevelError || len(rec.Message) > 64<<10 || cut < 200000-2*kept || cut > 200000-2*kept+100 {
		t.Errorf("level %v, %d bytes, %d runes kept, %d bytes cut", rec.Level, len(rec.Message), kept, cut)
	}
}

// O6: a message of many lines is one record, with its level.
func TestO6_AMessageOfManyLinesIsOneRecord(t *testing.T) {
	log := &records{}
	h := open(t, host.Config{Logger: slog.New(log)}, self("more", "more"))
	call(t, h, "trace", `{}`)
	if got := log.with("main.main"); len(got) != 1 || got[0].Message != "it broke\ngoroutine 1 [running]:\n\tmain.main()" || got[0].Level != slog.LevelWarn {
		t.Errorf("%+v", got)
	}
}

// O7: a flood of lines that call themselves errors is information, takes bounded memory when the logger is slower than
// the plugin, is counted where it was dropped, and keeps no call waiting.
func TestO7_AFloodIsBounded(t *testing.T) {
	log := &records{wait: time.Millisecond}
	h := open(t, host.Config{Logger: slog.New(log)}, self("more", "more"))
	call(t, h, "echo", `{"text":""}`)
	const lines = 100_000
	var slowest time.Duration
	peak := peakOf(func() {
		r := h.Start(t.Context(), host.Call{Tool: "flood", Input: fmt.Appendf(nil, `{"n":%d}`, lines)})
		for range 20 {
			began := time.Now()
			call(t, h, "echo", `{"text":"beside it"}`)
			slowest = max(slowest, time.Since(began))
		}
		if _, err := r.Result(); err != nil {
			t.Error(err)
		}
	})
	h.Close()
	logged, dropped := 0, 0
	for _, rec := range log.with("level=error msg=flood") {
		logged++
		if rec.Level != slog.LevelInfo {
			t.Fatalf("%v: %s", rec.Level, rec.Message)
		}
	}
	for _, rec := range log.with("log records were dropped") {
		var n int
		fmt.Sscan(attr(rec, "dropped"), &n)
		dropped += n
	}
	t.Logf("%d logged, %d dropped, %d KiB of memory, slowest call %v", logged, dropped, peak>>10, slowest)
	if logged == 0 || logged+dropped > lines || dropped < lines/2 {
		t.Errorf("%d logged and %d dropped of %d", logged, dropped, lines)
	}
	if peak > 16<<20 || slowest > soon { // the logger would take 100 s for all lines
		t.Errorf("%d MiB of memory, slowest call %v", peak>>20, slowest)
	}
}

// C11: a tool whose own word on approval fails, panics, is late or dies with its process has not been allowed to run;
// neither has one whose policy or hook fails.
func TestC11_WhoFailsHasNotApproved(t *testing.T) {
	for _, tt := range []struct {
		tool, how string
		code      host.Code
	}{
		{"asksnot", "", host.Suspended}, // the control is below
		{"askfails", "", host.Suspended},
		{"askpanics", "", host.Suspended},
		{"askdies", "", host.Unavailable},
		{"askhangs", "", host.Timeout},
		{"asksnot", "policy fails", host.Suspended},
		{"asksnot", "policy panics", host.Suspended},
		{"asksnot", "hook fails", host.Internal},
		{"asksnot", "hook panics", host.Internal},
	} {
		t.Run(strings.TrimSpace(tt.tool+" "+tt.how), func(t *testing.T) {
			ran := filepath.Join(t.TempDir(), "ran")
			cfg := host.Config{StateDir: stateDir(t)}
			oracle := errors.New("the oracle is silent")
			switch tt.how {
			case "policy fails":
				cfg.Policy.Func = func(context.Context, host.PolicyCall) (host.Action, error) { return host.Allow, oracle }
			case "policy panics":
				cfg.Policy.Func = func(context.Context, host.PolicyCall) (host.Action, error) { panic("the oracle is mad") }
			case "hook fails":
				cfg.Hooks = []host.Hook{{Before: func(context.Context, *host.Call) (*host.Result, error) { return nil, oracle }}}
			case "hook panics":
				cfg.Hooks = []host.Hook{{Before: func(context.Context, *host.Call) (*host.Result, error) { panic("the oracle is mad") }}}
			}
			h := open(t, cfg, self("more", "more"))
			if _, ok := h.Tool("asksnot"); !ok {
				t.Fatal("no tool")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			if tt.code == host.Timeout {
				ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
			}
			defer cancel()
			input, err := json.Marshal(map[string]string{"text": ran})
			if err != nil {
				t.Fatal(err)
			}
			_, err = h.Call(ctx, host.Call{Tool: tt.tool, Input: input})
			if tt.tool == "asksnot" && tt.how == "" {
				if err != nil {
					t.Errorf("with nothing wrong: %v", err)
				}
				return
			}
			if code, _ := host.CodeOf(err); code != tt.code {
				t.Errorf("%v, want %v", err, tt.code)
			}
			h.Close()
			if b, err := os.ReadFile(ran); err == nil {
				t.Errorf("it ran: %s", b)
			}
		})
	}
}
