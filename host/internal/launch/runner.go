package launch

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"

	"github.com/toolhost/toolhost/proto/wire"
)

// runner is go-plugin's RunnerFunc. It takes go-plugin's variables out of cmd, and
// removes the directory that go-plugin made for the plugin's socket: a plugin serves
// the inherited connection and makes none. A plugin that has go-plugin serve it as
// well makes a socket that nobody uses, in its own TMPDIR.
func (a *attempt) runner(_ hclog.Logger, cmd *exec.Cmd, dir string) (runner.Runner, error) {
	if err := os.Remove(dir); err != nil {
		a.l.log.Debug("launch: remove go-plugin's directory", "error", err)
	}
	pass := a.spec.Sandbox.Pass
	if pass == nil {
		pass = StandardEnv()
	}
	env, dropped := environ(runtime.GOOS, os.Environ(), pass, slices.Concat(a.spec.Sandbox.Set, a.spec.Env))
	a.l.log.Debug("launch: variables that the plugin does not see", "plugin", a.spec.Name, "names", dropped)
	for _, kv := range cmd.Env {
		if !strings.HasPrefix(kv, plugin.EnvUnixSocketDir+"=") {
			env = append(env, kv)
		}
	}
	a.env = env
	return pluginRunner{a}, nil
}

// pluginRunner is what go-plugin sees of an attempt.
type pluginRunner struct{ a *attempt }

var _ runner.Runner = pluginRunner{}

// Start forks. The context is go-plugin's; the attempt's own is shorter.
func (r pluginRunner) Start(context.Context) error {
	a := r.a
	pipes, err := newPlumbing(a.l.loopback)
	if err != nil {
		a.fail(&failure{cause: CauseSystem, err: err})
		return err
	}
	child, err := a.l.forks.start(a.ctx, a.spec, append(a.env, pipes.env()...), pipes.child())
	pipes.closeChild()
	if err != nil {
		pipes.closeHost()
		a.fail(err)
		return err
	}
	a.loop = pipes.loop
	a.p = newProcess(a.l, a.spec, child, pipes, a)
	a.p.run()
	if a.spec.Started != nil {
		a.spec.Started(a.p.pid)
	}
	return nil
}

// Stdout is the handshake line and then the end.
func (r pluginRunner) Stdout() io.ReadCloser { return r.a.words }

// Stderr is at its end: go-plugin never parses a word of the plugin's (H1).
func (r pluginRunner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Wait returns when go-plugin's Start has, so that go-plugin neither takes an
// early end for an exit nor keeps a goroutine for the life of the process.
func (r pluginRunner) Wait(context.Context) error {
	<-r.a.released
	return nil
}

// Kill does nothing: the attempt ends the process on every failed path.
func (r pluginRunner) Kill(context.Context) error { return nil }

// Diagnose says nothing: the attempt knows better.
func (r pluginRunner) Diagnose(context.Context) string { return "" }

func (r pluginRunner) Name() string { return r.a.spec.Name }

func (r pluginRunner) ID() string { return r.a.spec.Name }

func (r pluginRunner) PluginToHost(network, addr string) (string, string, error) {
	return network, addr, nil
}

func (r pluginRunner) HostToPlugin(network, addr string) (string, string, error) {
	return network, addr, nil
}

// greet is the attempt as a greeter: it tells go-plugin what it heard.
func (a *attempt) greet(text []byte) (noise []byte, done bool) {
	rest, address, found, err := findHandshake(string(text), a.loop != nil)
	switch {
	case !found:
		return text, false
	case err != nil:
		a.fail(err)
		return text, true
	}
	a.address = address
	_, _ = io.WriteString(a.speak, handshakeLine()) // fails only if the attempt ended
	a.speak.Close()
	return []byte(rest), true
}

// gone ends the attempt: there will be no handshake.
func (a *attempt) gone(why string, atEnd bool) {
	a.fail(&failure{cause: CauseHandshake, err: errors.New(why), own: atEnd})
}

// env are the variables that tell the plugin of its descriptors.
func (p *plumbing) env() []string {
	env := []string{wire.EnvConn + "=" + p.connEnv}
	if p.connOutEnv != "" {
		env = append(env, wire.EnvConnOut+"="+p.connOutEnv)
	}
	return env
}
