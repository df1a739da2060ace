//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// sideBySide is how many faults run at once.
const sideBySide = 6

// TestA3_EveryFaultThroughTheCommandLine makes every call of docs/faults.md, for people and as JSON, and looks
// for the documented exit code and words, and for processes that are left.
func TestA3_EveryFaultThroughTheCommandLine(t *testing.T) {
	t.Parallel()
	pidns := namespaces(t)
	slots := make(chan struct{}, sideBySide)
	for _, r := range table(t) {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			if needs := r.plugin == "sigstop" || r.plugin == "grandchild-setsid"; needs && r.config == "" && !pidns {
				t.Skip("this kernel gives no pid namespace")
			}
			dir := home(t, r.plugin)
			r.callCLI(t, dir)
			gone(t, dir)
		})
	}
}

// callCLI makes the row's call twice, for people and as JSON.
func (r row) callCLI(t *testing.T, dir string) {
	ping := ""
	if r.deaf() {
		ping = ", ping: 1s, pingWait: 500ms"
	}
	config := fmt.Sprintf("limits: {grace: 1s%s}\nplugins:\n  %s:\n    path: %s/plugins/toolplugin-%[2]s\n    %[4]s\n",
		ping, r.plugin, dir, r.config)
	if err := os.WriteFile(dir+"/toolhost.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--config", dir + "/toolhost.yaml", "--plugins", dir + "/plugins", "call", r.plugin}
	if r.input != "" {
		args = append(args, r.input)
	}
	if r.exit == 10 {
		args = append(args, "--timeout", patience.String())
	}
	var stdout, stderr string
	var code int
	var calls sync.WaitGroup
	calls.Go(func() { stdout, stderr, code = run(t, append(slices.Clone(args), "--state", dir+"/state")) }) // ends with toolhost
	_, asJSON, jsonCode := run(t, append(slices.Clone(args), "--state", dir+"/state2", "--json"))
	calls.Wait()
	if strings.Contains(asJSON, `"cause":"sandbox"`) {
		t.Skip("this machine does not give the sandbox: " + asJSON)
	}
	if code != r.exit || jsonCode != r.exit {
		t.Errorf("exit codes %d and %d, want %d\nstdout: %.300s\nstderr: %.1000s\n%.1000s", code, jsonCode, r.exit, stdout, stderr, asJSON)
	}
	if r.code == "" {
		if !strings.Contains(stdout, r.words) || asJSON != "" {
			t.Errorf("stdout %q does not say %q, or stderr something: %q", stdout, r.words, asJSON)
		}
		return
	}
	if !strings.Contains(stderr, "toolhost: call "+r.plugin+": ") || !strings.Contains(stderr, r.words) {
		t.Errorf("stderr does not say %q:\n%s", r.words, stderr)
	}
	var got struct {
		Error struct {
			Code, Outcome, Message string
			Exit                   *struct {
				Plugin string
				Status *int
			}
		}
	}
	valid(t, []byte(asJSON), &got)
	if e := got.Error; e.Code != r.code || e.Outcome != r.outcome || !strings.Contains(e.Message, r.words) {
		t.Errorf("--json: %+v, want %s, %s, %q", e, r.code, r.outcome, r.words)
	} else if dead := e.Code == "unavailable"; dead != (e.Exit != nil) || dead && (e.Exit.Plugin != r.plugin || e.Exit.Status == nil) { // C5
		t.Errorf("--json: the evidence of a death: %s", asJSON)
	}
}

// run runs toolhost.
func run(t *testing.T, args []string) (stdout, stderr string, code int) {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var out, err strings.Builder
	cmd := exec.CommandContext(ctx, built+"/toolhost", args...)
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run() // its exit code says it
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

// TestA3_AHealthyPluginAnswersBesideEveryFault runs all faults in one host, some of them side by side, while a
// healthy plugin of the same host is called all the time.
func TestA3_AHealthyPluginAnswersBesideEveryFault(t *testing.T) {
	t.Parallel()
	var names []string
	for _, f := range all() {
		names = append(names, f.name)
	}
	dir := home(t, names...)
	var impatient []host.Plugin
	for _, r := range table(t) {
		limits := host.Limits{Start: 2 * time.Second}
		switch {
		case r.config == "" && r.deaf():
			limits = host.Limits{Ping: time.Second, PingWait: 500 * time.Millisecond}
		case r.config != shortStart:
			continue
		}
		impatient = append(impatient, host.Plugin{Path: dir + "/plugins/toolplugin-" + r.plugin, Limits: limits})
	}
	h, err := host.Open(t.Context(), host.Config{
		Dirs: []string{dir + "/plugins"}, Plugins: impatient, StateDir: dir + "/state",
		Limits: host.Limits{Grace: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	closed := sync.OnceFunc(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	defer closed()
	if _, err := h.Call(t.Context(), host.Call{Tool: "healthy"}); err != nil {
		t.Fatal(err)
	}
	var evil sync.WaitGroup
	var over atomic.Bool
	slots := make(chan struct{}, sideBySide)
	for _, r := range table(t) {
		if r.config != "" && r.config != shortStart || r.plugin == "healthy" {
			continue
		}
		evil.Go(func() { // ends with the call, which has a deadline
			slots <- struct{}{}
			defer func() { <-slots }()
			r.callHost(t, h)
		})
	}
	go func() { evil.Wait(); over.Store(true) }() // ends with the calls
	calls, worst := 0, time.Duration(0)
	for !over.Load() {
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, err := h.Call(ctx, host.Call{Tool: "healthy"})
		cancel()
		if err != nil {
			t.Errorf("the healthy plugin: %v", err)
		}
		calls, worst = calls+1, max(worst, time.Since(begin))
		time.Sleep(time.Millisecond)
	}
	t.Logf("%d healthy calls, the longest %v", calls, worst)
	if calls < 10 {
		t.Errorf("only %d healthy calls", calls)
	}
	for s := range h.Plugins() {
		if s.Name == "healthy" && s.Restarts > 0 {
			t.Errorf("the healthy plugin was started again: %+v", s)
		}
	}
	closed()
	gone(t, dir)
}

// patience is how long a call that is never answered is waited for: enough to start its plugin beside others on a slow machine.
const patience = 6 * time.Second

// deaf reports whether the plugin is found by its silence. Only such a one is pinged often: a machine that is busy is not dead.
func (r row) deaf() bool { return strings.Contains(r.words, "did not answer 3 pings") }

// shortStart is the configuration of a plugin that is not waited for as long as usual.
const shortStart = "limits: {start: 2s}"

// callHost makes the row's call and compares what the caller sees.
func (r row) callHost(t *testing.T, h *host.Host) {
	ctx, cancel := t.Context(), context.CancelFunc(func() {})
	if r.exit == 10 {
		ctx, cancel = context.WithTimeout(ctx, patience)
	}
	defer cancel()
	res, err := h.Call(ctx, host.Call{Tool: r.plugin, Input: []byte(r.input)})
	if r.code == "" {
		if err != nil || !strings.Contains(string(res.Output), r.words) {
			t.Errorf("%s: %v, %v", r, res, err)
		}
		return
	}
	e, ok := errors.AsType[*host.Error](err)
	if !ok || e.Code.String() != r.code || e.Outcome.String() != r.outcome || !strings.Contains(e.Error(), r.words) {
		t.Errorf("%s: %v (%+v)", r, err, e)
	}
}
