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
	counts  map[host.State]int
}

// watch begins to count. Its goroutine ends with stop.
func watch(h *host.Host) *watcher {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{stopped: cancel, done: make(chan struct{}), counts: map[host.State]int{}}
	events := h.Watch(ctx)
	go func() {
		defer close(w.done)
		for e := range events {
			w.counts[e.State]++
		}
	}()
	return w
}

// stop ends the counting and says what was counted.
func (w *watcher) stop() string {
	w.stopped()
	<-w.done
	var all []string
	for state, n := range w.counts {
		all = append(all, fmt.Sprintf("%s %d", state, n))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
