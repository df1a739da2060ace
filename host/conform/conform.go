package conform

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
)

// Config says what to check and how. Path is required; the rest may be zero.
type Config struct {
	Path     string          // the plugin's binary
	Args     []string        // its arguments
	Env      []string        // K=V
	Settings json.RawMessage // JSON object, as the operator would configure it
	Sandbox  host.Sandbox    // if zero, the host's default

	// Limits are the host's. A zero Call is 10 s here: how long any call may take. A zero Drain is 200 ms.
	Limits host.Limits

	Calls  []Call   // inputs to use in place of examples and made-up ones; they allow their tools to be called
	Unsafe bool     // call every tool, also those that may change something or reach an open world
	Only   []string // names of the checks to make; if empty, all. start is always made
	Leaks  int      // calls of the check leak; if zero, 200. It ends after 20 s in any case
}

// Call is an input for a tool.
type Call struct {
	Tool    string          `json:"tool"` // id
	Input   json.RawMessage `json:"input"`
	Context json.RawMessage `json:"context,omitempty"` // request context, if the tool wants one
}

// Names returns the names of all checks in their order.
func Names() []string {
	var names []string
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// Run makes the checks, one after the other, and leaves nothing behind: no process, no file, no goroutine. The error is not about the
// plugin: there is no such file, the configuration cannot work, or ctx ended. Then the report holds what was seen until
// then. It takes some seconds, and at most the limits of its calls.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	path, err := filepath.Abs(cfg.Path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return nil, fmt.Errorf("conform: %w", err)
	}
	for _, name := range cfg.Only {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("conform: no check is named %q; the checks are %s", name, strings.Join(Names(), ", "))
		}
	}
	cfg.Path = path
	cfg.Limits.Call = cmp.Or(cfg.Limits.Call, 10*time.Second)
	cfg.Limits.Drain = cmp.Or(cfg.Limits.Drain, 200*time.Millisecond)
	cfg.Limits.Grace = cmp.Or(cfg.Limits.Grace, 2*time.Second)
	cfg.Limits.Start = cmp.Or(cfg.Limits.Start, 10*time.Second)
	cfg.Limits.Input = cmp.Or(cfg.Limits.Input, 1<<20)
	cfg.Leaks = cmp.Or(cfg.Leaks, 200)
	dir, err := os.MkdirTemp("", "conform")
	if err != nil {
		return nil, fmt.Errorf("conform: %w", err)
	}
	r := &run{cfg: cfg, dir: dir, report: &Report{Plugin: host.PluginName(path), Path: path, Tools: []string{}, Checks: []Check{}}}
	err = r.all(ctx)
	if rmErr := os.RemoveAll(dir); rmErr != nil {
		err = errors.Join(err, rmErr)
	}
	if err != nil {
		return r.report, fmt.Errorf("conform: %w", err)
	}
	return r.report, nil
}

// checks are all checks in their order.
var checks = []struct {
	name  string
	needs string // a check without whose success this one is skipped
	run   func(*run, context.Context) finding
}{
	{"by-hand", "", (*run).byHand},
	{"start", "", (*run).start},
	{"manifest", "start", (*run).manifest},
	{"call", "start", (*run).call},
	{"noise", "start", (*run).noise},
	{"panic", "start", (*run).panics},
	{"slow", "start", (*run).slow},
	{"huge", "start", (*run).huge},
	{"cancel", "start", (*run).cancel},
	{"hard-kill", "start", (*run).hardKill},
	{"stop", "start", (*run).stop},
	{"leak", "start", (*run).leak},
}

// run is one run of the checks.
type run struct {
	cfg    Config
	dir    string // of all files
	hosts  int    // opened so far
	report *Report

	// Set by start:
	targets  []*target // the tools that may be called
	uncalled uncalled
}

// finding is what a check found.
type finding struct {
	state          State
	detail, remedy string
}

func okay(format string, args ...any) finding { return finding{OK, fmt.Sprintf(format, args...), ""} }

func skip(format string, args ...any) finding {
	return finding{Skipped, fmt.Sprintf(format, args...), ""}
}

func failed(remedy, format string, args ...any) finding {
	return finding{Failed, fmt.Sprintf(format, args...), remedy}
}

func (r *run) all(ctx context.Context) error {
	for _, c := range checks {
		if c.name != "start" && len(r.cfg.Only) > 0 && !slices.Contains(r.cfg.Only, c.name) && !(c.name == "call" && r.callsAny()) {
			continue
		}
		begin := time.Now()
		f := skip("it does not start")
		if need, _ := r.report.Check(c.needs); c.needs == "" || need.State == OK {
			f = c.run(r, ctx)
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		r.report.Checks = append(r.report.Checks, Check{c.name, f.state, f.detail, f.remedy, time.Since(begin)})
	}
	return nil
}

// callsAny reports whether a check that is wanted needs to know which tools answer.
func (r *run) callsAny() bool {
	return slices.ContainsFunc(r.cfg.Only, func(name string) bool {
		return !slices.Contains([]string{"by-hand", "start", "manifest"}, name)
	})
}
