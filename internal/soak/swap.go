//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/soak/subject"
)

const (
	swapCallers = 8
	swapWait    = 20 * time.Second // for what must come about
	longCall    = 4 * time.Second  // holds a version that is replaced twice meanwhile
)

// swap is one plugin under callers that never pause, while its binary is replaced.
type swap struct {
	host    *host.Host
	fleet   *fleet
	calls   atomic.Int64
	number  atomic.Uint64
	version atomic.Int64 // that new calls must be answered by, or a newer one
	wrong   faults
	most    int // processes alive at once
}

// swaps replaces a plugin's binary so many times under load, by Reload and then by Config.Watch: no call fails, at most
// two versions are alive, a third one waits for the drain and is shown waiting (D8, K12, L8).
func swaps(ctx context.Context, base, dir string, n int, r *report) error {
	for _, every := range []time.Duration{0, 100 * time.Millisecond} {
		f, err := newFleet(base, fmt.Sprint(dir, "/", every), 1)
		if err != nil {
			return err
		}
		if err := swapsOf(ctx, f, n, every, r); err != nil {
			return err
		}
	}
	return nil
}

// swapsOf runs the callers around one host. every is Config.Watch.
func swapsOf(ctx context.Context, f *fleet, n int, every time.Duration, r *report) error {
	h, err := host.Open(ctx, host.Config{
		Plugins: f.plugins(), StateDir: f.state(), Eager: true, Watch: every,
		Limits: host.Limits{Drain: 2 * longCall, Start: swapWait, Idle: -1},
	})
	if err != nil {
		return err
	}
	defer h.Close()
	s := &swap{host: h, fleet: f}
	s.version.Store(1)
	ctx2, stop := context.WithCancel(ctx)
	defer stop()
	var work sync.WaitGroup
	for i := range swapCallers {
		work.Go(func() { s.caller(ctx2, i) }) // ends with ctx2
	}
	work.Go(func() { s.count(ctx2) }) // ends with ctx2
	begun := time.Now()
	if every == 0 {
		err = s.byReload(ctx, n, r)
	} else {
		err = s.byWatch(ctx, r)
	}
	took := time.Since(begun)
	left := s.one(ctx)
	stop()
	work.Wait()
	if err != nil {
		return err
	}
	how := "Reload"
	if every != 0 {
		how = "Config.Watch"
	}
	r.say("%s: %d replacements in %v, %d callers, calls %d, failed or wrong %d; processes alive: most %d, %d at the end",
		how, s.version.Load()-1, took.Round(time.Millisecond), swapCallers, s.calls.Load(), s.wrong.n, s.most, left)
	r.faults(how, &s.wrong)
	r.hold(s.most <= 2, "%s: %d versions were alive at once, the limit is 2", how, s.most)
	r.hold(left == 1, "%s: %d processes at the end, not 1", how, left)
	return nil
}

// byReload replaces the binary n times in a row, and then twice while a call holds the first version.
func (s *swap) byReload(ctx context.Context, n int, r *report) error {
	for range n {
		if err := s.install(s.version.Load() + 1); err != nil {
			return err
		}
		if err := s.host.Reload(ctx); err != nil {
			return err
		}
		s.version.Add(1)
	}
	return s.third(ctx, r)
}

// byWatch replaces it once and waits for the new version's answers.
func (s *swap) byWatch(ctx context.Context, _ *report) error {
	if err := s.install(2); err != nil {
		return err
	}
	err := s.until(ctx, "the new version", func(host.PluginStatus) bool { return s.answeredBy(ctx, 2) })
	s.version.Store(2)
	return err
}

// third replaces the binary twice while a call of the version before holds it, so that the last one must wait.
func (s *swap) third(ctx context.Context, r *report) error {
	first := s.version.Load()
	held := make(chan error, 1)
	go func() { held <- s.call(ctx, "slow", int(longCall.Milliseconds()), first, first) }() // ends with its call
	if err := s.until(ctx, "no older version", func(p host.PluginStatus) bool { return len(p.Draining) == 0 }); err != nil {
		return err
	}
	reloads := make(chan error, 2)
	reload := func() { reloads <- s.host.Reload(ctx) }
	if err := s.install(first + 1); err != nil {
		return err
	}
	go reload() // ends with Reload, which is received below
	if err := s.until(ctx, "the first version drains", func(p host.PluginStatus) bool { return len(p.Draining) == 1 }); err != nil {
		return err
	}
	if err := s.install(first + 2); err != nil {
		return err
	}
	go reload() // the same
	waiting := ""
	if err := s.until(ctx, "the third version waits", func(p host.PluginStatus) bool { waiting = p.Waiting; return waiting != "" }); err != nil {
		return err
	}
	r.say("a third version is shown waiting: %s", waiting)
	select {
	case err := <-held:
		return fmt.Errorf("the call that holds the first version ended before the third one waited: %w", err)
	default:
	}
	if err := <-held; err != nil {
		s.wrong.add("the call that was to be drained: %v", err)
	}
	for range 2 {
		if err := <-reloads; err != nil {
			return err
		}
	}
	err := s.until(ctx, "the third version", func(host.PluginStatus) bool { return s.answeredBy(ctx, first+2) })
	s.version.Store(first + 2)
	return err
}

// install puts a version in the binary's place.
func (s *swap) install(version int64) error {
	return s.fleet.write(subject.Stamp{Plugin: s.fleet.names[0], Version: int(version)})
}

// caller makes calls one after the other. Some take longer than a replacement.
func (s *swap) caller(ctx context.Context, i int) {
	for n := i; ctx.Err() == nil; n++ {
		tool, ms := "echo", 0
		if n%20 == 0 {
			tool, ms = "slow", 200
		}
		if err := s.call(context.WithoutCancel(ctx), tool, ms, s.version.Load(), 0); err != nil {
			s.wrong.add("%s: %v", time.Now().Format(clockTime), err)
		}
		s.calls.Add(1)
	}
}

// call makes one call and checks its answer. It must come from a version that is at least, and at most most if that is
// not 0.
func (s *swap) call(ctx context.Context, tool string, ms int, least, most int64) error {
	ctx, cancel := context.WithTimeout(ctx, 2*longCall)
	defer cancel()
	id := s.number.Add(1)
	input := json.RawMessage(fmt.Sprintf(`{"id":%d,"n":%d}`, id, ms))
	res, err := s.host.Call(ctx, host.Call{Tool: s.fleet.names[0] + "/" + tool, Input: input})
	if err != nil {
		return fmt.Errorf("call %d of %s, after version %d: %w", id, tool, least, err)
	}
	out, err := subject.Decode(res.Output)
	switch version := int64(out.Version); {
	case err != nil:
		return err
	case out.ID != id || out.Sum != subject.Sum(id, ""):
		return fmt.Errorf("call %d was answered with %+v", id, out)
	case version < least || most > 0 && version > most:
		return fmt.Errorf("call %d was answered by version %d, not one from %d to %d", id, version, least, most)
	}
	return nil
}

func (s *swap) answeredBy(ctx context.Context, version int64) bool {
	return s.call(ctx, "echo", 0, version, version) == nil
}

// until waits for something that the plugin's status shows.
func (s *swap) until(ctx context.Context, what string, ok func(host.PluginStatus) bool) error {
	var last host.PluginStatus
	for end := time.Now().Add(swapWait); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		for last = range s.host.Plugins() {
			if ok(last) {
				return nil
			}
		}
	}
	return fmt.Errorf("waited %v for this: %s; %+v", swapWait, what, last)
}

// count keeps the largest number of processes that are alive at once.
func (s *swap) count(ctx context.Context) {
	for ctx.Err() == nil {
		s.most = max(s.most, alive())
		time.Sleep(5 * time.Millisecond)
	}
}

// one waits until one process is left and returns how many there are.
func (s *swap) one(ctx context.Context) int {
	n := alive()
	for end := time.Now().Add(swapWait); n != 1 && time.Now().Before(end) && ctx.Err() == nil; n = alive() {
		time.Sleep(20 * time.Millisecond)
	}
	return n
}

// alive is how many children this process has that are not dead.
func alive() (n int) {
	for _, p := range processes() {
		if p.parent == os.Getpid() && p.state != "Z" {
			n++
		}
	}
	return n
}
