//go:build linux

package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestStart(t *testing.T) { transports(t, testStart) }

func testStart(t *testing.T, l *Launcher) {
	for profile, sandbox := range profiles {
		t.Run(profile, func(t *testing.T) {
			s := &sink{}
			spec := self(s, append([]string{"ids", "argv0"}, conforming...)...)
			spec.Sandbox = sandbox
			pid := 0
			spec.Started = func(n int) { pid = n }
			begin := time.Now()
			p := start(t, l, spec)
			t.Logf("start to ready: %v", time.Since(begin))
			if err := healthy(p); err != nil {
				t.Error(err)
			}
			if pid != p.PID() || !alive(pid) {
				t.Errorf("Started said %d, PID is %d", pid, p.PID())
			}
			p.Stop(5*time.Second, 0)
			e := ended(t, p)
			if e.Status != 0 || e.Signal != "" && !e.Killed || e.PeakRSS < 1<<20 {
				t.Errorf("exit %+v", e)
			}
			want := fmt.Sprintf("pid %d pgid %[1]d\n", p.PID())
			if profile == "default" && len(p.Uncovered()) == 0 && runtime.GOOS == "linux" {
				want = "pid 1 pgid 1\n"
			}
			if got := s.text(); !strings.Contains(got, want) || !strings.Contains(got, "stderr: "+os.Args[0]+"\n") {
				t.Errorf("output %q lacks %q or argv[0]", got, want)
			}
			if healthy(p) == nil {
				t.Error("the connection outlived the process")
			}
		})
	}
}

func TestStart_BinaryKeepsArgv0(t *testing.T) {
	s := &sink{}
	spec := self(s, "argv0", "exit:0")
	spec.Binary, spec.Path = spec.Path, "/plugins/toolplugin-x"
	refuse(t, newLauncher(t), spec)
	if got := s.text(); got != "stderr: /plugins/toolplugin-x\n" {
		t.Errorf("argv[0]: %q", got)
	}
}

func TestL2_CauseOfAnEarlyEnd(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name   string
		spec   Spec
		cause  Cause
		status int
		says   string
	}{
		{"exit", self(nil, "eprint:first\nlast words\n", "exit:3"), CauseExited, 3, "start test: exited: exit status 3 before it was ready"},
		{"panic", self(nil, "panic:boom"), CausePanic, 2, "start test: panic: it panicked before it was ready"},
		{"fatal", self(nil, "fatal"), CausePanic, 2, "it panicked"},
		{"cookie", self(nil, "eprint:This binary is a plugin. These are not meant to be executed directly.\nx\n", "exit:1"), CauseCookie, 1, "start test: cookie: it is a plugin of another host"},
		{"no such command", Spec{Path: file("env", "#!/usr/bin/env nosuchprogram\n", 0o700)}, CauseInterpreter, 127, "an interpreter or a library is missing (exit status 127)"},
		{"interpreter", Spec{Path: file("script", "#!/no/such/shell\n", 0o700)}, CauseInterpreter, 0, `interpreter "/no/such/shell" does not exist`},
		{"mode", Spec{Path: file("mode", "#!/bin/sh\n", 0o600)}, CauseNotExecutable, 0, "is not executable: mode -rw-------"},
		{"text", Spec{Path: file("text", "hello\n", 0o700)}, CauseNotExecutable, 0, "no program"},
		{"directory", Spec{Path: dir}, CauseNotExecutable, 0, "no regular file"},
		{"missing", Spec{Path: filepath.Join(dir, "nothing")}, CauseNotFound, 0, "does not exist"},
		{"no path", Spec{Name: "x"}, CauseNotFound, 0, "start x: not found: no path"},
		{"work dir", Spec{Path: "/bin/echo", Dir: filepath.Join(dir, "nothing")}, CausePath, 0, "working directory"},
		{"zero byte", Spec{Path: "/bin/echo", Args: []string{"a\x00b"}}, CausePath, 0, "zero byte"},
		{"variable", Spec{Path: "/bin/echo", Env: []string{"secret"}}, CausePath, 0, "NAME=VALUE"},
		{"closes stdout, lives", self(nil, "close:1", "hang"), CauseHandshake, -1, "stdout ended without a handshake"},
		{"dies after the handshake", self(nil, shake, "exit:4"), CauseExited, 4, "exit status 4"},
		{"closes the connection, lives", self(nil, shake, "close:3", "hang"), CauseConnect, -1, "it does not serve on its connection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := refuse(t, l, tt.spec)
			if e.Cause != tt.cause || e.Err == nil || e.Exit.Status != tt.status || !strings.Contains(e.Error(), tt.says) {
				t.Errorf("cause %q, status %d: %v", e.Cause, e.Exit.Status, e)
			}
		})
	}
}

func TestL3_KilledByTheSystem(t *testing.T) {
	s := self(nil, "raise:9")
	s.Sandbox = Sandbox{} // process 1 of a namespace cannot kill itself
	e := refuse(t, newLauncher(t), s)
	if e.Cause != CauseMemory || e.Exit.Signal != "SIGKILL" || e.Exit.Killed || e.Exit.PeakRSS == 0 {
		t.Errorf("%+v", e.Exit)
	}
	if !strings.Contains(e.Error(), "start test: memory: ended by SIGKILL, probably out of memory; peak ") {
		t.Error(e)
	}
	s = self(nil, "raise:15")
	s.Sandbox = Sandbox{}
	if e := refuse(t, newLauncher(t), s); e.Cause != CauseSignal || e.Exit.Signal != "SIGTERM" || e.Exit.Killed {
		t.Errorf("%+v", e.Exit)
	}
}

// slowStarts hang at each stage of a start.
var slowStarts = map[string][]string{
	"before the handshake": {"ignore:15", "sleep:60000"},
	"before it serves":     {"ignore:15", shake, "sleep:60000"},
}

func TestL4_Cancel(t *testing.T) {
	t.Parallel()
	transports(t, testL4Cancel)
}

func testL4Cancel(t *testing.T, l *Launcher) {
	for name, steps := range slowStarts {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			spec := self(nil, steps...)
			var began time.Time
			spec.Started = func(int) {
				time.AfterFunc(100*time.Millisecond, func() { began = time.Now(); cancel() })
			}
			e := refuseCtx(ctx, t, l, spec)
			took := time.Since(began)
			t.Logf("cancel to return: %v", took)
			if e.Cause != CauseCanceled || e.Err != context.Canceled || !e.Exit.Killed {
				t.Errorf("%+v", e)
			}
			if took > soon { // of the two minutes of a start; 50 ms on a quiet machine
				t.Errorf("returned after %v", took)
			}
		})
	}
}

// H4, L11: a start that hangs is over at its limit, and one that prints a
// handshake and never serves was never started.
func TestL4_H4_L11_Timeout(t *testing.T) {
	t.Parallel()
	transports(t, testL4H4L11Timeout)
}

func testL4H4L11Timeout(t *testing.T, l *Launcher) {
	for name, steps := range slowStarts {
		t.Run(name, func(t *testing.T) {
			spec := self(nil, steps...)
			spec.Timeout = 300 * time.Millisecond
			e := refuse(t, l, spec)
			if e.Cause != CauseTimeout || !strings.Contains(e.Error(), "start test: timeout: not ready after 300ms") || !e.Exit.Killed {
				t.Errorf("%+v: %v", e, e)
			}
		})
	}
}

func TestL14_StartsWaitForASlot(t *testing.T) {
	l := New(Config{Parallel: 1})
	defer l.Close()
	started := make(chan struct{})
	slow := self(nil, "hang")
	var begin time.Time
	slow.Started = func(int) { begin = time.Now(); close(started) }
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { refuseCtx(ctx, t, l, slow) })
	<-started
	short, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	second := self(nil, conforming...)
	second.Started = func(int) {
		if time.Since(begin) < slotTime*3/4 { // a slot is lent for slotTime, which began a little before
			t.Error("the second one was started")
		}
	}
	if e := refuseCtx(short, t, l, second); e.Cause != CauseCanceled {
		t.Errorf("%+v", e)
	}
	cancel()
	wg.Wait()
	start(t, l, self(nil, conforming...)).Kill()
}

// A plugin that never becomes ready keeps no other from starting.
func TestL14_AStartThatHangsGivesItsSlotBack(t *testing.T) {
	l := New(Config{Parallel: 1})
	defer l.Close()
	started := make(chan struct{})
	slow := self(nil, "hang")
	slow.Started = func(int) { close(started) }
	slow.Timeout = time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { refuseCtx(ctx, t, l, slow) })
	<-started
	start(t, l, self(nil, conforming...)).Kill()
	cancel()
	wg.Wait()
}

// L5: what a supervisor asks of a starting process is answered at once.
func TestL5_PIDDuringASlowStart(t *testing.T) {
	l := newLauncher(t)
	ctx, cancel := context.WithCancel(context.Background())
	spec := self(nil, "hang")
	pids := make(chan int, 1)
	spec.Started = func(pid int) { pids <- pid }
	done := make(chan struct{})
	go func() { defer close(done); refuseCtx(ctx, t, l, spec) }() // ends with cancel
	if pid := <-pids; !alive(pid) {
		t.Error("no process")
	}
	cancel()
	<-done
}

func TestL6_NextAttemptAfterAFailure(t *testing.T) {
	l := newLauncher(t)
	flag := filepath.Join(t.TempDir(), "second")
	script := filepath.Join(t.TempDir(), "flaky")
	text := fmt.Sprintf("#!/bin/sh\nif [ -e %s ]; then exec %s \"$@\"; fi\n: > %[1]s\nexit 1\n", flag, os.Args[0])
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	spec := self(nil, conforming...)
	spec.Path = script
	if e := refuse(t, l, spec); e.Cause != CauseExited || e.Exit.Status != 1 {
		t.Errorf("%+v", e)
	}
	p := start(t, l, spec)
	defer p.Kill()
	if err := healthy(p); err != nil {
		t.Error(err)
	}
}

func TestL7_WriteAndStartInParallel(t *testing.T) {
	t.Parallel()
	l := New(Config{Parallel: 24})
	defer l.Close()
	dir := t.TempDir()
	for round := range 4 {
		var wg sync.WaitGroup
		for i := range 24 {
			wg.Go(func() {
				path := filepath.Join(dir, fmt.Sprintf("p%d-%d", round, i))
				if err := copyFile(path, "/bin/echo"); err != nil {
					t.Error(err)
					return
				}
				_, err := l.Start(context.Background(), Spec{Path: path, Args: []string{"hello"}})
				if e, ok := err.(*StartError); !ok || e.Cause != CauseExited || e.Exit.Status != 0 {
					t.Errorf("round %d: %v", round, err)
				}
				os.Remove(path)
			})
		}
		wg.Wait()
	}
}

func TestL7_StaysBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "busy")
	if err := copyFile(path, "/bin/echo"); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	begin := time.Now()
	if e := refuse(t, newLauncher(t), Spec{Path: path}); e.Cause != CauseTextBusy {
		t.Errorf("%+v", e)
	}
	if took := time.Since(begin); took < busyLimit || took > busyLimit+soon {
		t.Errorf("tried for %v", took)
	}
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// A plugin that has plain go-plugin serve it beside the inherited connection works.
func TestStart_GoPlugin(t *testing.T) {
	spec := self(nil, "goplugin")
	spec.Env = append(spec.Env, "TMPDIR="+shortDir(t)) // for its socket, which it leaves when it is killed
	p := start(t, newLauncher(t), spec)
	defer p.Kill()
	if err := healthy(p); err != nil {
		t.Error(err)
	}
}

// L9, D10: no path is too long, since no socket has one, and nothing is left.
func TestL9_D10_LongTMPDIR(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	l := newLauncher(t)
	p := start(t, l, self(nil, conforming...))
	defer p.Kill()
	if err := healthy(p); err != nil {
		t.Error(err)
	}
	refuse(t, l, self(nil, "exit:1"))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	gone := filepath.Join(dir, "gone")
	t.Setenv("TMPDIR", gone)
	if e := refuse(t, l, self(nil, conforming...)); e.Cause != CauseSystem || !strings.Contains(e.Error(), "the host's temporary directory: ") || !strings.Contains(e.Error(), gone) {
		t.Error(e)
	}
}
