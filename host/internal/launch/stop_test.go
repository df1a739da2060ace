//go:build linux

package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestK1_StopIsBounded(t *testing.T) {
	t.Parallel()
	transports(t, testK1Process)
	t.Run("launcher", testK1Launcher)
}

func testK1Process(t *testing.T, l *Launcher) {
	tests := map[string]struct {
		steps []string
		hurt  func(*Process)
		floor time.Duration
	}{
		"conforming": {steps: conforming},
		"deaf":       {steps: []string{"ignore:15", shake, "serve", "hang"}, floor: 300 * time.Millisecond},
		"stopped": {steps: conforming, floor: 300 * time.Millisecond,
			hurt: func(p *Process) { freeze(p.PID()) }},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := start(t, l, self(nil, tt.steps...))
			if tt.hurt != nil {
				tt.hurt(p)
			}
			begin := time.Now()
			grace := 300 * time.Millisecond
			if tt.floor == 0 { // it ends long before; a busy machine may need time for that
				grace = soon
			}
			p.Stop(grace, time.Second)
			took := time.Since(begin)
			t.Logf("stopped after %v", took)
			if took < tt.floor || took > grace+soon {
				t.Errorf("Stop took %v", took)
			}
			if e := ended(t, p); e.Killed != (tt.floor > 0) || e.Cause == CauseMemory {
				t.Errorf("%+v", e)
			}
			p.Stop(time.Second, 0) // of a process that is gone
			p.Kill()
		})
	}
}

func testK1Launcher(t *testing.T) {
	l := newLauncher(t)
	var ps []*Process
	for range 3 {
		p := start(t, l, self(nil, "ignore:15", shake, "serve", "hang"))
		_ = syscall.Kill(p.PID(), syscall.SIGSTOP)
		ps = append(ps, p)
	}
	begin := time.Now()
	l.Close()
	if took := time.Since(begin); took > soon {
		t.Errorf("Close took %v", took)
	}
	for _, p := range ps {
		ended(t, p)
	}
	if e := refuse(t, l, self(nil, conforming...)); e.Cause != CauseCanceled {
		t.Errorf("after Close: %v", e)
	}
}

// K2: descendants that hold pipes and connection delay nothing, and die with the
// group; one that left the group only dies where there is a pid namespace.
func TestK2_DescendantsHoldThePipes(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"grandchild", "setsid"} {
		for profile, sandbox := range profiles {
			t.Run(how+" "+profile, func(t *testing.T) {
				mark := fmt.Sprintf("k2-%s-%s-%d", how, profile, os.Getpid())
				spec := self(nil, how+":"+mark, shake, "serve", "stdin", "exit:3")
				spec.Sandbox = sandbox
				p := start(t, newLauncher(t), spec)
				eventually(t, "two processes", func() bool { return len(marked(mark)) == 2 })
				begin := time.Now()
				_ = syscall.Kill(p.PID(), syscall.SIGKILL)
				e := ended(t, p)
				took := time.Since(begin)
				t.Logf("death to Done: %v", took)
				if took > soon || e.Signal != "SIGKILL" || e.Killed {
					t.Errorf("%v: %+v", took, e)
				}
				if how == "setsid" && (profile == "none" || len(p.Uncovered()) > 0) {
					for _, pid := range marked(mark) { // as documented: it escapes
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
				eventually(t, "no process", func() bool { return len(marked(mark)) == 0 })
			})
		}
	}
}

// K5: the end of the lifeline ends a plugin that is deaf to signals.
func TestK5_Lifeline(t *testing.T) {
	transports(t, testK5Lifeline)
}

func testK5Lifeline(t *testing.T, l *Launcher) {
	s := &sink{}
	p := start(t, l, self(s, "ignore:15", shake, "serve", "stdin", "exit:4"))
	p.Stop(2*soon, 0)
	if e := ended(t, p); e.Status != 4 || e.Killed || !strings.Contains(s.text(), "stdin ended after 0 bytes") {
		t.Errorf("%+v: %s", e, s.text())
	}
}

// K6: the parent-death signal comes from the launcher's thread and no other.
func TestK6_ThreadsThatEnd(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	var ps []*Process
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range 6 {
		wg.Go(func() { // each start comes from a thread that ends
			runtime.LockOSThread()
			p, err := l.Start(context.Background(), self(nil, conforming...))
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ps = append(ps, p)
		})
	}
	wg.Wait()
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		for range 10 {
			wg.Go(func() { runtime.LockOSThread() })
		}
		wg.Wait()
	}
	for _, p := range ps {
		select {
		case <-p.Done():
			t.Errorf("a plugin died: %v", p.Exit())
		default:
		}
		if err := healthy(p); err != nil {
			t.Error(err)
		}
		p.Kill()
	}
}

// freeze stops a process, and returns when all its threads have stopped.
func freeze(pid int) {
	_ = syscall.Kill(pid, syscall.SIGSTOP)
	for running := true; running; runtime.Gosched() {
		running = false
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, name := range tasks {
			stat, _ := os.ReadFile(name)
			_, state, _ := strings.Cut(string(stat), ") ")
			running = running || state != "" && state[0] != 'T'
		}
	}
}

// K10: whatever fails after the fork, no process is left when Start returns.
func TestK10_NoProcessAfterAFailedStart(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	stages := map[string][]string{
		"handshake":    {"print:1|9|unix|/x|grpc\n", "hang"},
		"noise":        {"block:2000000", "hang"},
		"connection":   {shake, "close:3", "hang"},
		"timeout":      {shake, "hang"},
		"its own exit": {"exit:1"},
	}
	for name, steps := range stages {
		t.Run(name, func(t *testing.T) {
			mark := fmt.Sprintf("k10-%s-%d", name, os.Getpid())
			spec := self(nil, append(steps, mark)...)
			pid := 0
			spec.Started = func(n int) { pid = n }
			spec.Timeout = 500 * time.Millisecond
			refuse(t, l, spec)
			if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
				t.Errorf("process %d: %v", pid, err)
			}
			if left := marked(mark); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	t.Run("launcher closed", func(t *testing.T) {
		l := newLauncher(t)
		spec := self(nil, "hang")
		pid := 0
		closed := make(chan struct{})
		spec.Started = func(n int) {
			pid = n
			go func() { defer close(closed); l.Close() }() // ends with Start
		}
		if e := refuse(t, l, spec); e.Cause != CauseCanceled || e.Err != errClosed {
			t.Errorf("%+v", e)
		}
		<-closed
		if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
			t.Errorf("process %d: %v", pid, err)
		}
	})
}

// K11, C7: crashes leave no zombie, descriptor or file behind.
func TestK11_CrashCycles(t *testing.T) {
	transports(t, testK11CrashCycles)
}

func testK11CrashCycles(t *testing.T, l *Launcher) {
	cycle := func() {
		p := start(t, l, self(nil, shake, "serve", "stdin"))
		_ = syscall.Kill(p.PID(), syscall.SIGKILL)
		ended(t, p)
	}
	cycle()
	fds, threads := len(descriptors()), runtime.NumGoroutine()
	cycles := 100
	if testing.Short() || l.loopback {
		cycles = 20
	}
	for range cycles {
		cycle()
	}
	if kids := children(os.Getpid()); len(kids) > 0 {
		t.Errorf("children: %v", kids)
	}
	eventually(t, "as few goroutines and descriptors as before", func() bool {
		return runtime.NumGoroutine() <= threads+cycles/4 && len(descriptors()) <= fds+cycles/4 // some of the runtime's own come and go
	})
}

// K14: during a stop the pipes stay open, so a plugin that logs on its way out
// ends by plan and not by SIGPIPE.
func TestK14_LoggingOnTheWayOut(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "done")
	p := start(t, newLauncher(t), self(nil, "ignore:15", shake, "serve", "logon:"+file, "exit:0"))
	p.Stop(2*soon, 0)
	if e := ended(t, p); e.Status != 0 || e.Signal != "" {
		t.Errorf("%+v", e)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}
