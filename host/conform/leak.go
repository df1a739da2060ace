package conform

import (
	"context"
	"fmt"
	"time"
)

// leakTime is how long the check leak goes on at most.
const leakTime = 20 * time.Second

// leastLeaks is how many calls show something.
const leastLeaks = 40

// leak makes many calls and compares what the process holds after a quarter of them and at the end.
func (r *run) leak(ctx context.Context) finding {
	list := r.answering()
	if len(list) == 0 {
		return r.without()
	}
	g, err := r.fresh(ctx, nil)
	if err != nil {
		return failed("", "%v", err)
	}
	defer g.close()
	pid, end, calls := g.status().PID, time.Now().Add(leakTime), 0
	if _, err := take(pid); err != nil {
		return skip("what a process holds cannot be seen here: %v", err)
	}
	loop := func(n int) error {
		for ; calls < n && time.Now().Before(end); calls++ {
			t := list[calls%len(list)]
			if _, err := r.try(ctx, g, t.calls[calls/len(list)%len(t.calls)]); fault(err) != "" {
				return err
			}
		}
		return nil
	}
	var at [3]census
	var n [3]int
	for i, share := range []int{4, 2, 1} { // a quarter, a half, all
		if err := loop(r.cfg.Leaks / share); err != nil {
			return failed(remedyOf(err), "after %s: %v", count(calls, "call"), err)
		}
		if at[i], err = settled(pid, at[0], calls-n[0]); err != nil {
			return failed("find out why the process ended", "after %s: %v", count(calls, "call"), err)
		}
		n[i] = calls
	}
	if calls < leastLeaks {
		return skip("its tools are slow: %s in %v show nothing", count(calls, "call"), leakTime)
	}
	if what := grown(at, n[2]-n[0]); what != "" {
		return failed("close what a call opens, and end what it starts, also when it fails or is cancelled", "%s", what)
	}
	return okay("%d calls: %v; then %v", calls, at[0], at[2])
}

// census is what a process holds.
type census struct {
	fds, threads, children int
	memory                 int64 // resident bytes
}

func (c census) String() string {
	return fmt.Sprintf("%d descriptors, %d threads, %d child processes, %d MiB", c.fds, c.threads, c.children, c.memory>>20)
}

// The bounds of what may grow in so many calls: a process has caches, pools and a garbage collector.
func maxMore(calls int) census {
	return census{fds: 8 + calls/20, threads: 16 + calls/20, children: 2 + calls/20, memory: 48 << 20}
}

// grown says what grew without end: more than its bound, and in both halves.
func grown(at [3]census, calls int) string {
	most := maxMore(calls)
	for _, g := range []struct {
		what    string
		a, b, c int
		most    int
	}{
		{"descriptors", at[0].fds, at[1].fds, at[2].fds, most.fds},
		{"threads", at[0].threads, at[1].threads, at[2].threads, most.threads},
		{"child processes", at[0].children, at[1].children, at[2].children, most.children},
		{"MiB of memory", int(at[0].memory >> 20), int(at[1].memory >> 20), int(at[2].memory >> 20), int(most.memory >> 20)},
	} {
		if g.c-g.a > g.most && g.c > g.b {
			return fmt.Sprintf("in %d calls it grew from %d to %d and %d %s", calls, g.a, g.b, g.c, g.what)
		}
	}
	return ""
}

// settled takes a census once what grew had time to go: files that a collector closes, children that somebody waits for.
func settled(pid int, before census, calls int) (c census, err error) {
	most := maxMore(calls)
	for range 20 {
		if c, err = take(pid); err != nil || before == (census{}) {
			return c, err
		}
		if c.fds-before.fds <= most.fds && c.threads-before.threads <= most.threads && c.children-before.children <= most.children {
			return c, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return c, nil
}
