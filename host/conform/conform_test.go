package conform_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/conform"
)

// run makes the checks.
func run(t *testing.T, cfg conform.Config) *conform.Report {
	t.Helper()
	r, err := conform.Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func check(t *testing.T, r *conform.Report, name string) conform.Check {
	t.Helper()
	c, ok := r.Check(name)
	if !ok {
		t.Fatalf("the check %s was not made", name)
	}
	return c
}

// TestA3_AGoodPluginPasses holds that every check is made of a plugin that behaves, and finds nothing.
func TestA3_AGoodPluginPasses(t *testing.T) {
	r := run(t, config("good", filepath.Join(t.TempDir(), "mark")))
	var names []string
	for _, c := range r.Checks {
		names = append(names, c.Name)
		seen := c.State == conform.OK || c.State == conform.Skipped && (c.Name == "cancel" || runtime.GOOS != "linux") // it may answer too fast
		if !seen || c.Detail == "" || c.Took <= 0 {
			t.Errorf("%+v", c)
		}
	}
	if !slices.Equal(names, conform.Names()) {
		t.Errorf("checks %v", names)
	}
	if r.Failures() != 0 || !slices.Equal(r.Tools, []string{"length"}) || len(r.Manifest) != 64 || !strings.HasPrefix(r.SDK, "toolhost-go/") {
		t.Errorf("%+v", r)
	}
}

// TestA3_OnlyWhatChangesNothingIsCalled holds that a tool with side effects is called only if somebody says so, and then with what they
// gave.
func TestA3_OnlyWhatChangesNothingIsCalled(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*conform.Config)
		called []string // tools
		inputs string   // of silent; empty: any
	}{
		{"by annotations", func(*conform.Config) {}, []string{"safe"}, ""},
		{"by inputs", func(c *conform.Config) { c.Calls = []conform.Call{{Tool: "silent", Input: []byte(`{"text":"given"}`)}} }, []string{"safe", "silent"}, "given"},
		{"all", func(c *conform.Config) { c.Unsafe = true }, []string{"open", "safe", "silent"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "mark")
			cfg := config("careful", mark)
			tt.change(&cfg)
			r := run(t, cfg)
			if r.Failures() > 0 {
				t.Errorf("%+v", r.Checks)
			}
			text, err := os.ReadFile(mark)
			if err != nil {
				t.Fatal(err)
			}
			called := map[string]bool{}
			for line := range strings.Lines(string(text)) {
				tool, input, _ := strings.Cut(strings.TrimSpace(line), " ")
				if !slices.Contains([]string{"safe", "silent", "open"}, tool) {
					continue // the rest of an odd text
				}
				called[tool] = true
				if tool == "silent" && tt.inputs != "" && input != tt.inputs {
					t.Errorf("silent was called with %q", input)
				}
			}
			if got := sorted(called); !slices.Equal(got, tt.called) {
				t.Errorf("called %v, want %v", got, tt.called)
			}
			detail := check(t, r, "call").Detail
			for tool, why := range map[string]string{"silent": "not said to be read-only or idempotent: silent", "open": "said to reach an open world: open"} {
				if strings.Contains(detail, why) == called[tool] {
					t.Errorf("%s: called: %t; the report: %s", tool, called[tool], detail)
				}
			}
		})
	}
}

func sorted(m map[string]bool) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// TestA3_WhatAPlainCallDoesNotShow holds that made-up inputs find what the plain ones do not. The kit of internal/faults tests the rest.
func TestA3_WhatAPlainCallDoesNotShow(t *testing.T) {
	for _, tt := range []struct{ plugin, check, words string }{
		{"brittle", "panic", "exited with status 4"},
		{"bulky", "huge", "panic in tool: too long"},
		{"example", "manifest", "tool example is refused: inputExamples: at /0: at /text"},
	} {
		t.Run(tt.plugin, func(t *testing.T) {
			t.Parallel()
			r := run(t, config(tt.plugin, ""))
			check(t, r, tt.check)
			for _, c := range r.Checks {
				if want := c.Name == tt.check; (c.State == conform.Failed) != want {
					t.Errorf("%+v", c)
				} else if want && (!strings.Contains(c.Detail, tt.words) || c.Remedy == "") {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// TestA3_CancelIsSeen holds that a tool that heeds its context passes, and with calls that were cancelled in the middle.
func TestA3_CancelIsSeen(t *testing.T) {
	cfg := config("waits", "")
	cfg.Only = []string{"cancel"}
	r := run(t, cfg)
	if c := check(t, r, "cancel"); c.State != conform.OK || !strings.Contains(c.Detail, "cancelled in the middle") {
		t.Errorf("%+v", c)
	}
	if len(r.Checks) != 3 { // start and call are needed for it
		t.Errorf("%+v", r.Checks)
	}
}

// TestA3_NothingToCall holds that a plugin without tools is checked as far as it goes.
func TestA3_NothingToCall(t *testing.T) {
	r := run(t, config("none", ""))
	for name, want := range map[string]conform.State{
		"by-hand": conform.OK, "start": conform.OK, "manifest": conform.OK, "call": conform.Skipped, "leak": conform.Skipped,
		"hard-kill": conform.OK, "stop": conform.OK,
	} {
		if c := check(t, r, name); c.State != want {
			t.Errorf("%+v", c)
		}
	}
}

// TestA3_ReportInBothForms holds the report's JSON and its text.
func TestA3_ReportInBothForms(t *testing.T) {
	r := run(t, config("nosuch", ""))
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"failed   start ", "exit status 1 before it was ready", "skipped  manifest, call, noise"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Path   string
		Tools  []string
		Checks []struct {
			Name, State, Detail, Remedy string
			TookMs                      *int64
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil || !filepath.IsAbs(got.Path) || got.Tools == nil || len(got.Checks) != len(conform.Names()) {
		t.Fatalf("%v: %s", err, raw)
	}
	if c := got.Checks[1]; c.Name != "start" || c.State != "failed" || c.Detail == "" || c.Remedy == "" || c.TookMs == nil {
		t.Errorf("%+v", c)
	}
}

// TestA3_ErrorsThatAreNotThePlugins holds what Run returns as its own error.
func TestA3_ErrorsThatAreNotThePlugins(t *testing.T) {
	if _, err := conform.Run(t.Context(), conform.Config{Path: "nosuch"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	cfg := config("good", "")
	cfg.Only = []string{"nosuch"}
	if _, err := conform.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "the checks are by-hand, start") {
		t.Errorf("no such check: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	r, err := conform.Run(ctx, config("waits", ""))
	if !errors.Is(err, context.DeadlineExceeded) || r == nil || len(r.Checks) == len(conform.Names()) {
		t.Errorf("ended: %v, %+v", err, r)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v to end", took)
	}
}
