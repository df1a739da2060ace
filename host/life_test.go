//go:build unix

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

func TestC4_C5_EvidenceIsTiedToTheCall(t *testing.T) {
	for _, c := range []struct {
		tool, input string
		check       func(*host.ExitError) bool
	}{
		{"exit", `{"n":7}`, func(x *host.ExitError) bool { return x.Status == 7 && strings.Contains(x.Stderr, "last words") }},
		{"gopanic", `{}`, func(x *host.ExitError) bool {
			return strings.Contains(x.Panic, "in a goroutine") && x.Cause == "panic"
		}},
		{"signal", `{"n":9}`, func(x *host.ExitError) bool { return x.Signal == "SIGKILL" && x.PeakRSS > 0 }},
		{"fatal", `{}`, func(x *host.ExitError) bool { return strings.Contains(x.Panic, "unlock of unlocked mutex") }},
	} {
		t.Run(c.tool+c.input, func(t *testing.T) {
			p := self("test", "")
			p.Sandbox = host.Sandbox{Profile: host.ProfileNone} // in a pid namespace a plugin cannot signal itself
			h := open(t, host.Config{}, p)
			e := fails(t, h, c.tool, c.input, host.Unavailable, host.Unknown)
			x, ok := errors.AsType[*host.ExitError](e)
			if !ok || !c.check(x) {
				t.Fatalf("evidence %+v in %v", x, e)
			}
			call(t, h, "pid", `{}`) // a fresh process
		})
	}
}

func TestC1_ADeathFailsOnlyItsOwnCallsAtOnce(t *testing.T) {
	h := open(t, host.Config{}, self("a", ""), self("b", "clash"))
	call(t, h, "b/echo", `{"text":""}`)
	call(t, h, "pid", `{}`)
	waiting := h.Start(t.Context(), host.Call{Tool: "wait", Input: []byte(`{}`)})
	for e := range waiting.Events() {
		if _, ok := e.(host.Progress); ok {
			began := time.Now()
			fails(t, h, "exit", `{"n":1}`, host.Unavailable, host.Unknown)
			if d := time.Since(began); d > soon { // pings take longer
				t.Errorf("a death was known after %v", d)
			}
		}
		if ev, ok := e.(host.ErrorEvent); ok && ev.Err.Code != host.Unavailable {
			t.Errorf("got %v", ev.Err)
		}
	}
	call(t, h, "b/echo", `{"text":""}`)
	for s := range h.Plugins() {
		if s.Name == "b" && s.Restarts != 0 {
			t.Errorf("b was restarted: %+v", s)
		}
	}
}

func TestC3_ACallThatWasSentIsNeverRepeated(t *testing.T) {
	h := open(t, host.Config{})
	marker := filepath.Join(t.TempDir(), "effects")
	fails(t, h, "effect", `{"text":"`+marker+`"}`, host.Unavailable, host.Unknown)
	call(t, h, "pid", `{}`)
	if b, err := os.ReadFile(marker); err != nil || string(b) != "once\n" {
		t.Errorf("effects: %q, %v", b, err)
	}
}

func TestC6_OnePanicAmongTen(t *testing.T) {
	h := open(t, host.Config{})
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() { // ends with its call
			if i == 3 {
				e := fails(t, h, "panic", `{}`, host.ToolFailed, host.Failed)
				if te, ok := errors.AsType[*host.ToolError](e); !ok || !te.Panic || !strings.Contains(te.Message, "spilled the beans") {
					t.Errorf("got %v", e)
				}
				return
			}
			call(t, h, "echo", `{"text":"x"}`)
		})
	}
	all.Wait()
	if s := status(t, h); s.Restarts != 0 {
		t.Errorf("a panic restarted the plugin: %+v", s)
	}
}

func TestC14_ManyFirstCallsOneLaunch(t *testing.T) {
	h := open(t, host.Config{})
	var all sync.WaitGroup
	var mu sync.Mutex
	starts := map[string]int{}
	for range 100 {
		all.Go(func() { // ends with its call
			res := call(t, h, "start", `{}`)
			mu.Lock()
			defer mu.Unlock()
			starts[string(res.Output)]++
		})
	}
	all.Wait()
	if len(starts) != 1 {
		t.Errorf("%d processes answered: %v", len(starts), starts)
	}
}

func TestC2_BackoffCircuitAndQuarantine(t *testing.T) {
	p := self("test", "die")
	h := open(t, host.Config{Limits: host.Limits{BackoffFirst: 10 * time.Millisecond, BackoffMost: 20 * time.Millisecond, Circuit: 4}}, p)
	for range 8 {
		fails(t, h, "test/echo", `{}`, host.Unavailable, host.NotStarted)
	}
	s := status(t, h)
	if s.State != host.Quarantined || s.Restarts != 3 {
		t.Errorf("got %+v", s)
	}
}

func TestC12_AFailedPluginIsListedWithItsCause(t *testing.T) {
	h := open(t, host.Config{Eager: true}, self("good", ""), self("bad", "die"))
	for s := range h.Plugins() {
		switch s.Name {
		case "bad":
			if s.State != host.Crashed || !strings.Contains(s.Error, "cannot find my license") || len(s.Tools) != 0 {
				t.Errorf("bad: %+v", s)
			}
		case "good":
			if s.State != host.Ready || len(s.Tools) == 0 || s.PID == 0 {
				t.Errorf("good: %+v", s)
			}
		}
	}
	call(t, h, "pid", `{}`)
	e := fails(t, h, "bad", `{}`, host.Unavailable, host.NotStarted)
	if x, ok := errors.AsType[*host.ExitError](e); !ok || x.Status != 3 {
		t.Errorf("a call by the failed plugin's name: %v", e)
	}
}

func TestNames_ClashGoesToTheFirstPluginByName(t *testing.T) {
	h := open(t, host.Config{Tools: map[string]string{"say2": "echo", "pid": "echo"}}, self("b", "clash"), self("a", ""))
	for name, want := range map[string]string{"echo": `"text":"x"`, "b/echo": "the other echo", "a/echo": `"text":"x"`, "say2": `"text":"x"`} {
		if got := string(call(t, h, name, `{"text":"x"}`).Output); !strings.Contains(got, want) {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if _, err := h.Call(t.Context(), host.Call{Tool: "pid"}); err != nil {
		t.Errorf("an alias took a tool's name over: %v", err)
	}
}

func TestL5_StatusDoesNotWaitForAStart(t *testing.T) {
	slow := host.Plugin{Name: "slow", Path: "/bin/sleep", Args: []string{"60"}}
	h := open(t, host.Config{Limits: host.Limits{Start: time.Minute}}, slow)
	r := h.Start(t.Context(), host.Call{Tool: "slow/x", Input: []byte(`{}`)})
	eventually(t, "starting", func() bool { return status(t, h).State == host.Starting })
	began := time.Now()
	status(t, h)
	if d := time.Since(began); d > soon {
		t.Errorf("status took %v", d)
	}
	r.Cancel(nil)
	if _, err := r.Result(); err == nil {
		t.Error("no error")
	}
}

func TestK1_StopIsBoundedWhateverThePluginDoes(t *testing.T) {
	for _, tool := range []string{"stop", "stubborn"} {
		t.Run(tool, func(t *testing.T) {
			p := self("test", "")
			p.Sandbox = host.Sandbox{Profile: host.ProfileNone}
			h := open(t, host.Config{Limits: host.Limits{Drain: 200 * time.Millisecond, Grace: 200 * time.Millisecond, Reap: soon}}, p)
			call(t, h, "pid", `{}`)
			r := h.Start(context.WithoutCancel(t.Context()), host.Call{Tool: tool, Input: []byte(`{}`)})
			pid := status(t, h).PID
			if tool == "stop" {
				eventually(t, "stopped", func() bool { return procState(pid) == "T" })
			}
			began := time.Now()
			h.Close()
			if d := time.Since(began); d > soon+soon/2 {
				t.Errorf("Close took %v", d)
			}
			if syscall.Kill(pid, 0) == nil {
				t.Errorf("process %d is alive", pid)
			}
			if _, err := r.Result(); err == nil {
				t.Error("the call of a closed host has a result")
			}
		})
	}
}

func TestK9_RunningCallsMayFinishAtClose(t *testing.T) {
	h := open(t, host.Config{})
	call(t, h, "pid", `{}`)
	var all sync.WaitGroup
	entered := make(chan struct{}, 20)
	for range 20 {
		all.Go(func() { // ends with its call
			r := h.Start(t.Context(), host.Call{Tool: "limited", Input: []byte(`{}`)})
			for e := range r.Events() {
				switch e := e.(type) {
				case host.CallStarted:
					entered <- struct{}{}
				case host.ErrorEvent:
					if e.Err.Code != host.Closed || e.Err.Outcome != host.NotStarted {
						t.Errorf("a running call was cut: %v", e.Err)
					}
				}
			}
		})
	}
	<-entered
	h.Close()
	all.Wait()
}

func TestC10_AStoppedProcessIsFoundByItsSilence(t *testing.T) {
	p := self("test", "")
	p.Sandbox = host.Sandbox{Profile: host.ProfileNone}
	h := open(t, host.Config{Limits: host.Limits{Ping: 50 * time.Millisecond, PingWait: 50 * time.Millisecond}}, p)
	var e *host.Error
	eventually(t, "a call that was begun ends", func() bool { // on a busy machine pings are missed before
		_, err := h.Call(t.Context(), host.Call{Tool: "stop", Input: []byte(`{}`)})
		e, _ = errors.AsType[*host.Error](err)
		return e != nil && e.Code == host.Unavailable && e.Outcome == host.Unknown
	})
	if !strings.Contains(e.Error(), "ping") {
		t.Errorf("%q does not say why", e)
	}
	eventually(t, "a fresh process answers", func() bool {
		_, err := h.Call(t.Context(), host.Call{Tool: "pid", Input: []byte(`{}`)})
		return err == nil
	})
}

func TestK2_AGrandchildThatHoldsThePipesDoesNotKeepAStop(t *testing.T) {
	h := open(t, host.Config{})
	call(t, h, "sleeper", `{}`)
	began := time.Now()
	h.Close()
	if d := time.Since(began); d > soon {
		t.Errorf("Close took %v", d)
	}
}

func TestO4_WhatWasSaidBeforeTheResultIsInTheLogBeforeIt(t *testing.T) {
	var buf syncBuffer
	h := open(t, host.Config{Logger: slog.New(slog.NewTextHandler(&buf, nil))})
	for i := range 50 {
		text := fmt.Sprintf("line-%d-", i)
		began := time.Now()
		call(t, h, "say", `{"text":"`+text+`"}`)
		got := buf.String()
		if took := time.Since(began); took < host.FlushWait && (!strings.Contains(got, text+" in the log") || strings.Count(got, text) < 2) {
			t.Fatalf("round %d: the log lacks it after %v:\n%s", i, took, got)
		}
		eventually(t, "it is in the log", func() bool { return strings.Count(buf.String(), text) >= 2 })
	}
}

func TestO3_AStuckLoggerStallsNoCall(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	h := open(t, host.Config{Logger: slog.New(stuckHandler{release})})
	began := time.Now()
	for range 5 {
		call(t, h, "say", `{"text":"x"}`)
	}
	if d := time.Since(began); d > soon {
		t.Errorf("5 calls took %v", d)
	}
}

type stuckHandler struct{ release chan struct{} }

func (h stuckHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h stuckHandler) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "x") {
		<-h.release
	}
	return nil
}
func (h stuckHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h stuckHandler) WithGroup(string) slog.Handler      { return h }

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// C7: 100 cycles (make soak has more) leave goroutines, descriptors and children where they began.
func TestC7_CrashAndRestartLeavesNothing(t *testing.T) {
	cycles := 100
	if testing.Short() {
		cycles = 30
	}
	h := open(t, host.Config{})
	cycle := func() {
		call(t, h, "pid", `{}`)
		fails(t, h, "exit", `{"n":1}`, host.Unavailable, host.Unknown)
	}
	cycle()
	call(t, h, "pid", `{}`)
	announced(t)
	before := census(t)
	for range cycles {
		cycle()
	}
	call(t, h, "pid", `{}`)
	eventually(t, "as before", func() bool {
		now := census(t)
		return now.goroutines <= before.goroutines+cycles/4 && now.fds <= before.fds+cycles/4 && now.children <= before.children // some come and go
	})
	h.Close()
	eventually(t, "no child", func() bool { return census(t).children == 0 })
}

type counts struct{ goroutines, fds, children int }

func census(t testing.TB) counts {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return counts{runtime.NumGoroutine(), len(fds), len(children(os.Getpid()))}
}

// children lists the child processes of pid.
func children(pid int) (pids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range tasks {
		b, _ := os.ReadFile(f)
		for _, s := range strings.Fields(string(b)) {
			var n int
			if json.Unmarshal([]byte(s), &n) == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// procState is the state letter of a process.
func procState(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if i := bytes.LastIndexByte(b, ')'); i > 0 && len(b) > i+2 {
		return string(b[i+2 : i+3])
	}
	return ""
}

// wantFile compares a file with what it should hold; "" means that it should not exist.
func wantFile(t testing.TB, path, want string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if string(b) != want || want == "" && err == nil {
		t.Errorf("%s holds %q, %v; want %q", path, b, err, want)
	}
}
