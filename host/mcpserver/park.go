package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
)

// flight is a call under way in the host, or the next round of one that was suspended. One request at a time attends
// it: the one that began it and, in the modern era, after it those that bring answers. Between two of them it is
// parked, and runs on.
type flight struct {
	id     string // empty until it is parked
	owner  string // whose it is, for the limits of what is parked; empty until it is parked
	caller host.Caller
	tool   *exported
	cancel context.CancelCauseFunc
	wake   chan struct{} // one token: there is something to do for who attends

	done chan struct{} // closed when res and err are set
	res  *host.Result
	err  error

	mu       sync.Mutex
	attended bool
	can      capabilities               // of the request that attends, or the last that did
	level    slog.Level                 // the least that it wants to be told
	progress bool                       // it wants reports
	notes    []note                     // for who attends
	bytes    int                        // of notes
	dropped  int                        // records for which there was no room
	latest   *host.Progress             // the last report while nobody attended
	open     []*question                // not answered, in the order in which they came
	early    map[string]json.RawMessage // answers that came with the call itself
	names    map[string]bool            // keys that were used
	group    group                      // of questions that are put at once
	missing  capabilities               // what could not be asked for want of a capability

	increase increase // used by who attends, and each of them hands it on through the parking lot

	round  int         // of questions; guarded by lot.mu
	expiry *time.Timer // while it is parked; guarded by lot.mu
}

// note is something to tell the client.
type note struct {
	log      *logParams
	level    slog.Level
	size     int
	progress *host.Progress
}

// The bounds of what waits to be told.
const (
	maxNotes     = 128
	maxNoteBytes = 256 << 10
	maxEach      = 8 // reports of progress that are told each; of more that wait the latest
)

// note queues something for who attends. What nobody can be told is dropped, of progress the latest is kept.
func (f *flight) note(n note) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case n.progress != nil && !f.attended:
		f.latest = n.progress
		return
	case n.progress != nil && !f.progress, n.log != nil && (!f.attended || n.level < f.level):
		return
	}
	if i := len(f.notes) - 1; i >= maxEach && n.progress != nil && f.notes[i].progress != nil {
		f.bytes += n.size - f.notes[i].size
		f.notes[i] = n // the latest wins
		return
	}
	if len(f.notes) >= maxNotes || f.bytes+n.size > maxNoteBytes {
		if n.log != nil {
			f.dropped++
		}
		return
	}
	f.notes = append(f.notes, n)
	f.bytes += n.size
	f.signal()
}

func (f *flight) signal() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// peek returns the next thing to tell.
func (f *flight) peek() (note, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.notes) == 0 {
		return note{}, false
	}
	return f.notes[0], true
}

// told takes out what peek returned.
func (f *flight) told() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes -= f.notes[0].size
	f.notes[0] = note{}
	f.notes = f.notes[1:]
}

func (f *flight) wantsLog(l slog.Level) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.attended && l >= f.level
}

// attend says who is told from now on.
func (f *flight) attend(r request, p *pace) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attended, f.can, f.level, f.progress = true, r.can, p.level, p.token != nil
	if f.latest != nil && f.progress {
		f.notes = append(f.notes, note{progress: f.latest})
	}
	f.latest = nil
}

// lost returns and resets how many records were dropped of those that who attends wanted.
func (f *flight) lost() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.dropped + len(f.notes) // what waits at the end is not told any more
	for _, note := range f.notes {
		if note.log == nil {
			n--
		}
	}
	f.dropped = 0
	return n
}

// leave says that nobody is told any more.
func (f *flight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.attended, f.notes, f.bytes = false, nil, 0
}

// The limits of what waits in memory (T29).
const (
	maxParked      = 100
	maxParkedOwner = 20
	maxRounds      = 100 // of one call
)

var (
	errParkedExpired = errors.New("the client did not bring the answers in time")
	errTooManyParked = errors.New("too many calls wait for the answers of their callers: answer some of them, or wait")
	errTooManyRounds = errors.New("the client was asked too often: it brings no answers")
	errServerClosed  = errors.New("the server is closed")
)

// lot holds the flights that nobody attends.
type lot struct {
	wait time.Duration // how long one waits

	mu     sync.Mutex
	parked map[string]*flight
	owners map[string]int
}

func newLot(wait time.Duration) *lot {
	return &lot{wait: wait, parked: map[string]*flight{}, owners: map[string]int{}}
}

// put parks a flight and returns the round that its answers must name. The error says that there are too many.
func (l *lot) put(f *flight) (round int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.id == "" {
		f.id, f.owner = rand.Text(), owner(f.caller)
	}
	if len(l.parked) >= maxParked || l.owners[f.owner] >= maxParkedOwner {
		return 0, errTooManyParked
	}
	if f.round >= maxRounds {
		return 0, errTooManyRounds
	}
	f.round++
	round = f.round
	l.parked[f.id] = f
	l.owners[f.owner]++
	f.expiry = time.AfterFunc(l.wait, func() {
		if l.take(f.id, round) != nil {
			f.cancel(errParkedExpired)
		}
	})
	return round, nil
}

// take takes a flight out if it waits for the answers of this round; else it returns nil.
func (l *lot) take(id string, round int) *flight {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.parked[id]
	if f == nil || f.round != round {
		return nil
	}
	f.expiry.Stop()
	delete(l.parked, id)
	if l.owners[f.owner]--; l.owners[f.owner] == 0 {
		delete(l.owners, f.owner)
	}
	return f
}

// newFlight returns a flight that has not begun.
func newFlight(tool *exported, caller host.Caller) *flight {
	return &flight{caller: caller, tool: tool, level: never, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// empty forgets what is parked; its calls were cancelled.
func (l *lot) empty() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.parked {
		f.expiry.Stop()
	}
	clear(l.parked)
	clear(l.owners)
}

// owner is whose calls count together: those of a principal, or of one connection of which no more is known.
func owner(c host.Caller) string {
	who := c.Subject
	if who == "" {
		who = c.Session
	}
	key, _ := json.Marshal([]string{c.Channel, c.Tenant, who}) // strings marshal
	return string(key)
}
