package conform

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/runes"
)

// call makes one plain call of every tool that may be called.
func (r *run) call(ctx context.Context) finding {
	if len(r.targets) == 0 {
		return r.uncalled.finding()
	}
	var worst *finding
	for _, t := range r.targets {
		if f := r.plainCall(ctx, t); f.state == Failed && worst == nil {
			worst = &f
		}
	}
	if worst != nil {
		return *worst
	}
	f := okay("%s answered", count(len(r.targets), "tool"))
	if left := r.uncalled.String(); left != "" {
		f.detail += "; not called, because " + left
	}
	return f
}

// plainCall calls one tool on a process of its own, so that a crash is nobody else's.
func (r *run) plainCall(ctx context.Context, t *target) finding {
	g, err := r.fresh(ctx, nil)
	if err != nil {
		return failed("", "%v", err)
	}
	defer g.close()
	begin := time.Now()
	_, err = r.try(ctx, g, t.calls[0])
	t.took = time.Since(begin)
	if why := fault(err); why != "" {
		code, _ := host.CodeOf(err)
		t.late = code == host.Timeout
		return failed(remedyOf(err), "%s", why)
	}
	t.answered = true
	return okay("")
}

// noisy is how many lines of output a call may print before it is too much: what waits in a host that does not keep up.
const noisy = 1000

// noiseTime is when the check noise makes no further call.
const noiseTime = 2 * time.Second

// noise calls a plugin whose host is slow at writing its log, and counts what it prints.
func (r *run) noise(ctx context.Context) finding {
	log := &record{slow: make(chan struct{})}
	g, err := r.fresh(ctx, log)
	if err != nil {
		close(log.slow)
		return failed("", "with a host that reads its log slowly: %v", err)
	}
	end := sync.OnceFunc(func() { close(log.slow); g.close() }) // the host waits for what is not written
	defer end()
	const rounds = 20
	calls, begin := 0, time.Now()
	for range rounds {
		for _, t := range r.answering() {
			if time.Since(begin) > noiseTime {
				break
			}
			_, err := r.try(ctx, g, t.calls[0])
			if why := fault(err); why != "" {
				return failed("do not wait for what is printed or logged", "with a host that reads its log slowly: %s", why)
			}
			calls++
		}
	}
	end()
	printed, dropped := log.lines.Load(), log.dropped.Load()
	if lines := printed + dropped; lines > noisy && lines > int64(noisy*calls/10) {
		return failed("print less: beyond 1,000 lines that wait, a host drops them", "%d lines of output and log for %s, %d of them dropped", lines, count(calls, "call"), dropped)
	}
	if calls == 0 {
		return r.without()
	}
	return okay("%s of output in %s, with a host that reads slowly", count(int(printed), "line"), count(calls, "call"))
}

// panics calls the tools with inputs at the edges of their schemas, and looks whether the process lives.
func (r *run) panics(ctx context.Context) finding {
	if len(r.answering()) == 0 {
		return r.without()
	}
	g, err := r.fresh(ctx, nil)
	if err != nil {
		return failed("", "%v", err)
	}
	defer g.close()
	pid, calls, errs := g.status().PID, 0, 0
	for _, t := range r.answering() {
		for _, in := range r.oddInputs(ctx, g, t) {
			_, err := r.try(ctx, g, in)
			if why := fault(err); why != "" {
				return failed(remedyOf(err), "input %s: %s", runes.Cut(string(in.Input), 120), why)
			}
			if calls++; err != nil {
				errs++
			}
		}
		if _, err := r.try(ctx, g, t.calls[0]); fault(err) != "" {
			return failed(remedyOf(err), "the call after them: %v", err)
		}
	}
	if now := g.status().PID; now != pid {
		return failed("find out why the process ended", "the process %d ended; it is %d now", pid, now)
	}
	return okay("%s at the edges of the schemas, %s of them refused or failed; the process lives", count(calls, "input"), fmt.Sprint(errs))
}

// oddInputs are valid inputs that nobody writes.
func (r *run) oddInputs(ctx context.Context, g *rig, t *target) (list []Call) {
	list = append(list, t.calls...)
	if !t.madeUp {
		return list
	}
	for _, in := range edges(t.tool.InputSchema) {
		c := Call{Tool: t.tool.Name, Input: in, Context: t.calls[0].Context}
		if r.accepts(ctx, g, c) == nil {
			list = append(list, c)
		}
	}
	return list
}

// lateness is how much later than its limit a call may return on a machine that is busy: what hangs takes longer.
const lateness = 5 * time.Second

// slow gives calls hardly any time.
func (r *run) slow(ctx context.Context) finding {
	list := r.running()
	if len(list) == 0 {
		return r.without()
	}
	g, err := r.fresh(ctx, nil)
	if err != nil {
		return failed("", "%v", err)
	}
	defer g.close()
	pid, late := g.status().PID, 0
	const remedy = "heed the context that Execute gets, and keep nothing locked while waiting"
	for _, t := range list {
		for _, limit := range []time.Duration{time.Millisecond, t.took / 4, t.took / 2} {
			limit = min(max(limit, time.Millisecond), time.Second)
			begin := time.Now()
			_, err := r.within(ctx, g, t.calls[0], limit)
			if took := time.Since(begin); took > limit+lateness {
				return failed(remedy, "a call with %v returned after %v", limit, took.Round(time.Millisecond))
			}
			if code, _ := host.CodeOf(err); code == host.Timeout {
				late++
			} else if why := fault(err); why != "" {
				return failed(remedyOf(err), "a call with %v: %s", limit, why)
			}
		}
		if _, err := r.try(ctx, g, t.calls[0]); t.answered && fault(err) != "" {
			return failed(remedy, "the call after some that had no time: %v", err)
		}
	}
	if now := g.status().PID; now != pid {
		return failed("find out why the process ended", "the process %d ended; it is %d now", pid, now)
	}
	return okay("%s ran out of time at the deadline; the process answers", count(late, "call"))
}

// huge sends inputs as large as a host lets through, and larger ones.
func (r *run) huge(ctx context.Context) finding {
	g, err := r.fresh(ctx, nil)
	if err != nil {
		return failed("", "%v", err)
	}
	defer g.close()
	pid, sent, tried := g.status().PID, 0, 0
	for _, t := range r.answering() {
		if !t.madeUp {
			continue
		}
		near := Call{Tool: t.tool.Name, Input: long(t.tool.InputSchema, r.cfg.Limits.Input-4<<10), Context: t.calls[0].Context}
		tried++
		if near.Input == nil || r.accepts(ctx, g, near) != nil {
			continue
		}
		_, err := r.try(ctx, g, near)
		if why := fault(err); why != "" {
			return failed(remedyOf(err), "an input of %d bytes: %s", len(near.Input), why)
		}
		sent++
		over := Call{Tool: t.tool.Name, Input: long(t.tool.InputSchema, r.cfg.Limits.Input+1), Context: near.Context}
		_, err = r.try(ctx, g, over)
		if e, ok := errors.AsType[*host.Error](err); !ok || e.Code != host.TooLarge || e.Outcome != host.NotStarted {
			return failed("", "an input of %d bytes, over the limit: %v", len(over.Input), err)
		}
		if _, err := r.try(ctx, g, t.calls[0]); fault(err) != "" {
			return failed(remedyOf(err), "the call after it: %v", err)
		}
	}
	switch {
	case len(r.answering()) == 0:
		return r.without()
	case tried == 0:
		return skip("no tool may be called with made-up inputs")
	case sent == 0:
		return okay("none of the inputs of %d bytes that could be made fits a schema", r.cfg.Limits.Input)
	case g.status().PID != pid:
		return failed("find out why the process ended", "the process %d ended", pid)
	}
	return okay("%s got %d bytes; more is refused before it reaches the plugin", count(sent, "tool"), r.cfg.Limits.Input)
}
