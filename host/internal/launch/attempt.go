package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/proto/loopback"
	"github.com/toolhost/toolhost/proto/rpc"
	"github.com/toolhost/toolhost/proto/wire"
)

// ownEnd is how long a plugin that closed its stdout or its connection has to
// end by itself, so that its own exit status is what gets reported.
const ownEnd = time.Second

// attempt is one try to start a process. Its context ends when the attempt
// fails, for whatever reason; the cause of the context is the reason.
type attempt struct {
	l        *Launcher
	spec     Spec
	ctx      context.Context
	fail     context.CancelCauseFunc
	env      []string         // set by runner; go-plugin's part included
	p        *Process         // nil until forked
	loop     *loopback.Dialer // makes the connection; nil where it is inherited
	address  string           // where the plugin listens for loop; set by greet
	words    *io.PipeReader
	speak    *io.PipeWriter // the handshake line, for go-plugin
	released chan struct{}  // closed when go-plugin's Start has returned
}

// failure is the cause of an attempt's end.
type failure struct {
	cause Cause
	err   error
	own   bool // the process may be ending by itself: see ownEnd
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func newAttempt(ctx context.Context, l *Launcher, spec Spec) *attempt {
	a := &attempt{l: l, spec: spec, released: make(chan struct{})}
	a.ctx, a.fail = context.WithCancelCause(ctx)
	a.words, a.speak = io.Pipe()
	return a
}

// run leads to a connected process or to a *StartError with no process left.
func (a *attempt) run() (*Process, error) {
	defer a.fail(nil)
	timer := time.AfterFunc(a.spec.Timeout, func() {
		a.fail(&failure{cause: CauseTimeout, err: fmt.Errorf("not ready after %v", a.spec.Timeout)})
	})
	defer timer.Stop()
	// go-plugin waits for a line: when the attempt ends it gets the end of file.
	held := context.AfterFunc(a.ctx, func() { a.speak.Close() })

	a.caught(a.negotiate)
	close(a.released)
	var conn *rpc.Client
	if a.ctx.Err() == nil {
		a.caught(func() error {
			var err error
			conn, err = a.connect()
			return err
		})
	}
	if a.p != nil {
		select {
		case <-a.p.told: // before, its Uncovered is not complete
		case <-a.ctx.Done():
		}
	}
	if a.ctx.Err() == nil && held() { // the context is done a moment before held is false
		a.p.setConn(conn)
		return a.p, nil
	}
	return nil, a.failed(conn)
}

// negotiate has go-plugin do the handshake, through the attempt as its runner.
func (a *attempt) negotiate() error {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{wire.Version: {wire.PluginName: nil}},
		RunnerFunc:       a.runner,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.New(&hclog.LoggerOptions{Level: hclog.Off, Output: io.Discard}),
		SkipHostEnv:      true,
		StartTimeout:     a.spec.Timeout + time.Minute, // ours comes first
		MaxPort:          1,
	})
	switch _, err := client.Start(); {
	case err == nil:
		return nil
	case a.env == nil: // not even runner was called
		return &failure{cause: CauseSystem, err: fmt.Errorf("the host's temporary directory: %w; set TMPDIR to another one", err)}
	default:
		return &failure{cause: CauseHandshake, err: fmt.Errorf("handshake: %w", err)}
	}
}

// connect makes the connection. It may return nil and no error if the context ended.
func (a *attempt) connect() (*rpc.Client, error) {
	join := func() error { return a.p.link.take(a.address) }
	if a.loop != nil {
		join = func() error { return a.p.link.reach(a.ctx, a.loop, a.address) }
	}
	if err := join(); err != nil || a.ctx.Err() != nil {
		return nil, err
	}
	return a.p.link.connect(a.ctx, a.spec.MaxMessage)
}

// caught runs one stage; an error or a panic in it ends the attempt.
func (a *attempt) caught(stage func() error) {
	defer func() {
		if v := recover(); v != nil {
			a.fail(&failure{cause: CauseFault, err: fmt.Errorf("a fault in the host: panic: %v", v)})
		}
	}()
	if err := stage(); err != nil {
		a.fail(err)
	}
}

// failed ends what the attempt started and says why it failed (H4, K10).
func (a *attempt) failed(conn *rpc.Client) *StartError {
	why := context.Cause(a.ctx)
	if a.l.ctx.Err() != nil { // the end of the process may be noticed before the launcher's
		why = errClosed
	}
	e := a.spec.failed(CauseCanceled, why)
	var f *failure
	if errors.As(e.Err, &f) {
		e.Cause, e.Err = f.cause, f.err
	}
	if conn != nil {
		conn.Close()
	}
	p := a.p
	if p == nil {
		return e
	}
	if f != nil && f.own {
		patience := time.NewTimer(ownEnd)
		defer patience.Stop()
		select {
		case <-p.gone:
		case <-patience.C:
		case <-a.l.ctx.Done():
		}
	}
	p.Kill()
	e.Exit = p.Exit()
	report := p.said()
	switch {
	case report.Refused != nil:
		e.Cause, e.Err = CauseSandbox, refusal(*report.Refused).err
	case report.Exec != 0:
		if f, ok := errors.AsType[*failure](execFailure(a.spec.Binary, report.Exec)); ok {
			e.Cause, e.Err = f.cause, f.err
		}
	case e.Exit.Fault != "":
		e.Cause, e.Err = CauseFault, errors.New("a fault in the host: "+e.Exit.Fault)
	case f != nil && f.own && e.Exit.Exited && !e.Exit.Killed:
		e.Cause, e.Err = e.Exit.early(runtime.GOOS, p.out.silence())
	}
	return e
}
