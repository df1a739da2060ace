//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/soak/subject"
	"github.com/toolhost/toolhost/pluginsdk/plugintest"
)

// authors opens and leaves the author's harness so many times, in memory and with a real process by turns, and holds
// that nothing gathers (A2).
func authors(ctx context.Context, base, dir string, cycles int, r *report) error {
	f, err := newFleet(base, dir, 1)
	if err != nil {
		return err
	}
	once := func(i int) error {
		return testOnce(ctx, dir, func(t testing.TB) {
			h := (*host.Host)(nil)
			if i%2 == 0 {
				h = plugintest.Open(t, subject.Tools()...)
			} else {
				h = plugintest.Binary(t, f.path(f.names[0]))
			}
			for s := range h.Plugins() {
				if err := answers(ctx, h, s.Name, uint64(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 4 { // warm
		if err := once(i); err != nil {
			return err
		}
	}
	before := settled(dir, time.Second, func(census) bool { return false })
	begun := time.Now()
	for i := range cycles {
		if err := once(i); err != nil {
			return fmt.Errorf("cycle %d: %w", i, err)
		}
	}
	took := time.Since(begun)
	// gRPC's deadline of a last write keeps a connection's buffers in memory for some seconds after its end.
	after := settled(dir, 30*time.Second, func(c census) bool { return c.within(before) && c.heap <= before.heap+heapSlack })
	r.say("cycles %d, %v each", cycles, (took / time.Duration(max(1, cycles))).Round(10*time.Microsecond))
	r.say("before %+v", before)
	r.say("after  %+v", after)
	r.hold(after.within(before) && after.files <= before.files, "%d cycles of the harness left something: %+v, before %+v", cycles, after, before)
	r.hold(after.heap <= before.heap+heapSlack && after.rss <= before.rss+rssSlack, "memory grew: %+v, before %+v", after, before)
	return nil
}

// harness is what a test is to the author's kit: go test has no part in it.
type harness struct {
	testing.TB // nil: what is not below is not used
	ctx        context.Context
	dir        string
	cleanups   []func()
	err        error
}

// testOnce runs f as go test runs a test, with the cleanups afterwards.
func testOnce(ctx context.Context, dir string, f func(testing.TB)) error {
	ctx, cancel := context.WithCancel(ctx)
	h := &harness{ctx: ctx, dir: dir}
	done := make(chan struct{})
	go func() { // ends with f, or with its Fatal
		defer close(done)
		f(h)
	}()
	<-done
	cancel()
	for len(h.cleanups) > 0 {
		last := len(h.cleanups) - 1
		clean := h.cleanups[last]
		h.cleanups = h.cleanups[:last]
		clean()
	}
	return h.err
}

func (h *harness) Helper()                  {}
func (h *harness) Name() string             { return "soak" }
func (h *harness) Context() context.Context { return h.ctx }
func (h *harness) Output() io.Writer        { return io.Discard }
func (h *harness) Cleanup(f func())         { h.cleanups = append(h.cleanups, f) }
func (h *harness) Log(...any)               {}
func (h *harness) Logf(string, ...any)      {}
func (h *harness) Failed() bool             { return h.err != nil }
func (h *harness) Error(args ...any)        { h.err = errors.Join(h.err, errors.New(fmt.Sprint(args...))) }
func (h *harness) Errorf(s string, a ...any) {
	h.err = errors.Join(h.err, fmt.Errorf(s, a...))
}
func (h *harness) Fatal(args ...any)         { h.Error(args...); runtime.Goexit() }
func (h *harness) Fatalf(s string, a ...any) { h.Errorf(s, a...); runtime.Goexit() }

func (h *harness) TempDir() string {
	dir, err := os.MkdirTemp(h.dir, "test-")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			h.Error(err)
		}
	})
	return dir
}
