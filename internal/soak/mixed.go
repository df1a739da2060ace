//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/soak/subject"
)

// The limits of the mixed load.
const (
	share      = 0.3              // of the capacity that is offered
	ratioLimit = 3                // p99 of healthy plugins, with chaos over without
	recovery   = 20 * time.Second // after chaos every plugin must answer within it
	heapSlack  = 8                // MiB that the heap may be larger at the end
	rssSlack   = 64               // MiB that the resident set may be
)

// mixed is the mixed load: capacity, then a quiet phase, then an equally long one with chaos.
type mixed struct {
	seed     uint64
	base     string // the plugin's binary
	args     []string
	dir      string
	plugins  int
	victims  int
	capacity time.Duration // of the measurement
	each     time.Duration // of the two phases
	every    time.Duration // between two actions of chaos
	share    float64
	rate     float64 // calls a second in place of the share, to repeat a run; zero: the share
	ratio    float64 // the limit; zero: none, where the machine is not ours
}

func (m *mixed) run(ctx context.Context, r *report) error {
	f, err := newFleet(m.base, m.dir, m.plugins, m.args...)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(m.seed, 0))
	opened := takeCensus(f.state())
	b := newBook(m.callsAtMost())
	records := &counter{}
	h, err := host.Open(ctx, host.Config{
		Plugins: f.plugins(), StateDir: f.state(), Eager: true, Watch: m.every / 4, Logger: slog.New(records),
		Limits: host.Limits{Ping: silence, PingWait: silenceWait, Idle: -1, Start: 20 * time.Second, Drain: callTime},
	})
	if err != nil {
		return err
	}
	defer h.Close()
	l := &load{host: h, fleet: f, book: b}
	unrest := newChaos(h, f, b, rand.New(rand.NewPCG(m.seed, 1)), m.victims)
	if err := unrest.replaceAll(ctx); err != nil {
		return err
	}
	l.capacity(ctx, rng, m.capacity/4) // warm
	most, t := l.capacity(ctx, rng, m.capacity)
	rate := cmp.Or(m.rate, most*m.share)
	r.say("capacity %.0f calls/s with %d callers; offered %.0f/s, %.0f%% of it", most, callers(), rate, 100*rate/most)
	m.judge(r, "capacity", t)

	before, stood := settled(f.state(), time.Second, func(census) bool { return false }), standing(h)
	was := usageNow()
	quiet := l.open(ctx, rng, rate, m.each)
	m.judge(r, "quiet", quiet)
	r.say("quiet: %s", usageNow().since(was))

	l.chaos = unrest
	seen := watch(h)
	was = usageNow()
	stormy := m.storm(ctx, l, rng, rate)
	m.judge(r, "chaos", stormy)
	r.say("chaos: %s", usageNow().since(was))
	m.recovered(ctx, r, l)
	r.say("swaps %s", seen.stop())
	after := settled(f.state(), 15*time.Second, func(c census) bool { return c.within(before) && c.heap <= before.heap+heapSlack })
	m.compare(r, l, quiet, stormy, stood, standing(h))
	h.Close()
	closed := settled(f.state(), 5*time.Second, func(c census) bool { return c.within(opened) })
	m.state(r, opened, before, after, closed)
	r.say("log records %d", records.n.Load())
	a, err := b.audit(f)
	if err != nil {
		return err
	}
	m.audited(r, a)
	return ctx.Err()
}

// callsAtMost is how many calls the phases can make, by far.
func (m *mixed) callsAtMost() int {
	const most = 30_000 // a second, closed loop
	return int(most*(m.capacity*5/4).Seconds() + most*m.share*2*m.each.Seconds())
}

// storm is a load with chaos.
func (m *mixed) storm(ctx context.Context, l *load, rng *rand.Rand, rate float64) *tally {
	ctx2, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { l.chaos.run(ctx2, m.every) }) // ends with stop
	t := l.open(ctx, rng, rate, m.each)
	stop()
	done.Wait()
	return t
}

// judge prints a phase and what must not have been in it.
func (m *mixed) judge(r *report, name string, t *tally) {
	r.say("%s: calls %d, results %d%s", name, t.calls.Load(), t.results.Load(), t.kinds())
	r.hold(!t.full.Load(), "%s: more calls than the book has room for", name)
	r.faults(name, &t.faults)
}

func (r *report) faults(name string, f *faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.hold(f.n == 0, "%s: %d calls or actions with a wrong outcome, the limit is 0", name, f.n)
	for _, s := range f.first {
		r.say("  %s", s)
	}
}

// kinds lists the errors by code and outcome.
func (t *tally) kinds() string {
	s := ""
	for code := range t.errors {
		for outcome := range t.errors[code] {
			if n := t.errors[code][outcome].Load(); n > 0 {
				s += fmt.Sprintf(", %s/%s %d", host.Code(code), host.Outcome(outcome), n)
			}
		}
	}
	return s
}

// recovered makes every binary good again and holds that every plugin answers.
func (m *mixed) recovered(ctx context.Context, r *report, l *load) {
	l.chaos.repair(0)
	r.say("chaos: %s", l.chaos)
	r.faults("chaos", &l.chaos.errs)
	if err := l.host.Reload(ctx); err != nil {
		r.hold(false, "reload after chaos: %v", err)
	}
	begun := time.Now()
	for plugin, name := range l.fleet.names {
		for {
			_, ok, err := l.ask(ctx, plugin)
			if ok {
				break
			}
			if time.Since(begun) > recovery || ctx.Err() != nil {
				r.hold(false, "%s does not answer %v after chaos: %v", name, recovery, err)
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	r.say("every plugin answers %v after chaos", time.Since(begun).Round(time.Millisecond))
	// Copies that nobody needs any more go when the next one is made.
	err := l.chaos.replace(l.chaos.victims[0], false)
	if err == nil {
		err = l.host.Reload(ctx)
	}
	r.hold(err == nil, "a replacement after chaos: %v", err)
}

// ask makes one small call and reports which version answered.
func (l *load) ask(ctx context.Context, plugin int) (version int, ok bool, err error) {
	id, ok := l.book.begin(plugin)
	if !ok {
		return 0, false, fmt.Errorf("the book is full")
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	res, err := l.host.Call(ctx, kinds[0].call(l.fleet.names[plugin], id))
	if err != nil {
		l.book.end(id, unknown)
		return 0, false, err
	}
	l.book.end(id, answered)
	out, err := subject.Decode(res.Output)
	return out.Version, err == nil, err
}

// compare prints and holds what the two phases show beside each other.
func (m *mixed) compare(r *report, l *load, quiet, stormy *tally, was, is []host.PluginStatus) {
	restarts, healthy := 0, 0
	for i := range is {
		n := is[i].Restarts - was[i].Restarts
		restarts += n
		if !l.chaos.victim(i) && is[i].PID != was[i].PID {
			healthy++
		}
	}
	r.say("restarts %d; healthy plugins with another process: %d of %d", restarts, healthy, m.plugins-m.victims)
	r.hold(healthy == 0, "%d healthy plugins have another process, the limit is 0", healthy)
	r.say("%-34s %10s %10s %10s %10s", "healthy plugins, fast calls", "p50", "p99", "p99.9", "calls")
	for _, row := range []struct {
		name string
		h    *histogram
	}{{"quiet", &quiet.fast}, {"chaos", &stormy.fast}, {"quiet, with slow ones", &quiet.all}, {"chaos, with slow ones", &stormy.all},
		{"victims' answers", &stormy.hit}, {"quiet, begun later than intended", &quiet.lag}, {"chaos, begun later than intended", &stormy.lag}} {
		r.say("%-34s %10s %10s %10s %10d", row.name, short(row.h.quantile(0.5)), short(row.h.quantile(0.99)), short(row.h.quantile(0.999)), row.h.n.Load())
	}
	ratio := float64(stormy.fast.quantile(0.99)) / float64(max(1, quiet.fast.quantile(0.99)))
	slow := float64(stormy.all.quantile(0.99)) / float64(max(1, quiet.all.quantile(0.99)))
	r.say("ratio of p99, chaos over quiet: %.2f for fast calls, %.2f with slow ones (limit %.1f)", ratio, slow, m.ratio)
	r.hold(m.ratio == 0 || ratio <= m.ratio, "p99 of healthy plugins' calls under chaos is %.2f times that without, the limit is %.1f", ratio, m.ratio)
}

func short(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

// state prints what the host held and holds that nothing was left.
func (m *mixed) state(r *report, opened, before, after, closed census) {
	row := func(name string, f func(census) int) {
		r.say("%-12s %8d %8d %8d %8d", name, f(opened), f(before), f(after), f(closed))
	}
	r.say("%-12s %8s %8s %8s %8s", "state", "no host", "start", "end", "closed")
	row("goroutines", func(c census) int { return c.goroutines })
	row("descriptors", func(c census) int { return c.fds })
	row("sockets", func(c census) int { return c.sockets })
	row("children", func(c census) int { return c.children })
	row("zombies", func(c census) int { return c.zombies })
	row("heap MiB", func(c census) int { return c.heap })
	row("RSS MiB", func(c census) int { return c.rss })
	row("state files", func(c census) int { return c.files })
	row("state MiB", func(c census) int { return c.filesMiB })
	r.hold(after.within(before), "the end holds more than the start: %+v, %+v", after, before)
	r.hold(after.children == m.plugins, "%d children at the end, not one a plugin (%d)", after.children, m.plugins)
	r.hold(closed.within(opened), "the closed host holds more than none: %+v, %+v", closed, opened)
	r.hold(after.heap <= before.heap+heapSlack, "the heap grew from %d to %d MiB", before.heap, after.heap)
	r.hold(after.rss <= before.rss+rssSlack, "the resident set grew from %d to %d MiB", before.rss, after.rss)
	r.hold(after.files <= before.files+2, "the state directory grew from %d to %d files", before.files, after.files)
}

func (m *mixed) audited(r *report, a audit) {
	r.say("all phases: calls %d, runs in the journals %d, wrong %d, lost %d", a.calls, a.ran, a.wrongs, a.lost)
	r.hold(a.lost == 0, "%d lost calls, the limit is 0", a.lost)
	r.hold(a.wrongs == 0, "%d wrong outcomes, the limit is 0", a.wrongs)
	for _, s := range a.wrong {
		r.say("  %s", s)
	}
}
