package host

import (
	"time"

	"github.com/toolhost/toolhost/proto/wire"
)

// Limits are every deadline, size, back-off and circuit number of a host, in one
// place. A zero field means its default.
type Limits struct {
	Describe time.Duration // one Describe; 3 s
	Start    time.Duration // from fork to ready; 10 s
	Starts   int           // processes that start at once; the number of cores
	Ping     time.Duration // silence after which a process is asked whether it lives; 15 s
	PingWait time.Duration // how long its answer may take; 3 s. Three misses mean dead
	Call     time.Duration // one call, if neither the tool nor the caller's context says less; 60 s
	CallMax  time.Duration // the longest limit that a tool may ask for; 10 min

	Drain time.Duration // how long running calls may finish when a plugin stops; 10 s
	Grace time.Duration // how long a process may take to end after that; 2 s
	Reap  time.Duration // how long a killed process may take to be gone; 1 s

	BackoffFirst time.Duration // wait after the second death in a row without a completed call; 0.2 s
	BackoffMost  time.Duration // the longest such wait; 30 s
	Circuit      int           // deaths in a row without a completed call that quarantine a plugin; 5

	Message int // bytes of one message between host and plugin, both directions; 32 MiB
	Input   int // bytes of one input, request context or answer; 1 MiB
	Output  int // bytes of one output; 32 MiB
	Values  int // JSON values in one document; 1,000,000
	Depth   int // nesting of one document, the root counted as 1; 200
	Stderr  int // bytes of stderr kept as evidence; 64 KiB
}

// withDefaults fills the zero fields. Starts stays 0 for the number of cores.
func (l Limits) withDefaults() Limits {
	return l.over(Limits{
		Describe: 3 * time.Second, Start: 10 * time.Second, Ping: 15 * time.Second, PingWait: 3 * time.Second,
		Call: time.Minute, CallMax: 10 * time.Minute,
		Drain: 10 * time.Second, Grace: 2 * time.Second, Reap: time.Second,
		BackoffFirst: 200 * time.Millisecond, BackoffMost: 30 * time.Second, Circuit: 5,
		Message: wire.MaxMessage, Input: 1 << 20, Output: wire.MaxMessage, Values: 1_000_000, Depth: 200, Stderr: 64 << 10,
	})
}

// over returns l with its zero fields taken from base.
func (l Limits) over(base Limits) Limits {
	or(&l.Describe, base.Describe)
	or(&l.Start, base.Start)
	or(&l.Starts, base.Starts)
	or(&l.Ping, base.Ping)
	or(&l.PingWait, base.PingWait)
	or(&l.Call, base.Call)
	or(&l.CallMax, base.CallMax)
	or(&l.Drain, base.Drain)
	or(&l.Grace, base.Grace)
	or(&l.Reap, base.Reap)
	or(&l.BackoffFirst, base.BackoffFirst)
	or(&l.BackoffMost, base.BackoffMost)
	or(&l.Circuit, base.Circuit)
	or(&l.Message, base.Message)
	or(&l.Input, base.Input)
	or(&l.Output, base.Output)
	or(&l.Values, base.Values)
	or(&l.Depth, base.Depth)
	or(&l.Stderr, base.Stderr)
	return l
}

func or[T comparable](p *T, def T) {
	var zero T
	if *p == zero {
		*p = def
	}
}
