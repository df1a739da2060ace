package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// State is a state of a plugin.
type State string

// The states.
const (
	Discovered  State = "discovered"  // found, not yet started
	Starting    State = "starting"    // a process starts
	Ready       State = "ready"       // it takes calls
	Attached    State = "attached"    // it takes calls over Plugin.Dial
	Draining    State = "draining"    // it finishes its calls
	Stopped     State = "stopped"     // stopped by the host
	Crashed     State = "crashed"     // it died or did not start; the next call starts it again
	Cooling     State = "cooling"     // it died too often; it may start again at NextStart
	Quarantined State = "quarantined" // it died too often; it is not started again
)

// PluginStatus is what is known of one plugin.
type PluginStatus struct {
	Name      string    `json:"name"`
	Path      string    `json:"path,omitempty"`
	State     State     `json:"state"`
	PID       int       `json:"pid,omitempty"`
	SDK       string    `json:"sdk,omitempty"`       // such as "toolhost-go/0.1.0"
	Version   string    `json:"version,omitempty"`   // the author's
	Tools     []string  `json:"tools"`               // ids
	Restarts  int       `json:"restarts"`            // starts after the first
	Error     string    `json:"error,omitempty"`     // why it did not start or last died
	NextStart time.Time `json:"nextStart,omitzero"`  // when it may start again
	Uncovered []string  `json:"uncovered,omitempty"` // what of its sandbox this machine cannot give
	BadTools  []BadTool `json:"badTools,omitempty"`  // tools that were refused at registration

	SettingsSchema json.RawMessage `json:"settingsSchema,omitempty"` // JSON Schema of its settings, if it declares one

	Manifest string         `json:"manifest,omitempty"` // hash of what it registered last, in hex
	Findings []ToolFindings `json:"findings,omitempty"` // its tools whose definitions may speak to the model (T16)
	Clashes  []string       `json:"clashes,omitempty"`  // what of its tools' names clashes with, or looks like, another's (T18)
}

// BadTool is a tool that was refused at registration.
type BadTool struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// plugin supervises one plugin: at most one process, started on demand, once for many callers (C14), again
// after it died (C2).
type plugin struct {
	host *Host
	cfg  Plugin
	lim  Limits
	log  *slog.Logger

	manifest atomic.Pointer[manifest] // last registered; nil until then
	current  atomic.Pointer[process]  // takes calls; nil if none does

	mu       sync.Mutex
	launch   *launching
	state    State
	starts   int
	deaths   int // in a row without a completed call
	next     time.Time
	err      error
	uncovers []string
	closed   bool
}

// launching is one start of a process that any number of callers wait for.
type launching struct {
	done    chan struct{} // closed when proc or err is set
	proc    *process
	err     error
	waiters int
	cancel  context.CancelFunc // when nobody waits any more (L4)
}

// shortWait is the longest back-off that a call sits out rather than fail.
const shortWait = time.Second

// acquire returns a process that takes calls and has counted this one. The caller must release it.
func (p *plugin) acquire(ctx context.Context) (*process, error) {
	for {
		if pr := p.current.Load(); pr != nil {
			if pr.enter() {
				return pr, nil
			}
			if err := pr.wait(ctx); err != nil {
				return nil, err
			}
		}
		l, wait, err := p.join()
		if err != nil {
			return nil, err
		}
		if l == nil {
			if err := pause(ctx, wait); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			p.leave(l)
			return nil, context.Cause(ctx)
		}
		if errors.Is(l.err, context.Canceled) { // by the waiters before, who all left; or by stop, which join tells
			continue
		}
		if l.err != nil {
			return nil, l.err
		}
	}
}

// join finds the start under way or begins one. It returns neither but a time to wait during a short
// back-off.
func (p *plugin) join() (*launching, time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, &Error{Op: "start", Tool: p.cfg.Name, Code: Closed, Err: errHostClosed}
	}
	if p.launch != nil {
		p.launch.waiters++
		return p.launch, 0, nil
	}
	if p.current.Load() != nil { // another caller's start was done in between
		return nil, 0, nil
	}
	if p.state == Quarantined {
		return nil, 0, p.unavailable(fmt.Errorf("quarantined after %d deaths in a row; the last: %w", p.deaths, p.err))
	}
	switch wait := time.Until(p.next); {
	case wait > shortWait:
		return nil, 0, p.unavailable(fmt.Errorf("cooling until %s after %d deaths in a row; the last: %w",
			p.next.Format(time.RFC3339Nano), p.deaths, p.err))
	case wait > 0:
		return nil, wait, nil
	}
	return p.begin(), 0, nil
}

// begin starts a process on a goroutine that ends when the start did, at the latest after Limits.Start.
// p.mu is held.
func (p *plugin) begin() *launching {
	ctx, cancel := context.WithCancel(p.host.life)
	l := &launching{done: make(chan struct{}), waiters: 1, cancel: cancel}
	p.launch, p.state = l, Starting
	p.starts++
	p.host.work.Go(func() { // p is not closed, so the host still waits
		defer cancel()
		proc, err := p.startProcess(ctx)
		p.started(l, proc, err)
	})
	return l
}

// leave is called by a waiter that gives up; the last one cancels the start.
func (p *plugin) leave(l *launching) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.waiters--; l.waiters == 0 {
		l.cancel()
	}
}

// started publishes the end of a start.
func (p *plugin) started(l *launching, proc *process, err error) {
	p.mu.Lock()
	p.launch = nil
	switch {
	case err == nil:
		p.state, p.uncovers = Ready, proc.os.Uncovered()
		if p.cfg.Dial != nil {
			p.state = Attached
		}
		p.current.Store(proc)
		p.host.work.Go(proc.watch) // ends with the process, which may be dead already; only now can it be taken out of current
	case errors.Is(err, context.Canceled) && !p.closed:
		p.state = Discovered
	default:
		p.died(false, err)
	}
	p.mu.Unlock()
	l.proc, l.err = proc, err
	close(l.done)
	if err != nil {
		p.log.Warn("plugin did not start", "error", err)
		return
	}
	p.log.Debug("plugin is ready", "pid", proc.os.PID())
}

// gone is called once by a process that ended after it was ready.
func (p *plugin) gone(pr *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current.CompareAndSwap(pr, nil)
	if pr.stopping.Load() {
		p.state = Stopped
		return
	}
	p.died(pr.completed.Load(), pr.exit)
	p.log.Warn("plugin died", "error", pr.exit, "deaths", p.deaths)
}

// died counts a death and decides when the next start may be (C2). p.mu is held.
func (p *plugin) died(completed bool, err error) {
	p.err = err
	p.state = Crashed
	if completed {
		p.deaths, p.next = 0, time.Time{}
		return
	}
	p.deaths++
	switch {
	case p.deaths >= p.lim.Circuit:
		p.state = Quarantined
	case p.deaths >= 2:
		p.state = Cooling
		p.next = time.Now().Add(backoff(p.deaths-2, p.lim.BackoffFirst, p.lim.BackoffMost))
	}
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

// stop ends the plugin for good; it returns within drain, grace and reap (K1).
func (p *plugin) stop() {
	p.mu.Lock()
	p.closed = true
	l := p.launch
	if l != nil {
		l.cancel()
	}
	p.mu.Unlock()
	if l != nil {
		<-l.done
	}
	if pr := p.current.Load(); pr != nil {
		p.setState(Draining)
		pr.stop()
	}
	p.setState(Stopped)
}

func (p *plugin) setState(s State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state = s
}

// status never waits for a start or a stop (L5).
func (p *plugin) status() PluginStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := PluginStatus{Name: p.cfg.Name, Path: p.cfg.Path, State: p.state, Restarts: max(0, p.starts-1), Uncovered: p.uncovers}
	if p.err != nil {
		s.Error = p.err.Error()
	}
	if p.state == Cooling {
		s.NextStart = p.next
	}
	if pr := p.current.Load(); pr != nil {
		s.PID = pr.os.PID()
	}
	if m := p.manifest.Load(); m != nil {
		s.SDK, s.Version, s.BadTools, s.Manifest = m.sdk, m.version, m.bad, m.digest()
		r := p.host.registry.Load()
		for _, e := range m.tools {
			s.Tools = append(s.Tools, e.tool.ID)
			if f, ok := r.reviews[e]; ok {
				s.Findings = append(s.Findings, f)
			}
		}
		for _, c := range r.clash {
			if c.plugin == p.cfg.Name {
				s.Clashes = append(s.Clashes, c.text)
			}
		}
	}
	return s
}

// lastError is why the plugin did not start or last died, without the words that say so already.
func (p *plugin) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := errors.AsType[*Error](p.err); ok {
		return e.Err
	}
	return p.err
}

func (p *plugin) unavailable(err error) *Error {
	return &Error{Op: "start", Tool: p.cfg.Name, Code: Unavailable, Err: err}
}

// pause waits d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
