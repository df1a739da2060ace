//go:build linux

package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/toolhost/toolhost/host"
)

// counter counts log records and keeps none: the host's log is read, as it is in production.
type counter struct{ n atomic.Int64 }

func (c *counter) Enabled(context.Context, slog.Level) bool  { return true }
func (c *counter) Handle(context.Context, slog.Record) error { c.n.Add(1); return nil }
func (c *counter) WithAttrs([]slog.Attr) slog.Handler        { return c }
func (c *counter) WithGroup(string) slog.Handler             { return c }

// standing is the state of every plugin, by name.
func standing(h *host.Host) []host.PluginStatus { return slices.Collect(h.Plugins()) }

func callers() int { return 32 * runtime.GOMAXPROCS(0) }

// watcher counts what the host's plugins go through.
type watcher struct {
	stopped func()
	done    chan struct{}
	states  map[host.State]int
	swaps   int // another program took the calls
	refused int // a new one was not taken
}

// watch begins to count. Its goroutine ends with stop.
func watch(h *host.Host) *watcher {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{stopped: cancel, done: make(chan struct{}), states: map[host.State]int{}}
	events := h.Watch(ctx)
	go func() {
		defer close(w.done)
		program := map[string]string{}
		for e := range events {
			w.states[e.State]++
			switch before := program[e.Plugin]; {
			case e.State != host.Ready:
			case e.Err != nil:
				w.refused++
			case e.Text == "" && e.Program != "":
				if program[e.Plugin] = e.Program; before != "" && before != e.Program {
					w.swaps++
				}
			}
		}
	}()
	return w
}

// stop ends the counting and says what was counted.
func (w *watcher) stop() string {
	w.stopped()
	<-w.done
	var all []string
	for state, n := range w.states {
		all = append(all, fmt.Sprintf("%s %d", state, n))
	}
	slices.Sort(all)
	return fmt.Sprintf("%d, new versions that were not taken %d; events: %s", w.swaps, w.refused, strings.Join(all, ", "))
}
