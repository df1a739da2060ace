package host

import (
	"cmp"
	"time"

	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/proto/wire"
)

// Limits are every deadline, size, back-off and circuit number of a host, in one
// place. A zero field means its default.
type Limits struct {
	Describe time.Duration // one Describe; 3 s
	Start    time.Duration // from fork to ready; 10 s
	Starts   int           // processes of the whole host that start at once; the number of cores
	Ping     time.Duration // silence, or refusal to read, after which a process is asked whether it lives; 15 s
	PingWait time.Duration // how long its answer may take; 3 s. Three misses mean dead
	Idle     time.Duration // a process without a call for so long is stopped, until the next call; 5 min. Negative: never
	Call     time.Duration // one call, if neither the tool nor the caller's context says less; 60 s
	CallMax  time.Duration // the longest limit that a tool may ask for; 10 min

	Suspension time.Duration // how long a suspended call waits for its answer; 7 days
	Parallel   int           // calls of one CallAll that run side by side; 10

	Drain time.Duration // how long running calls may finish when a plugin stops; 10 s
	Grace time.Duration // how long a process may take to end after that; 2 s
	Reap  time.Duration // how long a killed process may take to be gone; 1 s

	BackoffFirst time.Duration // wait after the second death in a row without a completed call; 0.2 s
	BackoffMost  time.Duration // the longest such wait; 30 s
	Circuit      int           // deaths in a row without a completed call that quarantine a plugin; 5

	// Held is how many bytes of one plugin process's large messages the host holds at once, of all its calls together: outputs, custom
	// output, views and whatever else is over 16 KiB, from when the first bytes of one arrive until it was checked; 256 MiB. A message
	// counts as half of Held at most. Negative: no limit. A plugin waits until there is room; what one sends that does not wait fails its call with
	// TooLarge. The limit is a process's own: no plugin takes the room of another.
	Held    int
	Message int // bytes of one message between host and plugin, both directions; 32 MiB
	Input   int // bytes of one input or request context; 1 MiB
	Output  int // bytes of one output; 32 MiB
	Values  int // JSON values in one document; 1,000,000
	Depth   int // nesting of one document, the root counted as 1; 200
}

// withDefaults fills the zero fields. Starts stays 0 for the number of cores.
func (l Limits) withDefaults() Limits {
	return l.over(Limits{
		Describe: 3 * time.Second, Start: 10 * time.Second, Ping: 15 * time.Second, PingWait: 3 * time.Second, Idle: 5 * time.Minute,
		Call: time.Minute, CallMax: 10 * time.Minute, Suspension: 7 * 24 * time.Hour, Parallel: 10,
		Drain: 10 * time.Second, Grace: 2 * time.Second, Reap: time.Second,
		BackoffFirst: 200 * time.Millisecond, BackoffMost: 30 * time.Second, Circuit: 5,
		Held: 8 * wire.MaxMessage, Message: wire.MaxMessage, Input: 1 << 20, Output: wire.MaxMessage, Values: 1_000_000, Depth: 200,
	})
}

// over returns l with its zero fields taken from base.
func (l Limits) over(base Limits) Limits {
	l.Describe = cmp.Or(l.Describe, base.Describe)
	l.Start = cmp.Or(l.Start, base.Start)
	l.Starts = cmp.Or(l.Starts, base.Starts)
	l.Ping = cmp.Or(l.Ping, base.Ping)
	l.PingWait = cmp.Or(l.PingWait, base.PingWait)
	l.Idle = cmp.Or(l.Idle, base.Idle)
	l.Call = cmp.Or(l.Call, base.Call)
	l.CallMax = cmp.Or(l.CallMax, base.CallMax)
	l.Suspension = cmp.Or(l.Suspension, base.Suspension)
	l.Parallel = cmp.Or(l.Parallel, base.Parallel)
	l.Drain = cmp.Or(l.Drain, base.Drain)
	l.Grace = cmp.Or(l.Grace, base.Grace)
	l.Reap = cmp.Or(l.Reap, base.Reap)
	l.BackoffFirst = cmp.Or(l.BackoffFirst, base.BackoffFirst)
	l.BackoffMost = cmp.Or(l.BackoffMost, base.BackoffMost)
	l.Circuit = cmp.Or(l.Circuit, base.Circuit)
	l.Held = cmp.Or(l.Held, base.Held)
	l.Message = cmp.Or(l.Message, base.Message)
	l.Input = cmp.Or(l.Input, base.Input)
	l.Output = cmp.Or(l.Output, base.Output)
	l.Values = cmp.Or(l.Values, base.Values)
	l.Depth = cmp.Or(l.Depth, base.Depth)
	return l
}

// document is the data budget of one document of so many bytes (T1, T5).
func (l Limits) document(bytes int) schema.Limits {
	return schema.Limits{Bytes: bytes, Depth: l.Depth, Values: l.Values}
}
