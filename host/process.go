package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/host/internal/launch"
	"github.com/toolhost/toolhost/proto/session"
)

// process is one running plugin process and the session with it.
type process struct {
	plugin   *plugin
	program  *program // held until the process is gone
	manifest atomic.Pointer[manifest]
	os       *launch.Process
	sess     *session.Session

	stopping  atomic.Bool   // the host ends it
	completed atomic.Bool   // a call ended with an answer of the plugin
	changes   atomic.Int64  // tools_changed frames that no Describe has answered
	flushed   atomic.Uint64 // the last log record that an outcome waited for
	callLogs  callLogs      // of the calls whose callers want their records

	mu       sync.Mutex
	calls    int           // that hold the process
	since    time.Time     // when the last one left, or it became ready
	draining bool          // no further call may enter
	idle     chan struct{} // closed when draining and no call is left

	gone chan struct{} // closed when the process ended and exit is set
	exit *ExitError
}

// enter counts a call in; false: the process takes no calls.
func (pr *process) enter() bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.draining || pr.sess.Err() != nil {
		return false
	}
	pr.calls++
	return true
}

// enterLate counts a call in while others are finished.
func (pr *process) enterLate() bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.calls == 0 || pr.sess.Err() != nil {
		return false
	}
	pr.calls++
	return true
}

// leave counts a call out.
func (pr *process) leave() {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.calls--; pr.calls > 0 {
		return
	}
	pr.since = time.Now()
	if pr.draining {
		close(pr.idle)
	}
}

// unused is for how long the process has had no call.
func (pr *process) unused() time.Duration {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.calls > 0 {
		return 0
	}
	return time.Since(pr.since)
}

// serves reports whether the process has the tool as e defines it; without e, it does.
func (pr *process) serves(e *entry) bool {
	if e == nil {
		return true
	}
	m := pr.manifest.Load()
	return m == e.manifest || m.has(e)
}

// watch ends with the process. It asks a silent one whether it lives (C10), ends one that closed its
// session, and gathers the evidence.
func (pr *process) watch() {
	why := pr.await()
	if why != nil {
		pr.os.Kill()
	}
	<-pr.os.Done()
	pr.sess.Close()
	pr.sess.Wait()
	pr.exit = exitError(pr.plugin.cfg.Name, pr.os.Exit(), why)
	pr.plugin.gone(pr)
	close(pr.gone)
}

// wait returns when a process that takes no calls is gone, or ctx ends.
func (pr *process) wait(ctx context.Context) error {
	select {
	case <-pr.gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await returns when the process ended, or why it must be ended. An attached one is not asked whether it
// lives: it may stand in a debugger (A1).
func (pr *process) await() error {
	lim := pr.plugin.lim
	silence, unused := time.NewTimer(lim.Ping), time.NewTimer(lim.Idle)
	defer silence.Stop()
	defer unused.Stop()
	if pr.plugin.cfg.Dial != nil {
		silence.Stop()
		unused.Stop()
	} else if lim.Idle < 0 {
		unused.Stop()
	}
	for {
		select {
		case <-pr.os.Done():
			return nil
		case <-pr.sess.Done():
			return pr.afterSession()
		case <-unused.C:
			d := pr.unused()
			if d >= lim.Idle {
				pr.plugin.rests(pr)
			}
			unused.Reset(max(lim.Idle-d, lim.Idle/8))
		case <-silence.C:
			quiet := time.Since(pr.sess.LastSign())
			if quiet >= lim.Ping && !pr.answers() {
				if pr.sess.Err() == nil {
					return fmt.Errorf("it did not answer %d pings of %v", pingMisses, lim.PingWait)
				}
				quiet = 0
			}
			silence.Reset(max(lim.Ping-quiet, lim.Ping/8))
		}
	}
}

// pingMisses is how many pings in a row a dead process misses.
const pingMisses = 3

// answers reports whether the plugin answers one of three pings.
func (pr *process) answers() bool {
	for range pingMisses {
		ctx, cancel := context.WithTimeout(pr.plugin.host.life, pr.plugin.lim.PingWait)
		err := pr.sess.Ping(ctx)
		cancel()
		if err == nil {
			return true
		}
		if pr.sess.Err() != nil {
			return false
		}
	}
	return false
}

// afterSession waits for a process whose session ended to end as well: usually it is the first sign of a
// death. One that lives on is ended (C4).
func (pr *process) afterSession() error {
	if pr.stopping.Load() {
		<-pr.os.Done()
		return nil
	}
	t := time.NewTimer(pr.plugin.lim.Reap / 4)
	defer t.Stop()
	select {
	case <-pr.os.Done():
		return nil
	case <-t.C:
		return fmt.Errorf("it closed its session: %w", pr.sess.Err())
	}
}

// stop ends the process: no new calls, running ones and the callbacks of accepted outputs (H-2) may finish
// until the drain limit, then the process has grace (K9). A second stop waits for the first.
func (pr *process) stop() {
	lim := pr.plugin.lim
	pr.mu.Lock()
	if pr.draining {
		pr.mu.Unlock()
		<-pr.gone
		return
	}
	pr.draining = true
	if pr.calls == 0 {
		close(pr.idle)
	}
	pr.mu.Unlock()
	pr.sess.Drain(lim.Drain)
	ctx, cancel := context.WithTimeout(context.Background(), lim.Drain)
	defer cancel()
	select {
	case <-pr.idle:
		_ = pr.sess.Settle(ctx) // its errors are an end of the waiting like any other
	case <-ctx.Done():
	case <-pr.gone:
	}
	pr.stopping.Store(true)
	pr.os.Stop(lim.Grace, lim.Reap)
	<-pr.gone
}

// dies gives a process that never became ready, and whose connection has ended, the time to end by itself: then its own end is
// what is told, and not the host's.
func (pr *process) dies(ctx context.Context, err error) {
	if status.Code(err) != codes.Unavailable {
		return
	}
	t := time.NewTimer(ownEnd)
	defer t.Stop()
	select {
	case <-pr.os.Done():
	case <-t.C:
	case <-ctx.Done():
	}
}

// kill ends a process that never became ready.
func (pr *process) kill() {
	pr.os.Kill()
	if pr.sess != nil {
		pr.sess.Close()
		pr.sess.Wait()
	}
}

// connectError says why a process that was launched did not become ready.
func (pr *process) connectError(ctx context.Context, err error) error {
	p := pr.plugin
	if r, ok := errors.AsType[*refusal](err); ok {
		return p.unavailable(r)
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	exit := pr.os.Exit()
	e := exitError(p.cfg.Name, exit, fmt.Errorf("no answer to the greeting: %w", err))
	if l, ok := errors.AsType[*lieError](err); ok {
		e.Err = l
	} else if ctx.Err() != nil {
		e.Cause = string(launch.CauseTimeout)
		e.Err = fmt.Errorf("not ready within %v: %w", p.lim.Start, err)
	} else if exit.Exited && !exit.Killed && exit.Signal == "" {
		e.Err = fmt.Errorf("exit status %d before it was ready: %w", exit.Status, err)
	}
	return p.unavailable(e)
}

// startError converts the launcher's error.
func (p *plugin) startError(err error) error {
	s, ok := errors.AsType[*launch.StartError](err)
	if !ok {
		return p.unavailable(err)
	}
	if s.Cause == launch.CauseCanceled && !errors.Is(s, context.DeadlineExceeded) {
		return context.Canceled
	}
	e := exitError(p.cfg.Name, s.Exit, s.Err)
	if e.Cause = string(s.Cause); s.Cause == launch.CauseCanceled { // by the limit, which is the plugin's own
		e.Cause, e.Err = string(launch.CauseTimeout), fmt.Errorf("not ready after %v", p.lim.Start)
	}
	return p.unavailable(e)
}

func exitError(plugin string, x launch.Exit, why error) *ExitError {
	e := &ExitError{
		Plugin: plugin, Cause: string(x.Cause), Limit: x.Limit, Status: x.Status, Signal: x.Signal,
		Stderr: string(x.Stderr), Panic: x.Panic, PeakRSS: x.PeakRSS, Err: why,
	}
	if why != nil && x.Killed {
		e.Signal = "" // ours; the reason is why
	}
	return e
}

// flush delivers what the process said before now: the lines of its pipes and the log records up to lastLog
// (O4). A logger that is stuck delays nobody for longer than flushWait (O3).
func (pr *process) flush(ctx context.Context, lastLog uint64) {
	wait := &flushing{Context: ctx}
	defer wait.stop()
	pr.os.Flush(wait)
	if lastLog > pr.flushed.Swap(lastLog) {
		pr.plugin.host.sink.flush(wait)
	}
}

// flushing is a context that ends after flushWait, counted from when somebody first waits for that: mostly nobody does. It is for
// one goroutine.
type flushing struct {
	context.Context // the call's; from the first Done on, the one that ends
	cancel          context.CancelFunc
}

// Done implements context.Context.
func (f *flushing) Done() <-chan struct{} {
	if f.cancel == nil {
		f.Context, f.cancel = context.WithTimeout(f.Context, flushWait)
	}
	return f.Context.Done()
}

func (f *flushing) stop() {
	if f.cancel != nil {
		f.cancel()
	}
}

// flushWait is how long an outcome waits for the log that belongs to it.
const flushWait = 100 * time.Millisecond
