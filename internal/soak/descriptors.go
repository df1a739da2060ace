//go:build linux

package main

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host"
)

// descriptorsFlat watches a host's descriptors while its plugins do little, and holds that they stay as many (C8).
// Every plugin is asked often whether it lives, and now and then for an answer.
func descriptorsFlat(ctx context.Context, base, dir string, plugins int, d time.Duration, r *report) error {
	f, err := newFleet(base, dir, plugins)
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, host.Config{
		Plugins: f.plugins(), StateDir: f.state(), Eager: true,
		Limits: host.Limits{Ping: 200 * time.Millisecond, PingWait: 5 * time.Second, Idle: -1, Start: time.Minute},
	})
	if err != nil {
		return err
	}
	defer h.Close()
	id := uint64(0)
	for ; id < uint64(plugins); id++ {
		if err := answers(ctx, h, f.names[id], id); err != nil {
			return err
		}
	}
	first := settled(f.state(), time.Second, func(census) bool { return false })
	least, most := first.fds, first.fds
	looks := 0
	for begun := time.Now(); time.Since(begun) < d && ctx.Err() == nil; looks++ {
		time.Sleep(250 * time.Millisecond)
		id++
		if err := answers(ctx, h, f.names[id%uint64(plugins)], id); err != nil {
			return err
		}
		for range h.Plugins() { // as who watches does
		}
		n, _ := descriptors()
		least, most = min(least, n), max(most, n)
	}
	last := settled(f.state(), 2*time.Second, func(c census) bool { return c.within(first) })
	r.say("plugins %d, %v, looks %d: descriptors %d at the start, from %d to %d, %d at the end", plugins, d, looks, first.fds, least, most, last.fds)
	r.hold(most <= first.fds, "the descriptors grew from %d to %d", first.fds, most)
	r.hold(last.within(first) && last.children == plugins, "the end holds more than the start: %+v, %+v", last, first)
	return ctx.Err()
}
