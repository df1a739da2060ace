//go:build linux

package main

import (
	"context"
	"log/slog"
	"runtime"
	"slices"
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
