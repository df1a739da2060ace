package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/state"
	"github.com/toolhost/toolhost/internal/runes"
)

// plugin supervises one plugin: at most one process that takes calls, started on demand, once for many
// callers (C14), again after it died (C2), replaced without a gap (D8). Beside it there may be one that was
// replaced and finishes its calls.
type plugin struct {
	host *Host
	cfg  Plugin
	lim  Limits
	log  *slog.Logger

	manifest atomic.Pointer[manifest] // what is listed; nil: nothing is known
	current  atomic.Pointer[process]  // takes calls; nil if none does
	recalled sync.Once                // recall was tried
	relearn  atomic.Bool              // what it registered before is not held against it

	baseM    sync.Mutex               // held while the baseline is set
	first    atomic.Pointer[baseline] // what was seen first, if nothing was kept before
	swapping sync.Mutex               // held while a new version takes the place of the old one

	mu       sync.Mutex
	launch   *launching
	state    State
	starts   int
	deaths   int // in a row without a completed call
	next     time.Time
	err      error
	uncovers []string
	closed   bool

	program  *program       // what the next process runs, if the file does not change; nil: not read yet
	tried    *program       // what was started last; only its hash and identity count
	previous *program       // what ran before it
	refused  state.Identity // of the file whose bytes are not taken: a replacement that does not work
	refusal  error          // why
	quarant  *state.Quarantine
	onDisk   bool       // quarant is also kept in the state directory
	draining []*process // that were replaced or are stopped for want of calls
	waiting  string     // what a new version waits for
}

// launching is one start of a process that any number of callers wait for.
type launching struct {
	done    chan struct{} // closed when err is set
	err     error
	waiters int
	cancel  context.CancelFunc // when nobody waits any more (L4)
}

// shortWait is the longest back-off that a call sits out rather than fail.
const shortWait = time.Second

// acquire returns a process that takes calls of a tool as e defines it, and has counted this one. The caller
// must release it. Without e any process will do.
func (p *plugin) acquire(ctx context.Context, e *entry) (*process, error) {
	for {
		if pr := p.current.Load(); pr != nil {
			if !pr.serves(e) {
				return p.acquireOld(e)
			}
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

// acquireOld is for a call that was prepared for a definition that the current process has no more: a
// version that finishes its calls may take it.
func (p *plugin) acquireOld(e *entry) (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pr := range p.draining {
		if pr.serves(e) && pr.enterLate() {
			return pr, nil
		}
	}
	return nil, p.unavailable(fmt.Errorf("tool %s changed while the call was prepared; call again", e.tool.ID))
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
	if p.state == Quarantined && p.unchanged() && !p.released() {
		return nil, 0, p.err
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
	p.launch = l
	p.to(Starting, PluginEvent{})
	p.host.work.Go(func() { // p is not closed, so the host still waits
		defer cancel()
		proc, err := p.startAny(ctx)
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

// startAny starts what is at the plugin's path; if that is a new version that does not start, the one that
// ran before (D8).
func (p *plugin) startAny(ctx context.Context) (*process, error) {
	g, err := p.look()
	if err != nil {
		return nil, p.unavailable(&untriedError{err})
	}
	defer g.release()
	pr, err := p.startProcess(ctx, g)
	p.mu.Lock()
	old := p.program
	if err == nil || old == nil || old == g || ctx.Err() != nil {
		p.mu.Unlock()
		return pr, err
	}
	old.hold()
	p.refuse(g, err)
	p.mu.Unlock()
	defer old.release()
	return p.startProcess(ctx, old)
}

// refuse notes that the bytes of g are not taken. p.mu is held.
func (p *plugin) refuse(g *program, err error) {
	p.refused = g.id
	p.refusal = fmt.Errorf("the new version %s is not taken, %s goes on: %w", g.short(), p.program.short(), err)
	if g.id != (state.Identity{}) {
		p.host.cache.learnFile(p.cfg.Path, state.File{ID: g.id, SHA256: g.sum, Refused: runes.Cut(err.Error(), maxRefusal)}, time.Now())
	}
	p.log.Warn("a new version is not taken", "program", g.short(), "goes on", p.program.short(), "error", err)
	p.to(p.state, PluginEvent{Program: g.digest(), Text: p.refusal.Error(), Err: err})
}

// started publishes the end of a start.
func (p *plugin) started(l *launching, proc *process, err error) {
	p.mu.Lock()
	p.launch = nil
	_, held := errors.AsType[*quarantineError](err)
	_, lied := errors.AsType[*lieError](err)
	_, untried := errors.AsType[*untriedError](err)
	switch {
	case err == nil && p.current.Load() != nil: // a new version was put in place meanwhile
		p.retire(proc)
		p.host.work.Go(proc.watch)
	case err == nil:
		p.install(proc)
	case errors.Is(err, context.Canceled) && !p.closed:
		p.to(p.rest(), PluginEvent{})
	case held:
		p.err = err
		p.to(Quarantined, PluginEvent{Program: p.tried.digest(), Err: err, Text: err.Error()})
	case lied:
		p.quarantine(err)
		err = p.err
	case untried:
		p.err = err
		p.to(Crashed, PluginEvent{Err: err, Text: err.Error()})
	default:
		p.died(false, err, 0)
	}
	p.mu.Unlock()
	if err == nil {
		p.host.publish()
		p.log.Debug("plugin is ready", "pid", proc.os.PID())
	} else {
		p.log.Warn("plugin did not start", "error", err)
	}
	l.err = err
	close(l.done)
}

// rest is the state of a plugin without a process that nothing is wrong with. p.mu is held.
func (p *plugin) rest() State {
	switch {
	case p.starts > 1 || p.program != nil:
		return Idle
	case p.manifest.Load() != nil:
		return Described
	}
	return Discovered
}

// install makes pr the process that takes calls. p.mu is held; the caller publishes.
func (p *plugin) install(pr *process) {
	if g := pr.program; p.program != g {
		p.previous.release()
		p.previous, p.program = p.program, g.hold()
		p.refused, p.refusal, p.deaths, p.next = state.Identity{}, nil, 0, time.Time{}
	}
	p.manifest.Store(pr.manifest.Load())
	p.relearn.Store(false)
	p.uncovers = pr.os.Uncovered()
	if note := pr.program.note; note != "" {
		p.uncovers = append(p.uncovers, note)
	}
	old := p.current.Swap(pr)
	ready := Ready
	if p.cfg.Dial != nil {
		ready = Attached
	}
	p.to(ready, PluginEvent{PID: pr.os.PID()})
	p.host.work.Go(pr.watch) // ends with the process, which may be dead already; only now can it be taken out of current
	p.host.record()
	if old != nil {
		p.retire(old)
	}
}

// retire has a process that takes no new calls finish those that it has, and end. p.mu is held.
func (p *plugin) retire(pr *process) {
	p.draining = append(p.draining, pr)
	p.host.work.Go(pr.stop) // ends within drain, grace and reap; pr is not gone yet, so the host still waits
}

// rests stops a process for want of calls. The next call starts another one.
func (p *plugin) rests(pr *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && p.current.CompareAndSwap(pr, nil) {
		p.to(Idle, PluginEvent{PID: pr.os.PID()})
		p.retire(pr)
	}
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
	p.mu.Lock()
	pr, old := p.current.Load(), slices.Clone(p.draining)
	if pr != nil {
		p.to(Draining, PluginEvent{PID: pr.os.PID()})
		old = append(old, pr)
	}
	p.mu.Unlock()
	var stops sync.WaitGroup
	for _, pr := range old {
		stops.Go(pr.stop) // ends within the limits above
	}
	stops.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to(Stopped, PluginEvent{})
	p.program.release()
	p.previous.release()
	p.program, p.previous = nil, nil
}

// to changes the state and tells those who watch. p.mu is held.
func (p *plugin) to(s State, e PluginEvent) {
	p.state = s
	e.Time, e.Plugin, e.State = time.Now(), p.cfg.Name, s
	if e.Program == "" {
		e.Program = p.program.digest()
	}
	p.host.hub.send(e)
}

// lastError is why the plugin did not start or last died, without the words that say so already.
func (p *plugin) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bare(p.err)
}

// bare is the cause of an error of a start, which whoever shows it beside the plugin's name need not be told again.
func bare(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Err != nil {
		return e.Err
	}
	return err
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
