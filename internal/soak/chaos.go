//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/soak/subject"
)

// action is one thing that chaos does to a plugin.
type action struct {
	name string
	// hurts is how long after it calls of the plugin may fail. Zero: never.
	hurts time.Duration
	do    func(ctx context.Context, c *chaos, plugin int) error
}

// actions are taken by turns. A process that is killed may fail the calls that it had; one that is stopped also those
// that it gets until the host notices and has started another. All others must not fail a single call.
var actions = []*action{
	{"kill", 2 * time.Second, func(_ context.Context, c *chaos, p int) error { return c.signal(p, syscall.SIGKILL) }},
	{"stop", silence + 3*silenceWait + 3*time.Second, func(_ context.Context, c *chaos, p int) error { return c.signal(p, syscall.SIGSTOP) }},
	{"replace", 0, func(_ context.Context, c *chaos, p int) error { return c.replace(p, false) }},
	{"break", 0, func(_ context.Context, c *chaos, p int) error { return c.replace(p, true) }},
	{"corrupt", 0, func(_ context.Context, c *chaos, p int) error { return c.corrupt(p) }},
	{"fill", 0, func(ctx context.Context, c *chaos, p int) error { return c.fill(ctx, p) }},
}

// What the soak's host is told: after so much silence a process is asked three times whether it lives.
const (
	silence     = time.Second
	silenceWait = 500 * time.Millisecond
)

// repairAfter is how long a broken or corrupted binary stays.
const repairAfter = 3 * time.Second

// chaos acts once a second on one of its victims.
type chaos struct {
	host    *host.Host
	fleet   *fleet
	book    *book
	rng     *rand.Rand
	victims []int // the others must not notice
	counts  []atomic.Int64
	missed  atomic.Int64 // the process was gone already
	errs    faults

	mu      sync.Mutex
	spans   map[int][]span // when calls of a plugin may fail
	version map[int]int
	broken  map[int]time.Time // since when the binary is bad
}

type span struct{ from, to time.Time }

func newChaos(h *host.Host, f *fleet, b *book, rng *rand.Rand, victims int) *chaos {
	return &chaos{
		host: h, fleet: f, book: b, rng: rng, victims: rng.Perm(len(f.names))[:victims], counts: make([]atomic.Int64, len(actions)),
		spans: map[int][]span{}, version: map[int]int{}, broken: map[int]time.Time{},
	}
}

// victim reports whether chaos acts on the plugin. The set does not change.
func (c *chaos) victim(plugin int) bool {
	for _, v := range c.victims {
		if v == plugin {
			return true
		}
	}
	return false
}

// explains reports whether chaos is why a call of the plugin that ran from begun to ended failed with the code.
func (c *chaos) explains(plugin int, code host.Code, begun, ended time.Time) bool {
	if code != host.Unavailable && code != host.Timeout {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans[plugin] {
		if begun.Before(s.to) && ended.After(s.from) {
			return true
		}
	}
	return false
}

// run acts until ctx ends: every action once in random order, then again; and so with the victims.
func (c *chaos) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var what, whom []int
	var filling sync.WaitGroup
	defer filling.Wait()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		c.repair(repairAfter)
		if len(what) == 0 {
			what = c.rng.Perm(len(actions))
		}
		if len(whom) == 0 {
			whom = c.rng.Perm(len(c.victims))
		}
		a, plugin := what[0], c.victims[whom[0]]
		what, whom = what[1:], whom[1:]
		act := func() {
			switch err := actions[a].do(ctx, c, plugin); {
			case errors.Is(err, syscall.ESRCH):
				c.missed.Add(1)
			case err != nil:
				c.errs.add("chaos: %s of %s: %v", actions[a].name, c.fleet.names[plugin], err)
			default:
				c.counts[a].Add(1)
			}
		}
		c.hurt(plugin, actions[a].hurts)
		if actions[a].name == "fill" {
			filling.Go(act) // ends with its calls, which end with ctx
			continue
		}
		act()
	}
}

// hurt notes that calls of the plugin may fail for so long from now.
func (c *chaos) hurt(plugin int, d time.Duration) {
	if d == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.spans[plugin] = append(c.spans[plugin], span{now, now.Add(d)})
}

// signal sends a signal to the plugin's process, which is a child of ours until we wait for it.
func (c *chaos) signal(plugin int, sig syscall.Signal) error {
	for p := range c.host.Plugins() {
		if p.Name == c.fleet.names[plugin] && p.PID > 0 {
			return syscall.Kill(p.PID, sig)
		}
	}
	return syscall.ESRCH
}

// replace puts the next version in the plugin's place.
func (c *chaos) replace(plugin int, broken bool) error {
	c.mu.Lock()
	c.version[plugin]++
	s := subject.Stamp{Plugin: c.fleet.names[plugin], Version: c.version[plugin] + 1, Broken: broken}
	if delete(c.broken, plugin); broken {
		c.broken[plugin] = time.Now()
	}
	c.mu.Unlock()
	return c.fleet.write(s)
}

// replaceAll replaces every victim once: then each has a version before its own, as it will have at the end.
func (c *chaos) replaceAll(ctx context.Context) error {
	for _, plugin := range c.victims {
		if err := c.replace(plugin, false); err != nil {
			return err
		}
	}
	return c.host.Reload(ctx)
}

func (c *chaos) corrupt(plugin int) error {
	c.mu.Lock()
	c.broken[plugin] = time.Now()
	c.mu.Unlock()
	return c.fleet.corrupt(c.fleet.names[plugin], c.rng.IntN(3))
}

// repair puts a good version in the place of every one that is bad for so long.
func (c *chaos) repair(age time.Duration) {
	var bad []int
	c.mu.Lock()
	for plugin, since := range c.broken {
		if time.Since(since) >= age {
			bad = append(bad, plugin)
		}
	}
	c.mu.Unlock()
	for _, plugin := range bad {
		if err := c.replace(plugin, false); err != nil {
			c.errs.add("chaos: repair of %s: %v", c.fleet.names[plugin], err)
		}
	}
}

// fill floods the host with what a plugin can say, and the disk.
func (c *chaos) fill(ctx context.Context, plugin int) error {
	for _, f := range []struct {
		tool string
		n    int
	}{{"flood", 3000}, {"fill", 32 << 20}} {
		id, ok := c.book.begin(plugin)
		if !ok {
			return errors.New("the book is full")
		}
		input := json.RawMessage(fmt.Sprintf(`{"id":%d,"n":%d}`, id, f.n))
		begun := time.Now()
		_, err := c.host.Call(ctx, host.Call{Tool: c.fleet.names[plugin] + "/" + f.tool, Input: input})
		e, failed := errors.AsType[*host.Error](err)
		if !failed {
			c.book.end(id, answered)
			continue
		}
		c.book.end(id, fateOf(e.Outcome))
		if ctx.Err() == nil && !c.explains(plugin, e.Code, begun, time.Now()) {
			return err
		}
	}
	return nil
}

// String says what was done.
func (c *chaos) String() string {
	var b strings.Builder
	for i, a := range actions {
		fmt.Fprintf(&b, "%s %d, ", a.name, c.counts[i].Load())
	}
	fmt.Fprintf(&b, "process gone before %d", c.missed.Load())
	return b.String()
}
