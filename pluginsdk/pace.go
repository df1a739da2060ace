package pluginsdk

import (
	"sync/atomic"
	"time"
)

const (
	quickWork  = 100 * time.Microsecond // waking another goroutine for less costs a good part of it
	quickAfter = 4                      // calls in a row
	soonAfter  = time.Millisecond       // a call comes soon after the one before
)

// pace tells whether a tool's calls are over so soon that who reads them runs them too, when they are alone. A tool whose calls take
// longer, or wait for something, is run by a goroutine of its own.
type pace struct{ row atomic.Int32 } // quick calls, one after the other

func (p *pace) quick() bool { return p.row.Load() >= quickAfter }

// waits notes that a call waits for the host, whose word nobody reads for a while if the goroutine that does so waits. A tool whose calls
// do is not quick, however fast the host.
func (p *pace) waits() { p.row.Store(0) }

// took notes a call.
func (p *pace) took(d time.Duration) {
	switch row := p.row.Load(); {
	case d > quickWork:
		p.row.Store(0)
	case row < quickAfter:
		p.row.Store(row + 1)
	}
}

// rhythm tells whether calls that are alone come soon after each other. To watch whoever reads and runs a call costs two timers; it is
// worth that only for calls one after the other.
type rhythm struct{ last time.Time }

func (r *rhythm) soon(now time.Time) bool {
	soon := now.Sub(r.last) < soonAfter
	r.last = now
	return soon
}
