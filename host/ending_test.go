//go:build unix

package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// K8: the grace is the plugin's own, and the plugin is told how long its calls may take.
func TestK8_GraceIsThePluginsOwn(t *testing.T) {
	log := &records{}
	patient, hasty := wired("patient", "needs time:600"), wired("hasty", "needs time:3600000")
	patient.Limits.Grace, hasty.Limits.Grace = 2*soon, 500*time.Millisecond
	h := open(t, host.Config{Logger: slog.New(named{log, ""}), Limits: host.Limits{Drain: 7 * time.Second}}, patient, hasty)
	call(t, h, "patient/do", `{}`)
	call(t, h, "hasty/do", `{}`)
	began := time.Now()
	h.Close()
	if took := time.Since(began); took < 600*time.Millisecond || took > soon {
		t.Errorf("Close took %v", took)
	}
	if n := len(log.with("patient: ended by plan")); n != 1 {
		t.Errorf("the plugin with time enough ended by plan %d times", n)
	}
	if n := len(log.with("hasty: ended by plan")); n != 0 {
		t.Errorf("the plugin without time ended by plan %d times", n)
	}
	if n := len(log.with("patient: drain within 7s")); n != 1 { // the hasty one may be killed before it can say so
		t.Errorf("the plugin with time enough was told the deadline %d times", n)
	}
}

// named puts the plugin's name before each message.
type named struct {
	*records
	plugin string
}

func (n named) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == "plugin" {
			n.plugin = a.Value.String()
		}
	}
	return n
}

func (n named) Handle(ctx context.Context, r slog.Record) error {
	r.Message = n.plugin + ": " + r.Message
	return n.records.Handle(ctx, r)
}

// K9: a stop that lets its calls finish is nothing to warn of.
func TestK9_AStopIsNoErrorInTheLog(t *testing.T) {
	log := &records{}
	limits := host.Limits{Grace: 2 * soon} // a plugin that needs more than its grace is warned of
	h := open(t, host.Config{Logger: slog.New(log), Limits: limits}, self("test", ""), wired("idle", ""))
	call(t, h, "pid", `{}`)
	call(t, h, "idle/do", `{}`)
	var all sync.WaitGroup
	started := make(chan struct{}, 20)
	for range 20 {
		all.Go(func() { // ends with its call
			r := h.Start(t.Context(), host.Call{Tool: "brief", Input: []byte(`{}`)}) // ends by its own timeout, while the host closes
			for e := range r.Events() {
				if _, ok := e.(host.CallStarted); ok {
					started <- struct{}{}
				}
			}
		})
	}
	for range 20 {
		<-started
	}
	h.Close()
	all.Wait()
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, r := range log.all {
		if r.Level >= slog.LevelWarn {
			t.Errorf("%v %s", r.Level, r.Message)
		}
	}
}

// C3: whatever moment a process dies at, a call's effect happens at most once; exactly once if the call succeeded, and
// never if it is said not to have started.
func TestC3_AtMostOnceUnderKills(t *testing.T) {
	p := self("more", "more")
	p.Sandbox.Profile = host.ProfileNone
	h := open(t, host.Config{Limits: host.Limits{Circuit: 1 << 20, BackoffFirst: time.Millisecond, BackoffMost: time.Millisecond}}, p)
	call(t, h, "echo", `{"text":""}`)
	stop := make(chan struct{})
	var killer sync.WaitGroup
	var pause atomic.Int64 // between kills, so that some calls are met and some are not, however fast the machine is
	pause.Store(int64(15 * time.Millisecond))
	killer.Go(func() { // ends with stop
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(pause.Load())):
			}
			for s := range h.Plugins() {
				if s.State == host.Ready && s.PID > 0 {
					_ = syscall.Kill(s.PID, syscall.SIGKILL)
				}
			}
		}
	})
	dir := t.TempDir()
	count := map[string]int{}
	for i := 0; i < 2000 && (count["unknown"] < 10 || count["success"] < 10); i++ {
		file := filepath.Join(dir, fmt.Sprint(i))
		_, err := h.Call(t.Context(), host.Call{Tool: "more/asksnot", Input: json.RawMessage(`{"text":"` + file + `"}`)})
		b, _ := os.ReadFile(file)
		effects := strings.Count(string(b), "\n")
		outcome := "success"
		if err != nil {
			e := err.(*host.Error)
			outcome = e.Outcome.String()
			if e.Code != host.Unavailable {
				t.Errorf("call %d: %v", i, err)
			}
		}
		count[outcome]++
		switch {
		case outcome == "unknown" && count["success"] == 0 && pause.Load() < int64(time.Second):
			pause.Add(int64(15 * time.Millisecond))
		case outcome == "success" && count["unknown"] == 0 && pause.Load() > int64(time.Millisecond):
			pause.Add(-int64(10 * time.Microsecond))
		}
		switch {
		case effects > 1, outcome == "success" && effects != 1, outcome == "not_started" && effects != 0, outcome == "failed":
			t.Fatalf("call %d: %s and %d effects: %v", i, outcome, effects, err)
		}
	}
	close(stop)
	killer.Wait()
	t.Logf("outcomes: %v", count)
	if count["unknown"] == 0 || count["success"] == 0 {
		t.Errorf("the kills met no call: %v", count)
	}
}

// D9: a plugin whose connection breaks while its process lives is replaced, and the old process does not stay.
func TestD9_ABrokenConnectionReplacesThePlugin(t *testing.T) {
	for _, tt := range []struct {
		plugin     host.Plugin
		tool, then string
	}{
		{wired("evil", "breaks"), "evil/do", ""},
		{self("more", "more"), "drop", "echo"},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			h := open(t, host.Config{StateDir: stateDir(t)}, tt.plugin)
			h.Tool(tt.tool) // of which nothing is known: starts it
			before := status(t, h)
			if before.PID == 0 {
				t.Fatalf("%+v", before)
			}
			fails(t, h, tt.tool, `{}`, host.Unavailable, host.Unknown)
			if now := status(t, h); now.State == host.Ready && now.PID == before.PID {
				t.Errorf("%+v", now)
			}
			eventually(t, "the old process is gone", func() bool { return syscall.Kill(before.PID, 0) == syscall.ESRCH })
			if tt.then != "" {
				call(t, h, tt.then, `{"text":"x"}`)
			}
			fails(t, h, tt.tool, `{}`, host.Unavailable, host.Unknown) // which a process did that is not the old one
			if now := status(t, h); now.Restarts == 0 {
				t.Errorf("%+v", now)
			}
		})
	}
}

// C13: a host that is killed under load and started again at once has its plugin once: what the one before started ends,
// and is not doubled.
func TestC13_AHostStartedAgainHasItsPluginOnce(t *testing.T) {
	const inner = "TOOLHOST_TEST_AGAIN"
	state := os.Getenv(inner)
	plugin := self("more", "more")
	if state != "" {
		plugin.Args = []string{state}
		h := open(t, host.Config{StateDir: state}, plugin)
		call(t, h, "echo", `{"text":""}`)
		fmt.Println("ready")
		for { // until it is killed
			call(t, h, "echo", `{"text":"load"}`)
		}
	}
	state = t.TempDir()
	plugin.Args = []string{state}
	for range 3 {
		cmd := exec.Command(mustExecutable(t), "-test.run=^TestC13_AHostStartedAgainHasItsPluginOnce$")
		cmd.Env = append(os.Environ(), inner+"="+state)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready"; {
		}
		eventually(t, "one process of the plugin, no fork of it", func() bool { return len(withArg(state)) == 1 })
		_ = cmd.Process.Kill()
		h := open(t, host.Config{StateDir: state}, plugin)
		call(t, h, "echo", `{"text":"again"}`)
		_ = cmd.Wait()
		eventually(t, "one process of the plugin", func() bool { return len(withArg(state)) == 1 })
		call(t, h, "echo", `{"text":"and again"}`)
		if s := status(t, h); s.Restarts != 0 {
			t.Errorf("%+v", s)
		}
		h.Close()
		eventually(t, "none", func() bool { return len(withArg(state)) == 0 })
	}
}

// C1: from the end of a process to the event that tells it, at best of ten: far less than pings take.
func TestC1_CrashToEvent(t *testing.T) {
	p := self("more", "more")
	p.Sandbox.Profile = host.ProfileNone // so that its pid can be signalled with effect
	h := open(t, host.Config{StateDir: stateDir(t)}, p)
	call(t, h, "echo", `{"text":""}`)
	ready, crashed := make(chan int, 100), make(chan time.Time, 100)
	var watching sync.WaitGroup
	watching.Go(func() { // ends with the host
		for e := range h.Watch(context.Background()) {
			switch e.State {
			case host.Ready:
				ready <- e.PID
			case host.Crashed:
				crashed <- time.Now()
			}
		}
	})
	best := time.Hour
	for range 10 {
		pid := <-ready
		began := time.Now()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		best = min(best, (<-crashed).Sub(began))
		for len(ready) == 0 { // a call that meets the dying process fails; the next one starts another
			_, _ = h.Call(t.Context(), host.Call{Tool: "more/echo", Input: []byte(`{"text":""}`)})
		}
	}
	h.Close()
	watching.Wait()
	t.Logf("SIGKILL to event, best of 10: %v", best)
	if best > 5*time.Second { // 5 ms on a quiet machine
		t.Errorf("%v", best)
	}
}

// D10: stops, crashes and killed hosts leave no socket and no file but what the state directory keeps.
func TestD10_NothingIsLeft(t *testing.T) {
	const inner = "TOOLHOST_TEST_LEFT"
	if dir := os.Getenv(inner); dir != "" {
		h := open(t, host.Config{StateDir: filepath.Join(dir, "state")}, self("more", "more"), self("test", ""))
		call(t, h, "more/echo", `{"text":""}`)
		call(t, h, "test/pid", `{}`)
		fmt.Println("ready")
		select {} // until it is killed
	}
	dir, err := os.MkdirTemp("/tmp", "th")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"tmp", "run", "state"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(dir, "run"))
	cfg := host.Config{StateDir: filepath.Join(dir, "state")}
	use := func() {
		h := open(t, cfg, self("more", "more"), self("test", ""))
		call(t, h, "more/echo", `{"text":""}`)
		fails(t, h, "test/exit", `{"n":1}`, host.Unavailable, host.Unknown)
		call(t, h, "test/pid", `{}`)
		eventually(t, "this host is announced, and no other", func() bool {
			hosts, err := os.ReadDir(filepath.Join(dir, "state", "hosts"))
			return err == nil && len(hosts) == 1
		})
		h.Close()
	}
	use()
	after := filesBelow(t, dir)
	for range 3 {
		cmd := exec.Command(mustExecutable(t), "-test.run=^TestD10_NothingIsLeft$")
		cmd.Env = append(os.Environ(), inner+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready"; {
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		use()
	}
	if now := filesBelow(t, dir); len(now) > len(after) {
		t.Errorf("after one use: %q\nafter three killed hosts: %q", after, now)
	}
	for _, sub := range []string{"tmp", "run"} {
		if left := filesBelow(t, filepath.Join(dir, sub)); len(left) > 0 {
			t.Errorf("left in %s: %q", sub, left)
		}
	}
}

// filesBelow lists all that is below dir and no directory, and fails at a socket.
func filesBelow(t testing.TB, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Type()&fs.ModeSocket != 0 {
			t.Errorf("a socket: %s", path)
		}
		if !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return files
}
