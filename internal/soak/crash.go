//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/soak/subject"
)

// crashes has a plugin end its own process in the middle of a call, and calls it again, so many times, and holds that
// nothing gathers (C7, K11).
func crashes(ctx context.Context, base, dir string, cycles int, r *report) error {
	f, err := newFleet(base, dir, 1)
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, host.Config{Plugins: f.plugins(), StateDir: f.state(), Limits: host.Limits{Start: 30 * time.Second}})
	if err != nil {
		return err
	}
	defer h.Close()
	id := uint64(0)
	cycle := func() error {
		id++
		if err := answers(ctx, h, f.names[0], id); err != nil {
			return err
		}
		_, err := h.Call(ctx, host.Call{Tool: f.names[0] + "/exit", Input: json.RawMessage(`{"id":0,"n":7}`)})
		e, ok := errors.AsType[*host.Error](err)
		if !ok || e.Code != host.Unavailable || e.Outcome != host.Unknown {
			return fmt.Errorf("the call that ended the process: %w", err)
		}
		return nil
	}
	for range 5 { // warm
		if err := cycle(); err != nil {
			return err
		}
	}
	if err := answers(ctx, h, f.names[0], id); err != nil {
		return err
	}
	before := settled(f.state(), time.Second, func(census) bool { return false })
	begun := time.Now()
	for i := range cycles {
		if err := cycle(); err != nil {
			return fmt.Errorf("cycle %d: %w", i, err)
		}
	}
	took := time.Since(begun)
	if err := answers(ctx, h, f.names[0], id); err != nil {
		return err
	}
	after := settled(f.state(), 5*time.Second, func(c census) bool { return c.within(before) })
	r.say("cycles %d, %v each", cycles, (took / time.Duration(cycles)).Round(10*time.Microsecond))
	r.say("before %+v", before)
	r.say("after  %+v", after)
	r.hold(after.within(before) && after.files <= before.files, "%d crash cycles left something: %+v, before %+v", cycles, after, before)
	r.hold(after.heap <= before.heap+heapSlack && after.rss <= before.rss+rssSlack, "memory grew: %+v, before %+v", after, before)
	return nil
}

// answers makes one small call and checks the answer.
func answers(ctx context.Context, h *host.Host, plugin string, id uint64) error {
	res, err := h.Call(ctx, host.Call{Tool: plugin + "/echo", Input: json.RawMessage(fmt.Sprintf(`{"id":%d}`, id))})
	if err != nil {
		return err
	}
	out, err := subject.Decode(res.Output)
	if err == nil && (out.ID != id || out.Sum != subject.Sum(id, "")) {
		err = fmt.Errorf("call %d was answered with %+v", id, out)
	}
	return err
}
