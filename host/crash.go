package host

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/toolhost/toolhost/host/internal/state"
	"github.com/toolhost/toolhost/internal/runes"
)

// gone is called once by a process that ended after it was ready.
func (p *plugin) gone(pr *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer pr.program.release()
	current := p.current.CompareAndSwap(pr, nil)
	for i, old := range p.draining {
		if old == pr {
			p.draining = append(p.draining[:i:i], p.draining[i+1:]...)
			break
		}
	}
	switch {
	case current && !pr.stopping.Load():
		p.died(pr.completed.Load(), pr.exit, pr.os.PID())
		p.log.Warn("plugin died", "error", pr.exit, "deaths", p.deaths)
	case current:
		p.to(Stopped, PluginEvent{PID: pr.os.PID(), Program: pr.program.digest()})
	default:
		p.to(p.state, PluginEvent{PID: pr.os.PID(), Program: pr.program.digest(), Text: "a replaced or idle process has ended"})
		if !pr.stopping.Load() {
			p.log.Warn("plugin died while it finished its calls", "error", pr.exit)
		}
	}
}

// died counts a death and decides when the next start may be (C2). p.mu is held.
func (p *plugin) died(completed bool, err error, pid int) {
	p.err = err
	event := PluginEvent{PID: pid, Program: p.tried.digest(), Err: err, Text: err.Error()}
	if completed {
		p.deaths, p.next = 0, time.Time{}
		p.to(Crashed, event)
		return
	}
	p.deaths++
	_, refused := errors.AsType[*refusal](err) // it lives, and says why it cannot serve: that may mend, as a server that is down does (R31)
	switch {
	case p.deaths >= p.lim.Circuit && p.rollBack(err):
		p.to(Crashed, event)
	case p.deaths >= p.lim.Circuit && !refused:
		p.quarantine(fmt.Errorf("%d deaths in a row without a completed call; the last: %w", p.deaths, bare(err)))
	case p.deaths >= 2:
		p.next = time.Now().Add(backoff(p.deaths-2, p.lim.BackoffFirst, p.lim.BackoffMost))
		p.to(Cooling, event)
	default:
		p.to(Crashed, event)
	}
}

// rollBack puts the version before in the place of one that starts and dies (D8). p.mu is held.
func (p *plugin) rollBack(err error) bool {
	if p.previous == nil || p.program.good.Load() {
		return false
	}
	bad := p.program
	p.program, p.previous = p.previous, nil
	p.refuse(bad, err)
	bad.release()
	p.deaths, p.next = 0, time.Time{}
	if m := p.known(p.program); m != nil {
		p.manifest.Store(m)
		p.host.spawn(p.host.publish)
	}
	return true
}

// backoff is first doubled n times, at most most, give or take a fifth.
func backoff(n int, first, most time.Duration) time.Duration {
	d := first
	for ; n > 0 && d < most; n-- {
		d *= 2
	}
	d = min(d, most)
	return d + time.Duration((rand.Float64()-0.5)*0.4*float64(d))
}

// lieError says that a plugin registers otherwise than the same bytes did under the same conditions, and did
// not say that its tools come and go (D6).
type lieError struct{ text string }

func (e *lieError) Error() string { return e.text }

// untriedError is why nothing was started: what is at the plugin's path is not to be. It is no death of anything, and
// over as soon as that is mended.
type untriedError struct{ err error }

func (e *untriedError) Error() string { return e.err.Error() }
func (e *untriedError) Unwrap() error { return e.err }

// quarantineError is why a plugin is not started until its binary changes or a person trusts it again.
type quarantineError struct {
	reason string
	err    error // with the evidence; nil: it was an earlier host that saw it
}

func (e *quarantineError) Unwrap() error { return e.err }

func (e *quarantineError) Error() string {
	return "quarantined: " + e.reason + "; a new binary, other settings or toolhost trust lift it"
}

// quarantine keeps the program that was tried last from being started, in this host and in others of this
// user. p.mu is held.
func (p *plugin) quarantine(reason error) {
	q := state.Quarantine{
		Plugin: p.cfg.Name, Program: p.tried.digest(), Conditions: p.tried.conditions(),
		Reason: runes.Cut(bare(reason).Error(), maxRefusal), At: time.Now(),
	}
	p.quarant = &q
	p.err = p.unavailable(&quarantineError{q.Reason, reason})
	p.to(Quarantined, PluginEvent{Program: q.Program, Err: p.err, Text: p.err.Error()})
	p.host.spawn(func() { // ends when the file is written
		if err := p.host.state.SetQuarantine(q); err != nil {
			p.log.Warn("the quarantine holds in this host only", "error", err)
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.onDisk = p.quarant == &q
	})
}

// quarantined is the quarantine that keeps g, which is tried now, from being started, if one does. One of other
// bytes, or of the same with other arguments or settings, is over.
func (p *plugin) quarantined(g *program) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tried = g
	q := p.quarant
	if q == nil {
		return nil
	}
	if p.released() {
		return nil
	}
	if q.Conditions == g.conditions() || q.Conditions == "" && q.Program == "" { // the record may be damaged
		return p.unavailable(&quarantineError{reason: q.Reason})
	}
	p.lift()
	return nil
}

// released reports whether somebody else has lifted the quarantine meanwhile, as toolhost trust does, and then
// lifts it here. p.mu is held.
func (p *plugin) released() bool {
	if p.quarant == nil || !p.onDisk {
		return p.quarant == nil
	}
	if _, held, err := p.host.state.Quarantined(p.cfg.Name); held || err != nil {
		return false
	}
	p.forgive()
	return true
}

// forgive takes the plugin as if nothing had happened. p.mu is held.
func (p *plugin) forgive() {
	if p.tried != nil {
		p.host.cache.forget(p.tried.key)
	}
	p.relearn.Store(true)
	p.quarant, p.onDisk, p.deaths, p.next, p.err = nil, false, 0, time.Time{}, nil
	p.refused, p.refusal = state.Identity{}, nil
}

// lift ends the quarantine of other bytes. p.mu is held.
func (p *plugin) lift() {
	p.quarant, p.onDisk, p.deaths, p.next, p.err = nil, false, 0, time.Time{}, nil
	p.host.spawn(func() { // ends when the file is removed
		if _, err := p.host.state.Release(p.cfg.Name); err != nil {
			p.log.Warn("the quarantine is lifted in this host only", "error", err)
		}
	})
}

// Trust lifts the quarantine of a plugin, also one that an earlier host set, and forgets what the plugin
// registered before. The error is an *Error: NotFound if there is no such plugin.
func (h *Host) Trust(name string) error {
	p := h.plugin(name)
	if p == nil {
		return &Error{Op: "trust", Tool: name, Code: NotFound, Err: errNoPlugin}
	}
	if _, err := h.state.Release(name); err != nil {
		return &Error{Op: "trust", Tool: name, Code: Internal, Err: err}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if q := p.quarant; q != nil && p.tried == nil { // an earlier host's
		if key, err := hex.DecodeString(q.Conditions); err == nil && len(key) == len(state.Key{}) {
			h.cache.forget(state.Key(key))
		}
	}
	p.forgive()
	if p.state == Quarantined || p.state == Cooling {
		p.to(p.rest(), PluginEvent{Text: "trusted again"})
	}
	return nil
}

var errNoPlugin = errors.New("no plugin has that name")
