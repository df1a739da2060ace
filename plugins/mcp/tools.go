package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
)

// tools are the tools of one server, kept as the server lists them.
type tools struct {
	settings settings
	registry *pluginsdk.Registry
	log      *slog.Logger
	remote   remote
	changes  chan struct{} // holds one token: the list is to be read again
	said     []string      // what was logged about the list before
	calls    atomic.Int64  // how many were made

	mu     sync.Mutex
	listed bool // the tools are set
}

func newTools(s settings, r *pluginsdk.Registry, log *slog.Logger, connect connector) *tools {
	t := &tools{settings: s, registry: r, log: log, changes: make(chan struct{}, 1)}
	t.remote = connect(s, log, t.changed)
	return t
}

// changed says that the server's list is another one. Many calls before the list is read are one.
func (t *tools) changed() {
	select {
	case t.changes <- struct{}{}:
	default:
	}
}

const (
	slack      = 500 * time.Millisecond // how long before the host's deadline the first list is given up
	settle     = 50 * time.Millisecond  // between two lists, however often the server says that its tools changed
	firstPause = time.Second            // after a list that failed, doubled each time
	longPause  = time.Minute
)

// start lists the tools for the first time, and keeps them until ctx ends. A server that says no is an error: the host shows it, and
// tries again at the next use. One that says nothing is waited for: a host that does not know the tools has none meanwhile, and
// they come when the server has named them (R32); one that knows them, and is about to call one, waits.
func (t *tools) start(ctx context.Context) error {
	first, gaveUp := make(chan error), make(chan struct{})
	// Ends with ctx, or when the first list fails while it is waited for. The end of the plugin waits for it, so that the
	// server's process ends before (R30).
	t.registry.Go(func() {
		defer t.close()
		t.keep(ctx, first, gaveUp)
	})
	var late <-chan time.Time
	patience := t.settings.patience()
	if deadline, ok := t.registry.Deadline(); ok {
		patience = max(min(patience, time.Until(deadline)-slack), 0)
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err := <-first:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-late:
		close(gaveUp)
		t.none(fmt.Errorf("%s has not named its tools within %s; they come when it has", t.settings.place(), patience.Round(time.Millisecond)))
		return nil
	}
}

// keep lists the tools now, whenever they changed, and again when that failed. The outcome of the first list is sent to first, for
// as long as somebody waits for it.
func (t *tools) keep(ctx context.Context, first chan<- error, gaveUp <-chan struct{}) {
	err := t.list(ctx, t.settings.timeout()+slack) // whoever waits has given up before
	select {
	case first <- err:
		if err != nil {
			return
		}
	case <-gaveUp:
	case <-ctx.Done():
		return
	}
	for pause := firstPause; ; {
		var again <-chan time.Time
		if err != nil {
			t.log.Warn("the server's tools cannot be listed", "error", err, "again in", pause)
			t.none(err)
			again, pause = time.After(pause), min(2*pause, longPause)
		} else {
			pause = firstPause
		}
		select {
		case <-ctx.Done():
			return
		case <-again:
		case <-t.changes:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
		err = t.list(ctx, t.settings.timeout())
	}
}

// none says why there are no tools yet. Tools that were set stay.
func (t *tools) none(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.listed {
		_ = t.registry.Set(pluginsdk.Refuse("", why)) // its error is why
	}
}

// list reads the server's list, which may take so long, and sets its tools.
func (t *tools) list(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	raws, warnings, err := t.remote.list(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
			err = cause
		}
		return fmt.Errorf("MCP server %s: %w", t.settings.place(), err)
	}
	definitions, more := t.define(raws)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listed = true
	if err := t.registry.Set(definitions...); err != nil { // the others are set all the same, and these shown
		more = append(more, err.Error())
	}
	t.say(append(warnings, more...))
	return nil
}

// say logs what was not said about the list before.
func (t *tools) say(now []string) {
	for _, text := range now {
		if !slices.Contains(t.said, text) {
			t.log.Warn("the server's list of tools: " + text)
		}
	}
	t.said = now
}

// define makes tools of what the server lists, in its order. One that cannot be served is refused by name, alone (R5).
func (t *tools) define(raws []json.RawMessage) (definitions []pluginsdk.Definition, warnings []string) {
	parsed, faults, names := make([]definition, len(raws)), make([]error, len(raws)), make([]string, 0, len(raws))
	for i, raw := range raws {
		parsed[i], faults[i] = parseTool(raw)
		if name := parsed[i].name; faults[i] == nil && slices.Contains(names, name) {
			faults[i] = errors.New("the server lists another tool of that name")
		} else if name != "" {
			names = append(names, name)
		}
	}
	ids := toolIDs(names)
	for i, d := range parsed {
		id := ids[d.name]
		if faults[i] != nil {
			definitions = append(definitions, pluginsdk.Refuse(id, faults[i]))
			continue
		}
		for _, member := range d.ignored {
			warnings = append(warnings, fmt.Sprintf("tool %q: left out: %s", d.name, member))
		}
		if id != d.name {
			warnings = append(warnings, fmt.Sprintf("tool %q is called %s here", d.name, id))
		}
		definitions = append(definitions, t.tool(id, d))
	}
	for _, name := range t.settings.Idempotent {
		if !slices.Contains(names, name) {
			warnings = append(warnings, fmt.Sprintf("settings: at /idempotent: the server has no tool %q", name))
		}
	}
	return definitions, warnings
}

// tool makes one of them.
func (t *tools) tool(id string, d definition) pluginsdk.Definition {
	if t.settings.Output == "off" {
		d.output = nil
	}
	repeat := slices.Contains(t.settings.Idempotent, d.name)
	call := caller{
		remote: t.remote, place: t.settings.place(), name: d.name, repeat: repeat,
		structured: d.output != nil, calls: &t.calls,
	}
	return pluginsdk.Tool[json.RawMessage, any]{
		ID: id, Title: d.title, Description: d.text(), InputSchema: d.input, OutputSchema: d.output,
		MCP: d.mcp, Idempotent: repeat, Execute: call.execute, ToModelOutput: toModelOutput,
	}
}

// close ends the connection, and the server's process with it.
func (t *tools) close() {
	if err := t.remote.close(); err != nil {
		t.log.Warn("the server did not end well", "error", err)
	}
}
