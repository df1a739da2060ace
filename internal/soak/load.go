//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
)

const (
	callTime   = 5 * time.Second // a call's deadline
	callMargin = 2 * time.Second // how much later it must have ended, whatever happens
)

// load makes calls to the plugins of a fleet, checks every one's outcome and enters it in the book.
type load struct {
	host  *host.Host
	fleet *fleet
	book  *book
	chaos *chaos // nil: nothing may go wrong
}

// tally is what the calls of one phase came to.
type tally struct {
	calls   atomic.Int64
	results atomic.Int64
	errors  [host.InvalidConfig + 1][host.Done + 1]atomic.Int64 // by code and outcome
	fast    histogram                                           // healthy plugins, kinds that take no time of their own; from the intended start
	all     histogram                                           // healthy plugins, all kinds
	hit     histogram                                           // victims, answers only
	lag     histogram                                           // how much later than intended a call was begun
	faults  faults
	full    atomic.Bool // the book was
}

// faults collects what must not have happened.
type faults struct {
	mu    sync.Mutex
	n     int
	first []string
}

func (f *faults) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	const most = 20
	if f.n++; len(f.first) < most {
		f.first = append(f.first, fmt.Sprintf(format, args...))
	}
}

// open makes calls at the rate (a second), with random gaps as independent callers have, for the duration, whatever
// becomes of those before (open loop). Latency counts from when a call was to start, so that a stall of the machine or
// the host is in the numbers of all calls that it held up. It returns when the last call ended or must have.
func (l *load) open(ctx context.Context, rng *rand.Rand, rate float64, d time.Duration) *tally {
	t := &tally{}
	var calls sync.WaitGroup
	begun := time.Now()
	at := time.Duration(0)
	for ctx.Err() == nil {
		at += time.Duration(rng.ExpFloat64() / rate * float64(time.Second))
		if at > d {
			break
		}
		plugin, k := rng.IntN(len(l.fleet.names)), draw(rng)
		due := begun.Add(at)
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		t.lag.add(time.Since(due))
		calls.Go(func() { l.one(ctx, t, k, plugin, due) }) // ends with its call
	}
	ended := make(chan struct{})
	go func() { calls.Wait(); close(ended) }() // ends with the last call
	select {
	case <-ended:
	case <-time.After(callTime + callMargin):
	}
	return t
}

// capacity is how many calls a second callers complete that wait for their answers (closed loop), with so many of
// them that the machine is the limit.
func (l *load) capacity(ctx context.Context, rng *rand.Rand, d time.Duration) (float64, *tally) {
	t := &tally{}
	var callers sync.WaitGroup
	begun := time.Now()
	for range 32 * runtime.GOMAXPROCS(0) {
		own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
		callers.Go(func() { // ends after d
			for time.Since(begun) < d && ctx.Err() == nil {
				l.one(ctx, t, draw(own), own.IntN(len(l.fleet.names)), time.Now())
			}
		})
	}
	callers.Wait()
	return float64(t.calls.Load()) / time.Since(begun).Seconds(), t
}

// one makes one call, checks its outcome and enters it.
func (l *load) one(ctx context.Context, t *tally, k *kind, plugin int, due time.Time) {
	id, ok := l.book.begin(plugin)
	if !ok {
		t.full.Store(true)
		return
	}
	t.calls.Add(1)
	name := l.fleet.names[plugin]
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, callTime)
	res, err := k.do(ctx, l.host, k.call(name, id), k)
	cancel()
	ended := time.Now()
	if took := ended.Sub(begun); took > callTime+callMargin {
		t.faults.add("late: call %d (%s of %s) took %v", id, k.name, name, took)
	}
	victim := l.chaos != nil && l.chaos.victim(plugin)
	if err != nil {
		l.book.end(id, l.failed(t, k, id, plugin, err, begun, ended))
		return
	}
	l.book.end(id, answered)
	t.results.Add(1)
	if err := k.check(id, res.Output); err != nil {
		t.faults.add("wrong: call %d (%s of %s): %v", id, k.name, name, err)
	}
	switch took := ended.Sub(due); {
	case victim:
		t.hit.add(took)
	case k.fast:
		t.fast.add(took)
		t.all.add(took)
	default:
		t.all.add(took)
	}
}

// failed counts an error and says what the host concluded. An error that nothing explains is a fault.
func (l *load) failed(t *tally, k *kind, id uint64, plugin int, err error, begun, ended time.Time) fate {
	name := l.fleet.names[plugin]
	e, ok := errors.AsType[*host.Error](err)
	if !ok {
		t.faults.add("wrong: call %d (%s of %s): %v", id, k.name, name, err)
		return unknown
	}
	t.errors[e.Code][e.Outcome].Add(1)
	switch {
	case k.name == canceled && e.Code == host.Canceled:
	case l.chaos != nil && l.chaos.explains(plugin, e.Code, begun, ended):
	default:
		t.faults.add("unexplained: call %d (%s of %s, from %s to %s): %s, %s: %v", id, k.name, name,
			begun.Format(clockTime), ended.Format(clockTime), e.Code, e.Outcome, err)
	}
	return fateOf(e.Outcome)
}

const clockTime = "15:04:05.000"
