package conform

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
)

// rig is one host with the plugin, ready to be called.
type rig struct {
	*host.Host
	log *record
}

// open starts a host, and waits until the plugin is ready. state names the host's state directory: hosts with the same
// one know the plugin from each other.
func (r *run) open(ctx context.Context, state string, log *record) (*rig, error) {
	if log == nil {
		log = &record{}
	}
	h, err := host.Open(ctx, host.Config{
		Plugins: []host.Plugin{{
			Path: r.cfg.Path, Args: r.cfg.Args, Env: r.cfg.Env, Settings: r.cfg.Settings, Sandbox: r.cfg.Sandbox,
		}},
		Limits: r.cfg.Limits, StateDir: filepath.Join(r.dir, state), Eager: true, Logger: slog.New(log),
	})
	if err != nil {
		return nil, err
	}
	g := &rig{h, log}
	s := g.status()
	if s.Error != "" {
		return nil, errors.Join(errors.New(s.Error), h.Close())
	}
	return g, nil
}

// fresh is open with a state directory of its own.
func (r *run) fresh(ctx context.Context, log *record) (*rig, error) {
	r.hosts++
	return r.open(ctx, fmt.Sprint("state", r.hosts), log)
}

// close ends the host. Its errors are of no use to a check.
func (g *rig) close() { _ = g.Close() }

func (g *rig) status() (s host.PluginStatus) {
	for s = range g.Plugins() {
	}
	return s
}

// try makes a call with the limit of a call. The error is the call's.
func (r *run) try(ctx context.Context, g *rig, in Call) (*host.Result, error) {
	return r.within(ctx, g, in, r.cfg.Limits.Call)
}

// within makes a call that may take so long. A question is declined, an approval is given.
func (r *run) within(ctx context.Context, g *rig, in Call, limit time.Duration) (*host.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	res, err := g.Call(ctx, host.Call{Tool: in.Tool, Input: in.Input, Context: in.Context})
	if s, ok := errors.AsType[*host.SuspendedError](err); ok && s.Suspension.Kind == host.KindApproval {
		return g.Call(ctx, s.Suspension.Approve())
	}
	return res, err
}

// fault says what is wrong with the end of a call; empty: a plugin may end a call like this.
func fault(err error) string {
	e, ok := errors.AsType[*host.Error](err)
	if err == nil || ok && e.Outcome == host.NotStarted && e.Code != host.Unavailable && e.Code != host.Protocol {
		return ""
	}
	if !ok {
		return err.Error()
	}
	switch e.Code {
	case host.ToolFailed:
		if t, ok := errors.AsType[*host.ToolError](e.Err); !ok || !t.Panic {
			return ""
		}
	case host.Suspended, host.Denied, host.Busy, host.InvalidInput:
		return ""
	}
	return e.Error()
}

// remedyOf says what to do about a fault.
func remedyOf(err error) string {
	e, ok := errors.AsType[*host.Error](err)
	if !ok {
		return ""
	}
	switch e.Code {
	case host.ToolFailed:
		return "return an error in place of a panic; the stack is in the plugin's log"
	case host.InvalidOutput:
		return "make the output fit the output schema, or the schema the output"
	case host.Protocol, host.TooLarge:
		return "keep to toolplugin.v1, as the SDK does"
	case host.Timeout:
		return "answer sooner, heed the context, or give an input that takes less time (Config.Calls, --input)"
	case host.Unavailable:
		if x, ok := errors.AsType[*host.ExitError](e.Err); ok && x.Panic != "" {
			return "recover panics in goroutines of your own: the SDK recovers those of the tool only"
		}
		return "find out why the process ended: a call must not end it"
	}
	return ""
}

// record is a log handler that keeps what the plugin said.
type record struct {
	slow chan struct{} // if not nil, every record takes slowLog to write, until it is closed

	lines   atomic.Int64 // of the plugin's stdout and stderr
	dropped atomic.Int64 // records that the host had to drop

	mu   sync.Mutex
	last []string // the newest
}

// slowLog is how long a slow reader of the log takes for a record.
const slowLog = 5 * time.Millisecond

// keptLines is how many lines a record keeps.
const keptLines = 200

func (l *record) Enabled(context.Context, slog.Level) bool { return true }
func (l *record) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *record) WithGroup(string) slog.Handler            { return l }

func (l *record) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "stream":
			l.lines.Add(1)
		case "dropped":
			l.dropped.Add(int64(a.Value.Uint64()))
		}
		return true
	})
	l.mu.Lock()
	if l.last = append(l.last, rec.Message); len(l.last) > 2*keptLines {
		l.last = append([]string(nil), l.last[keptLines:]...)
	}
	l.mu.Unlock()
	if l.slow != nil {
		select {
		case <-time.After(slowLog):
		case <-l.slow:
		}
	}
	return nil
}

// says reports whether one of the newest lines holds the text.
func (l *record) says(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.last {
		if strings.Contains(line, text) {
			return true
		}
	}
	return false
}
