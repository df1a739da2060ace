package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/host/internal/launch"
	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// process is one running plugin process and the session with it.
type process struct {
	plugin *plugin
	os     *launch.Process
	sess   *session.Session

	stopping  atomic.Bool   // the host ends it
	completed atomic.Bool   // a call ended with an answer of the plugin
	changes   atomic.Int64  // tools_changed frames that no Describe has answered
	flushed   atomic.Uint64 // the last log record that an outcome waited for

	mu       sync.Mutex
	calls    int           // that hold the process
	draining bool          // no further call may enter
	idle     chan struct{} // closed when draining and no call is left

	gone chan struct{} // closed when the process ended and exit is set
	exit *ExitError
}

// startProcess launches, connects, describes and greets. Whatever fails, nothing is left of the process
// (K10). The process that it returns has nobody who watches it yet.
func (p *plugin) startProcess(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, p.lim.Start)
	defer cancel()
	pr := &process{plugin: p, idle: make(chan struct{}), gone: make(chan struct{})}
	osp, err := p.startOS(ctx)
	if err != nil {
		return nil, p.startError(err)
	}
	pr.os = osp
	if err := pr.greet(ctx); err != nil {
		pr.kill()
		return nil, pr.connectError(ctx, err)
	}
	return pr, nil
}

func (p *plugin) startOS(ctx context.Context) (*launch.Process, error) {
	limit := max(session.MaxBatch, maxManifest) + 64<<10 // what one gRPC message may be (M2); larger frames are cut
	if p.cfg.Dial != nil {
		return launch.Attach(ctx, p.cfg.Dial, limit)
	}
	if err := checkSum(p.cfg.Path, p.cfg.SHA256); err != nil { // the launcher inspects the header itself
		return nil, err
	}
	return p.host.launcher.Start(ctx, launch.Spec{
		Name: p.cfg.Name, Path: p.cfg.Path, Args: p.cfg.Args, Env: p.cfg.Env,
		Dir: p.cfg.Sandbox.Dir, Sandbox: p.cfg.Sandbox.launch(sandboxHelper(p.host.cfg.SandboxHelper)), Timeout: p.lim.Start, Output: p.logLine, MaxMessage: limit,
	})
}

// greet learns the manifest if it is not known, opens the session and says hello. The plugin is ready only
// after that (L11).
func (pr *process) greet(ctx context.Context) error {
	p := pr.plugin
	if p.manifest.Load() == nil {
		if err := pr.describe(ctx); err != nil {
			return err
		}
	}
	stream, err := session.Connect(p.host.life, pr.os.Conn(), grpc.MaxCallRecvMsgSize(session.MaxBatch+64<<10))
	if err != nil {
		return err
	}
	pr.sess = session.New(stream, session.Config{
		Side:           session.Host,
		Limits:         session.Limits{Message: p.lim.Message},
		OnLog:          p.logRecord,
		OnToolsChanged: pr.toolsChanged,
	})
	welcome, err := pr.sess.Hello(ctx, &pb.Hello{
		Versions: []uint32{wire.Version},
		Limits:   &pb.Limits{Message: uint64(p.lim.Message), Window: wire.Window, Log: wire.MaxLog},
		Settings: p.cfg.Settings,
	})
	switch {
	case err != nil:
		return err
	case welcome.GetRefusal() != "":
		return &refusal{cutText(welcome.GetRefusal(), maxRefusal)}
	case welcome.GetVersion() != wire.Version:
		return &refusal{fmt.Sprintf("it speaks wire version %d, this host %d; rebuild the plugin with a matching SDK", welcome.GetVersion(), wire.Version)}
	}
	if m := p.manifest.Load(); m != nil && string(m.hash[:]) == string(welcome.GetManifestHash()) {
		return nil
	}
	return pr.describe(ctx)
}

// refusal is why a plugin that is alive cannot serve this host: its own word, or settings that break its
// schema.
type refusal struct{ text string }

// maxRefusal is how much of a plugin's own words an error quotes.
const maxRefusal = 4 << 10

func (r *refusal) Error() string { return r.text }

// describe learns the manifest and publishes its tools.
func (pr *process) describe(ctx context.Context) error {
	p := pr.plugin
	ctx, cancel := context.WithTimeout(ctx, p.lim.Describe)
	defer cancel()
	client := pb.NewToolPluginServiceClient(pr.os.Conn())
	resp, err := client.Describe(ctx, &pb.DescribeRequest{Settings: p.cfg.Settings}, grpc.MaxCallRecvMsgSize(maxManifest+1<<10))
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	if err := checkSettings(p.cfg.Settings, resp.GetManifest()); err != nil {
		return err
	}
	m, err := newManifest(p, resp.GetManifest())
	if err != nil {
		return fmt.Errorf("describe: %w", err)
	}
	p.manifest.Store(m)
	p.host.publish()
	return nil
}

// checkSettings holds the settings against the schema that the plugin declared, and takes its own word if
// it cannot serve with them.
func checkSettings(settings []byte, m *pb.Manifest) error {
	if len(settings) == 0 {
		settings = emptyInput
	}
	s, err := schema.Compile(m.GetSettingsSchema())
	if err != nil {
		return fmt.Errorf("the schema of its settings: %w", err)
	}
	doc, err := schema.Parse(settings, schema.Limits{})
	if err == nil {
		err = s.Validate(doc)
	}
	if err != nil {
		return &refusal{fmt.Sprintf("settings: %v", schemaError(err))}
	}
	if why := m.GetError(); why != "" {
		return &refusal{cutText(why, maxRefusal)}
	}
	return nil
}

// toolsChanged has the plugin described again. However often it is called, one Describe runs and at most
// one more follows. The goroutine ends when what changed is known, or not to be known.
func (pr *process) toolsChanged() {
	if pr.changes.Add(1) > 1 {
		return
	}
	pr.plugin.host.work.Go(func() { // the process is not gone yet, so the host still waits
		for seen := pr.changes.Load(); ; seen = pr.changes.Load() {
			if err := pr.describe(pr.plugin.host.life); err != nil {
				pr.plugin.log.Warn("the plugin's tools changed, but it does not describe them", "error", err)
			}
			if pr.changes.CompareAndSwap(seen, 0) {
				return
			}
		}
	})
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

// leave counts a call out.
func (pr *process) leave() {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.calls--; pr.calls == 0 && pr.draining {
		close(pr.idle)
	}
}

// watch ends with the process. It asks a silent one whether it lives (C10), ends one that closed its
// session, and gathers the evidence.
func (pr *process) watch() {
	lim := pr.plugin.lim
	silence := time.NewTimer(lim.Ping)
	defer silence.Stop()
	if pr.plugin.cfg.Dial != nil {
		silence.Stop() // a debugger may stop an attached plugin for as long as it likes: only the connection tells (A1)
	}
	why := pr.await(silence)
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

// await returns when the process ended, or why it must be ended.
func (pr *process) await(silence *time.Timer) error {
	lim := pr.plugin.lim
	for {
		select {
		case <-pr.os.Done():
			return nil
		case <-pr.sess.Done():
			return pr.afterSession()
		case <-silence.C:
			quiet := time.Since(pr.sess.LastFrame())
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
// until the drain limit, then the process has grace (K9).
func (pr *process) stop() {
	lim := pr.plugin.lim
	pr.mu.Lock()
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
	if ctx.Err() != nil {
		e.Cause = string(launch.CauseTimeout)
		e.Err = fmt.Errorf("not ready within %v: %w", p.lim.Start, err)
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
	ctx, cancel := context.WithTimeout(ctx, flushWait)
	defer cancel()
	pr.os.Flush(ctx)
	if lastLog > pr.flushed.Swap(lastLog) {
		pr.plugin.host.sink.flush(ctx)
	}
}

// flushWait is how long an outcome waits for the log that belongs to it.
const flushWait = 100 * time.Millisecond
