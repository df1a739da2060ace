package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/proto/rpc"
)

const (
	// defaultReap is how long the kernel and the pipes have to let go of a
	// process after SIGKILL.
	defaultReap = time.Second
	// drainPipes is how long a descendant outside the group may keep pipes or
	// connection open after the process's end (K2).
	drainPipes = 200 * time.Millisecond
	// drainLines is how long Output may take for what is queued by then (K3).
	drainLines = 300 * time.Millisecond
)

// Process is a running plugin process, or an attached connection. Its methods
// may be called by several goroutines at once, and answer at once unless they
// say that they wait.
type Process struct {
	l        *Launcher // nil if attached, and so are the next three
	proc     *os.Process
	family   family
	lifeline *os.File
	out      *output
	name     string
	pid      int
	sandbox  Sandbox
	group    *cgroup
	helper   *os.File // its report; nil if there is no helper
	link     *link
	told     chan struct{} // closed when the report is complete
	gone     chan struct{} // closed when the process was reaped
	done     chan struct{}

	mu        sync.Mutex
	conn      *rpc.Client
	reaped    bool
	killed    bool // the host sent a signal that ends processes
	exit      Exit
	used      time.Duration // CPU time
	uncovered []string
	report    confine.Report
}

// Conn is the gRPC connection to the plugin. It breaks when the process ends,
// after what the process had sent was received, and never comes back. A broken
// connection of a process that lives is for the caller to act on.
func (p *Process) Conn() *rpc.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conn
}

// PID is the process id in the host's pid namespace; 0 if attached.
func (p *Process) PID() int { return p.pid }

// Uncovered lists what of the sandbox the system refused, in words for people;
// empty if nothing. It is complete when Start has returned.
func (p *Process) Uncovered() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.uncovered)
}

// Done is closed when the process was reaped, its output was read to the end and
// delivered, and Exit is complete (C1, L15). A descendant that escaped delays it
// by 200 ms at most (K2), an Output that blocks by 1 s (K3).
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit is the evidence: complete after Done; before that there is only Stderr.
func (p *Process) Exit() Exit {
	p.mu.Lock()
	e := p.exit
	p.mu.Unlock()
	if p.out != nil && !e.Exited {
		e.Stderr, _ = p.out.evidence()
	}
	e.Stderr = slices.Clone(e.Stderr)
	return e
}

// Flush returns when every whole line that the process wrote before the call was
// delivered or dropped (O4), or when ctx ends. An unfinished line is held back
// until its end. It costs two system calls when nothing is under way.
func (p *Process) Flush(ctx context.Context) {
	if p.out != nil {
		p.out.flush(ctx)
	}
}

// Stop closes the lifeline and asks the process to end with SIGTERM, waits
// grace, then kills its group, and returns when the process is Done: at the
// latest after grace plus reap (K1), whatever it does. If reap is zero, 1 s. The
// connection stays up during grace. In a pid namespace a plugin that neither
// handles SIGTERM nor reads its lifeline uses up grace: the kernel spares process
// 1 the default action. An attached connection is closed at once.
func (p *Process) Stop(grace, reap time.Duration) {
	if reap <= 0 {
		reap = defaultReap
	}
	if p.proc == nil {
		p.link.close()
	} else if grace > 0 {
		p.askToEnd()
		if p.waitDone(grace) {
			return
		}
	}
	p.signalGroup()
	p.waitDone(reap)
}

// Kill is Stop without grace.
func (p *Process) Kill() { p.Stop(0, 0) }

// newProcess takes over the host's ends of pipes. host waits for the handshake.
func newProcess(l *Launcher, spec Spec, child child, pipes *plumbing, host greeter) *Process {
	p := &Process{
		l:         l,
		proc:      child.proc,
		family:    child.family,
		lifeline:  pipes.lifeline,
		name:      spec.Name,
		pid:       child.proc.Pid,
		uncovered: child.uncovered,
		sandbox:   spec.Sandbox,
		group:     child.group,
		helper:    child.report,
		link:      newLink(nil, pipes.ends),
		told:      make(chan struct{}),
		gone:      make(chan struct{}),
		done:      make(chan struct{}),
	}
	p.out = newOutput(spec.Output, pipes.stdout, pipes.stderr, host)
	l.adopt(p)
	return p
}

// run starts the process's goroutines. They all end before Done, except for one
// that is inside Output and ends when Output returns.
func (p *Process) run() {
	for _, s := range p.out.streams {
		go func() { // ends at the end of the pipe; joined by output.finish
			defer p.out.readers.Done()
			p.guard(s.name, func() { p.out.read(s) })
			p.guard(s.name+" end", func() { p.out.close(s) })
		}()
	}
	go func() { // ends when both readers have, and the queue is empty
		defer p.out.broke()
		p.guard("output", p.out.deliver)
	}()
	go func() { // ends when the helper executes the plugin or ends; at once if there is none
		defer close(p.told)
		p.guard("report", p.readReport)
	}()
	go func() { // ends with the process; it is what closes Done
		defer close(p.done)
		p.guard("wait", p.awaitEnd)
		p.guard("reap", p.awaitEnd) // does something only if the first one panicked
		p.guard("finish", p.finish)
		p.l.forget(p)
	}()
}

// guard runs f; a panic in it kills the process and is its fault (H6).
func (p *Process) guard(goroutine string, f func()) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		p.mu.Lock()
		p.exit.Fault = fmt.Sprintf("%s goroutine: panic: %v", goroutine, v)
		p.mu.Unlock()
		p.l.log.Error("launch: panic", "plugin", p.name, "goroutine", goroutine, "panic", v)
		p.signalGroup()
	}()
	if p.l.probe != nil {
		p.l.probe(goroutine)
	}
	f()
}

// readReport reads what the helper says, to the end.
func (p *Process) readReport() {
	if p.helper == nil {
		return
	}
	defer p.helper.Close()
	data, err := io.ReadAll(io.LimitReader(p.helper, 64<<10))
	report := confine.ParseReport(data)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report = report
	for _, m := range report.Missing {
		p.uncovered = append(p.uncovered, m.String())
	}
	if err != nil {
		p.uncovered = append(p.uncovered, "what "+confine.Name+" could not do is unknown: "+err.Error())
	}
}

// said is the report of the helper's after the process's end.
func (p *Process) said() confine.Report {
	late := time.NewTimer(defaultReap) // it is closed, unless the process does not end
	defer late.Stop()
	select {
	case <-p.told:
	case <-late.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.report
}

// setConn publishes the connection.
func (p *Process) setConn(cc *rpc.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn = cc
	if p.exit.Exited {
		cc.Close() // finish came first
	}
}

// askToEnd closes the lifeline and sends SIGTERM to the process alone.
func (p *Process) askToEnd() {
	p.lifeline.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.killed = true
		terminate(p.proc)
	}
}

// signalGroup sends SIGKILL to the process and its group. While the process is
// not reaped, nobody else can have its id.
func (p *Process) signalGroup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.proc != nil && !p.reaped {
		p.killed = true
		p.family.kill(p.proc)
	}
}

func (p *Process) waitDone(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// awaitEnd waits for the process's end, kills what is left of its group while
// the zombie still holds the id (K2), takes the status, and gives the id back.
func (p *Process) awaitEnd() {
	select {
	case <-p.gone:
		return
	default:
		awaitZombie(p.pid)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.family.kill(p.proc)
	state, err := p.proc.Wait()
	p.reaped = true
	defer p.family.close()
	close(p.gone)
	if err != nil { // somebody else reaped our child
		p.exit.Status = -1
		p.exit.Fault = fmt.Sprintf("wait: %v", err)
		return
	}
	reapAdopted(p.pid)
	p.exit.Status, p.exit.Signal, p.exit.PeakRSS = p.family.describe(state)
	p.used = state.UserTime() + state.SystemTime()
	p.exit.Killed = p.killed && (p.exit.Signal == "SIGKILL" || p.exit.Signal == "SIGTERM")
}

// finish reads what the process left behind and completes the evidence.
func (p *Process) finish() {
	p.lifeline.Close()
	p.out.finish(drainPipes)
	p.mu.Lock()
	conn := p.conn
	p.mu.Unlock()
	if conn != nil {
		p.link.finish(drainPipes)
	}
	p.link.close()
	if conn != nil {
		conn.Wait()
	}
	p.out.drain(drainLines)
	oom := p.group.outOfMemory()
	p.group.remove()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exit.Stderr, p.exit.Panic = p.out.evidence()
	p.exit.settle(p.sandbox.Settings, p.used, oom)
	if p.conn != nil {
		p.conn.Close()
	}
}
