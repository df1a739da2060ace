package launch

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"
)

// Config configures a Launcher. The zero value works.
type Config struct {
	// Parallel is how many processes may be on their way from fork to connection
	// at once; the others wait (L14). A process that is not there after a second
	// counts no longer: it waits itself, and must not keep the others (C12). If
	// zero, the number of cores.
	Parallel int
	// Hide lists directories, such as the host's state directory, that a process
	// with Sandbox.Hide must not see, but for their subdirectory Keep, which it can
	// read. They are made, for this user alone, at the first such start.
	Hide []string
	Keep string
	// Logger is told what no caller can be told: faults of this package. If nil,
	// nothing is logged.
	Logger *slog.Logger
}

// Launcher starts plugin processes and owns them. It may be used by several
// goroutines at once.
type Launcher struct {
	log    *slog.Logger
	slots  chan struct{}
	forks  *forker
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	probe  func(goroutine string) // tests inject panics here (H6); nil otherwise
	// loopback is true where a child cannot inherit a connection; tests set it elsewhere.
	loopback bool

	mu     sync.Mutex
	closed bool
	starts sync.WaitGroup // calls of Start in flight
	procs  map[*Process]struct{}
}

// New returns a launcher. Close must be called.
func New(cfg Config) *Launcher {
	l := &Launcher{
		log:      cfg.Logger,
		forks:    newForker(cfg.Hide, cfg.Keep),
		loopback: !inheritsConn,
		procs:    map[*Process]struct{}{},
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	parallel := cfg.Parallel
	if parallel <= 0 {
		parallel = runtime.NumCPU()
	}
	l.slots = make(chan struct{}, parallel)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// Start starts a process, waits for its handshake, and connects: when it returns
// a Process, the plugin has answered on the connection (L11). On any failure the
// process is killed and reaped before Start returns, and the error is a
// *StartError (K10). The end of ctx ends the attempt, not the process that it
// led to. Output is called before Start returns.
func (l *Launcher) Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := l.enter(); err != nil {
		return nil, spec.failed(CauseCanceled, err)
	}
	defer l.starts.Done()
	if err := spec.resolve(); err != nil {
		return nil, err
	}
	if cause, err := Inspect(spec.Binary); err != nil {
		return nil, spec.failed(cause, err)
	}
	if err := spec.visible(l.forks.hide, l.forks.keep); err != nil {
		return nil, spec.failed(CausePath, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(errClosed) })()
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, spec.failed(CauseCanceled, context.Cause(ctx))
	}
	leave := sync.OnceFunc(func() { <-l.slots })
	defer leave()
	defer time.AfterFunc(slotTime, leave).Stop()
	return newAttempt(ctx, l, spec).run()
}

// Close kills every process that is left, fails the starts in flight, and ends
// the launcher's goroutines. It returns within 2 s, whatever the processes do.
// It may be called again.
func (l *Launcher) Close() {
	l.mu.Lock()
	l.closed = true
	left := make([]*Process, 0, len(l.procs))
	for p := range l.procs {
		left = append(left, p)
	}
	l.mu.Unlock()
	l.cancel()
	for _, p := range left {
		p.signalGroup()
	}
	late := time.NewTimer(defaultReap)
	defer late.Stop()
	for _, p := range left {
		select {
		case <-p.Done():
		case <-late.C:
			late.Reset(0)
		}
	}
	idle := make(chan struct{})
	go func() { // ends when the last Start has returned; each is cancelled
		l.starts.Wait()
		close(idle)
	}()
	late.Reset(defaultReap)
	select {
	case <-idle:
	case <-late.C:
	}
	l.forks.close()
}

// slotTime is how long a start may keep others waiting.
const slotTime = time.Second

// errClosed is the cause of a start that the launcher's end cancelled.
var errClosed = errors.New("the launcher is closed")

// enter registers a start, unless the launcher is closed.
func (l *Launcher) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errClosed
	}
	l.starts.Add(1)
	return nil
}

// adopt makes the launcher the owner of p until p has ended. A process that
// comes after Close has counted them is killed at once.
func (l *Launcher) adopt(p *Process) {
	l.mu.Lock()
	l.procs[p] = struct{}{}
	closed := l.closed
	l.mu.Unlock()
	if closed {
		p.signalGroup()
	}
}

func (l *Launcher) forget(p *Process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.procs, p)
}
