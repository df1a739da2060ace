//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// L4, H4, L11, K10: at whatever stage a start hangs or fails, it is over at the plugin's own limit with an error that
// says so, and no process is left.
func TestH4_L4_L11_K10_EveryStageOfAStart(t *testing.T) {
	for _, tt := range []struct {
		evil  string
		cause string
		says  string
	}{
		{"no handshake", "timeout", "not ready"},
		{"no connection", "timeout", "not ready"},
		{"describe hangs", "timeout", "not ready"},
		{"no welcome", "timeout", "not ready"},
		{"describe fails", "", "no tools today"},
		{"describe crashes:", "", "the licence has run out"},
		{"session ends", "", "no answer to the greeting"},
		{"version", "", "it speaks wire version 2, this host 1; rebuild the plugin with a matching SDK"},
	} {
		t.Run(tt.evil, func(t *testing.T) {
			t.Parallel()
			evil := wired("evil", tt.evil)
			if tt.says == "not ready" {
				evil.Limits.Start = time.Second
			}
			h := open(t, host.Config{}, evil)
			began := time.Now()
			e := fails(t, h, "evil/do", `{}`, host.Unavailable, host.NotStarted)
			if took := time.Since(began); took > soon { // one start to learn its tools, one to call
				t.Errorf("took %v", took)
			}
			x, ok := errors.AsType[*host.ExitError](e)
			if tt.cause != "" && (!ok || x.Cause != tt.cause) || !strings.Contains(e.Error(), tt.says) {
				t.Errorf("%v: %+v", e, x)
			}
			if s := status(t, h); s.PID != 0 || s.State != host.Crashed && s.State != host.Cooling || s.Error == "" {
				t.Errorf("%+v", s)
			}
		})
	}
}

// L4: the last caller that gives up ends the start, whatever its stage, and its process.
func TestL4_TheCallersCancelEndsAStart(t *testing.T) {
	for _, evil := range []string{"no handshake", "no connection", "describe hangs", "no welcome"} {
		t.Run(evil, func(t *testing.T) {
			h := open(t, host.Config{}, wired("evil", evil))
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { // ends with ctx
				_, err := h.Call(ctx, host.Call{Tool: "evil/do"})
				done <- err
			}()
			eventually(t, "it starts", func() bool { return status(t, h).State == host.Starting && len(children(os.Getpid())) > 0 })
			cancel()
			began := time.Now()
			wantError(t, nil, <-done, host.Canceled, host.NotStarted)
			if d := time.Since(began); d > soon { // 200 ms on a quiet machine
				t.Errorf("the caller waited %v", d)
			}
			eventually(t, "no process", func() bool { return len(children(os.Getpid())) == 0 })
			if d := time.Since(began); d > soon {
				t.Errorf("the process lived for %v", d)
			}
			if s := status(t, h); s.State == host.Cooling || s.State == host.Quarantined {
				t.Errorf("a start that was given up counts as a death: %+v", s)
			}
		})
	}
}

// H5, C14: a plugin that crashes in Describe while 50 callers wait fails each of them with the evidence; the failure is
// not remembered, so the next caller starts it again.
func TestH5_C14_CrashInDescribe(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	h := open(t, host.Config{}, wired("evil", "describe crashes:"+starts))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { // ends with its call
			e := fails(t, h, "evil/do", `{}`, host.Unavailable, host.NotStarted)
			if x, ok := errors.AsType[*host.ExitError](e); !ok || x.Status != 9 || !strings.Contains(x.Stderr, "the licence has run out") {
				t.Errorf("%v: %+v", e, x)
			}
		})
	}
	all.Wait()
	before := note(starts) - 1
	if before > 5 { // one, but for callers that came after it was over: the machine may be busy
		t.Errorf("%d processes for 50 callers", before)
	}
	fails(t, h, "evil/do", `{}`, host.Unavailable, host.NotStarted)
	if n := note(starts) - 2; n != before+1 {
		t.Errorf("%d processes for one more call", n-before)
	}
}

// D5: a describe that was cancelled, or that ran into its limit, is not what is known of the plugin.
func TestD5_ACancelledDescribeIsNotRemembered(t *testing.T) {
	for _, how := range []string{"cancelled", "timed out"} {
		t.Run(how, func(t *testing.T) {
			starts := filepath.Join(t.TempDir(), "starts")
			p := wired("evil", "describe once:"+starts)
			ctx, cancel := context.WithCancel(t.Context())
			if how == "timed out" {
				p.Limits.Describe = 300 * time.Millisecond
			}
			h := open(t, host.Config{}, p)
			done := make(chan error, 1)
			go func() { // ends with ctx or with the limit
				_, err := h.Call(ctx, host.Call{Tool: "evil/do"})
				done <- err
			}()
			if how == "cancelled" {
				eventually(t, "it describes", func() bool { b, _ := os.ReadFile(starts); return len(b) > 0 })
				cancel()
			}
			if err := <-done; err == nil {
				t.Error("no error")
			}
			cancel()
			call(t, h, "evil/do", `{}`)
			if n := note(starts) - 1; n < 2 {
				t.Errorf("%d processes", n)
			}
		})
	}
}

// D4: a plugin that hangs, floods or forks while it describes itself is over at the limit, has an allow-listed
// environment and no terminal, and leaves no descendant.
func TestD4_DescribeIsBounded(t *testing.T) {
	t.Setenv("SECRET_OF_THE_HOST", "x")
	for _, tt := range []struct{ evil, says string }{
		{"describe hangs", "describe"},
		{"describe floods", "describe"},
		{"describe forks", "describe"},
		{"huge manifest", "describe"},
	} {
		t.Run(tt.evil, func(t *testing.T) {
			p := wired("evil", tt.evil)
			p.Limits.Describe = 500 * time.Millisecond
			h := open(t, host.Config{}, p, self("good", "more"))
			var began time.Time
			if peak := peakOf(func() {
				began = time.Now()
				e := fails(t, h, "evil/do", `{}`, host.Unavailable, host.NotStarted)
				if !strings.Contains(e.Error(), tt.says) {
					t.Errorf("%v does not say %q", e, tt.says)
				}
			}); peak > 32<<20 {
				t.Errorf("%d MiB of memory", peak>>20)
			}
			if took := time.Since(began); took > soon {
				t.Errorf("took %v", took)
			}
			eventually(t, "no process", func() bool { return len(withArg(forkMark())) == 0 })
			call(t, h, "good/echo", `{"text":"x"}`)
		})
	}
	h := open(t, host.Config{}, wired("spy", "spy"))
	call(t, h, "spy/do", `{}`)
	h.Close()
}

// forkMark is in the command line of what "describe forks" starts.
func forkMark() string { return fmt.Sprint("4", os.Getpid()) }

// withArg lists the processes that have an argument.
func withArg(arg string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		b, _ := os.ReadFile(f)
		for _, a := range strings.Split(string(b), "\x00") {
			if a == arg {
				pids = append(pids, f)
			}
		}
	}
	return pids
}

// L5: while a plugin starts, status and list of what is known answer at once, and a stop does not wait for its limit.
func TestL5_StopDuringAStart(t *testing.T) {
	h := open(t, host.Config{Limits: host.Limits{Start: time.Hour}}, wired("slow", "no handshake"))
	r := h.Start(t.Context(), host.Call{Tool: "slow/do", Input: []byte(`{}`)})
	eventually(t, "it starts", func() bool { return status(t, h).State == host.Starting && len(children(os.Getpid())) > 0 })
	best := time.Hour
	for range 10 {
		began := time.Now()
		status(t, h)
		best = min(best, time.Since(began))
	}
	if best > 5*time.Second {
		t.Errorf("status took %v at best", best)
	}
	began := time.Now()
	h.Close()
	if d := time.Since(began); d > soon { // of an hour
		t.Errorf("Close took %v", d)
	}
	if _, err := r.Result(); err == nil {
		t.Error("no error")
	}
}

// L14: 200 plugins that start at once start a few at a time: processes and descriptors stay bounded.
func TestL14_ManyStartsAtOnce(t *testing.T) {
	const many, atOnce = 200, 3
	var plugins []host.Plugin
	for i := range many {
		plugins = append(plugins, host.Plugin{Name: fmt.Sprint("p", i), Path: "/bin/sh", Args: []string{"-c", "exit 1"}})
	}
	h := open(t, host.Config{Limits: host.Limits{Starts: atOnce}}, plugins...)
	before := census(t)
	var processes, fds int
	over := make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() { // ends with the starts
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
				now := census(t)
				processes, fds = max(processes, now.children), max(fds, now.fds)
			}
		}
	})
	var all sync.WaitGroup
	waited := 0
	for i := range many {
		all.Go(func() { fails(t, h, fmt.Sprintf("p%d/do", i), `{}`, host.Unavailable, host.NotStarted) }) // ends with its call
	}
	for s := range h.Plugins() {
		if s.State == host.Starting {
			waited++
		}
	}
	all.Wait()
	close(over)
	sampler.Wait()
	t.Logf("%d starts: at most %d processes and %d more descriptors", many, processes, fds-before.fds)
	// A process may be on its way out while the next begins; every plugin holds its private copy open. All at once they
	// would have 2000.
	if processes > many/4 || fds-before.fds > many+200 {
		t.Errorf("at most %d processes and %d descriptors (%d before)", processes, fds, before.fds)
	}
}

// C2: after two deaths the next attempt is put off, which the status shows; after an answer all is forgotten.
func TestC2_TheNextAttemptIsShown(t *testing.T) {
	works := filepath.Join(t.TempDir(), "works")
	script := fmt.Sprintf("[ -e %s ] || exit 1; exec %s", works, mustExecutable(t))
	p := self("test", "")
	p.Path, p.Args = "/bin/sh", []string{"-c", script}
	h := open(t, host.Config{Limits: host.Limits{BackoffFirst: time.Hour, BackoffMost: time.Hour}}, p)
	for range 2 {
		fails(t, h, "test/pid", `{}`, host.Unavailable, host.NotStarted)
	}
	s := status(t, h)
	if wait := time.Until(s.NextStart); s.State != host.Cooling || wait <= time.Minute || wait > 72*time.Minute {
		t.Fatalf("next start in %v: %+v", wait, s)
	}
	h = open(t, host.Config{Limits: host.Limits{BackoffFirst: 200 * time.Millisecond}}, p)
	for range 2 {
		fails(t, h, "test/pid", `{}`, host.Unavailable, host.NotStarted)
	}
	s = status(t, h)
	if err := os.WriteFile(works, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it may start again", func() bool { return time.Until(s.NextStart) <= 0 })
	call(t, h, "pid", `{}`)
	for range 3 { // deaths with answers between them count for nothing
		fails(t, h, "exit", `{"n":1}`, host.Unavailable, host.Unknown)
		call(t, h, "pid", `{}`)
	}
	if s := status(t, h); s.State != host.Ready || !s.NextStart.IsZero() {
		t.Errorf("%+v", s)
	}
}

func pemOf(cert []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
}

func mustExecutable(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// C9: a process that was started again has its settings and its tools before the first call, which comes at once.
func TestC9_SettingsAreAppliedAgain(t *testing.T) {
	p := self("test", "settings")
	p.Settings = json.RawMessage(`{"greeting":"good day"}`)
	p.Sandbox.Profile = host.ProfileNone // so that its pid is the one that the status shows
	h := open(t, host.Config{}, p)
	for range 10 {
		if got := string(call(t, h, "greet", `{}`).Output); got != `"good day"` {
			t.Fatalf("got %s", got)
		}
		pid := status(t, h).PID
		proc, err := os.FindProcess(pid)
		if err != nil || proc.Kill() != nil {
			t.Fatal("cannot kill it")
		}
		res, err := h.Call(t.Context(), host.Call{Tool: "greet"})
		if err == nil && string(res.Output) != `"good day"` {
			t.Fatalf("got %s", res.Output)
		}
	}
	if s := status(t, h); s.Restarts < 9 {
		t.Errorf("%+v", s)
	}
}

// S3: in the environment that is left, an ordinary program makes an HTTPS call, has a temporary file, a home, a locale,
// and finds programs.
func TestS3_OrdinaryProgramsWork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SSL_CERT_FILE is for Linux")
	}
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer site.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pemOf(site.Certificate().Raw), 0o644); err != nil {
		t.Fatal(err)
	}
	temp := t.TempDir()
	for k, v := range map[string]string{"SSL_CERT_FILE": ca, "TMPDIR": temp, "HOME": "/home/somebody", "LANG": "de_DE.UTF-8", "NO_PROXY": "127.0.0.1", "SECRET_OF_THE_HOST": "hush"} {
		t.Setenv(k, v)
	}
	log := &syncBuffer{}
	h := open(t, host.Config{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, self("more", "more"))
	res := call(t, h, "surroundings", `{"text":"`+site.URL+`"}`)
	if got, want := string(res.Output), `"hello, 0 bytes, home /home/somebody, lang de_DE.UTF-8"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := log.String(); !strings.Contains(got, "SECRET_OF_THE_HOST") || strings.Contains(got, "hush") {
		t.Errorf("the log names no variable that was left out, or shows its value: %s", got)
	}
}

// S4: a host within a plugin hands on nothing of the outer host's handshake, whatever is in it.
func TestS4_NestedHost(t *testing.T) {
	for _, kv := range garbage {
		k, v, _ := strings.Cut(kv, "=")
		t.Setenv(k, v)
	}
	h := open(t, host.Config{}, self("more", "more"))
	if got := string(call(t, h, "nested", `{}`).Output); !strings.Contains(got, "from within") {
		t.Errorf("got %s", got)
	}
}

// S9: host and plugin do all of it where only FIPS 140 is allowed.
func TestS9_FIPS140(t *testing.T) {
	const inner = "TOOLHOST_TEST_FIPS"
	if os.Getenv(inner) == "" {
		for _, mode := range []string{"on", "only"} {
			t.Run(mode, func(t *testing.T) {
				cmd := exec.Command(mustExecutable(t), "-test.run=^TestS9_FIPS140$", "-test.v")
				cmd.Env = append(os.Environ(), inner+"="+mode, "GODEBUG=fips140="+mode)
				out, err := cmd.CombinedOutput()
				if err != nil || !strings.Contains(string(out), "--- PASS: TestS9_FIPS140") {
					t.Fatalf("%v\n%s", err, out)
				}
			})
		}
		return
	}
	p := self("more", "more")
	p.Env = append(p.Env, "GODEBUG="+os.Getenv("GODEBUG"))
	h := open(t, host.Config{Dirs: []string{t.TempDir()}}, p)
	if got := string(call(t, h, "fips", `{}`).Output); got != "true" {
		t.Errorf("FIPS 140 in the plugin: %s", got)
	}
	q := self("test", "")
	q.Env = append(q.Env, "GODEBUG="+os.Getenv("GODEBUG"))
	suspends := open(t, host.Config{StateDir: stateDir(t)}, q)
	e := fails(t, suspends, "survey", `{"n":1}`, host.Suspended, host.Failed) // seals with a key
	s, ok := errors.AsType[*host.SuspendedError](e)
	if !ok {
		t.Fatal(e)
	}
	res, err := suspends.Call(t.Context(), s.Suspension.Resume(json.RawMessage(`7`)))
	if err != nil || !strings.Contains(string(res.Output), "7") {
		t.Errorf("%+v, %v", res, err)
	}
}
