package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestR35_ACancelIsToldAtOnce(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"", "modern"} {
		t.Run("era of "+how, func(t *testing.T) {
			s, dir := serverSettings(t, how)
			r := testRemote(t, s)
			mustCall(t, r, "echo", `{}`)
			ctx, cancel := context.WithCancelCause(testCtx(t))
			done := make(chan error, 1)
			go func() { // ends with the call
				_, err := r.call(ctx, remoteCall{name: "late"})
				done <- err
			}()
			eventually(t, "the call waits", func() bool { return marks(t, dir, "waits")[0] != "" })
			gone := errors.New("the caller went away")
			cancel(gone)
			if err := <-done; !errors.Is(err, gone) {
				t.Errorf("%v", err)
			}
			eventually(t, "the server is told", func() bool { return marks(t, dir, "cancelled")[0] != "" })
			var told struct{ RequestID json.RawMessage }
			if err := json.Unmarshal([]byte(marks(t, dir, "cancelled")[0]), &told); err != nil || string(told.RequestID) != marks(t, dir, "waits")[0] {
				t.Errorf("told: %s, %v", told.RequestID, err)
			}
			mustCall(t, r, "echo", `{}`) // the late answer is dropped
			if n := len(marks(t, dir, "starts")); n != 1 {
				t.Errorf("%d processes", n)
			}
		})
	}
}

func TestR37_ProgressFlows(t *testing.T) {
	t.Parallel()
	s, _ := serverSettings(t, "")
	r := testRemote(t, s)
	var got []string
	_, err := r.call(testCtx(t), remoteCall{
		name:     "progress",
		progress: func(p, total float64, text string) { got = append(got, text+strings.Repeat("+", int(p))) },
		log:      func(level, text string) { got = append(got, level+" "+text) },
	})
	if diff := cmp.Diff([]string{"step+", "step++", "step+++", `warning db: {"slow":true}`}, got); diff != "" || err != nil {
		t.Errorf("%s, %v", diff, err)
	}
}

func TestR14_ChangesAreToldOnce(t *testing.T) {
	t.Parallel()
	s, _ := serverSettings(t, "")
	var told atomic.Int64
	r := newRemote(s, slog.New(slog.DiscardHandler), func() { told.Add(1) })
	defer r.close()
	mustCall(t, r, "changes", `{}`)
	eventually(t, "the change is told", func() bool { return told.Load() > 0 })
	if n := told.Load(); n > 2 {
		t.Errorf("told %d times", n)
	}
}

func TestR31_OtherToolsAfterARestartAreTold(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]bool{"grows": true, "": false} {
		s, dir := serverSettings(t, how)
		told := make(chan struct{}, 10)
		r := newRemote(s, slog.New(slog.DiscardHandler), func() { told <- struct{}{} })
		if _, _, err := r.list(testCtx(t)); err != nil {
			t.Fatal(err)
		}
		_, _ = r.call(testCtx(t), remoteCall{name: "crash"})
		mustCall(t, r, "echo", `{}`)
		if want {
			<-told
		}
		eventually(t, "it lists again", func() bool { return strings.Count(strings.Join(marks(t, dir, "methods"), " "), "tools/list") == 2 })
		r.close() // after which nothing is told
		if !want && len(told) > 0 {
			t.Error("the same tools are told as a change")
		}
	}
}

// answers is an ask that notes what it gets.
func answers(got *[]string, with string) func(context.Context, []question) ([]json.RawMessage, error) {
	var mu sync.Mutex
	return func(_ context.Context, list []question) (all []json.RawMessage, err error) {
		mu.Lock()
		defer mu.Unlock()
		for _, q := range list {
			*got, all = append(*got, q.method), append(all, json.RawMessage(with))
		}
		return all, nil
	}
}

func TestQuestionsGoToTheCallThatRuns(t *testing.T) {
	t.Parallel()
	s, _ := serverSettings(t, "")
	r := testRemote(t, s)
	var got []string
	call := func(name string) string {
		t.Helper()
		raw, err := r.call(testCtx(t), remoteCall{name: name, ask: answers(&got, `{"action":"accept","content":{"name":"me"}}`)})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if out := call("ask"); out != `{"action":"accept","content":{"n":3,"name":"me"}}` {
		t.Errorf("%s: want the default of n too", out)
	}
	call("roots")
	if out := call("strange"); !strings.Contains(out, "-32601") {
		t.Errorf("%s", out)
	}
	if out := call("ping"); out != "{}" {
		t.Errorf("%s", out)
	}
	if diff := cmp.Diff([]string{"elicitation/create", "roots/list"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestQuestionsGoToTheOwnerOfTheCall(t *testing.T) {
	t.Parallel()
	s, dir := serverSettings(t, "")
	r := testRemote(t, s)
	ctx, cancel := context.WithCancel(testCtx(t))
	var others, mine []string
	var wg sync.WaitGroup
	wg.Go(func() { // ends with ctx
		_, _ = r.call(ctx, remoteCall{name: "wait", owner: "alice", ask: answers(&others, `{"action":"decline"}`)})
	})
	eventually(t, "the other call waits", func() bool { return marks(t, dir, "waits")[0] != "" })
	call := func(name, owner string) string {
		t.Helper()
		raw, err := r.call(testCtx(t), remoteCall{name: name, owner: owner, ask: answers(&mine, `{"action":"decline"}`)})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	if out := call("ask", "bob"); !strings.Contains(out, "several owners") || len(others)+len(mine) > 0 {
		t.Errorf("%s; asked %q and %q", out, others, mine)
	}
	if out := call("askmine", "bob"); out != `{"action":"decline"}` || len(others) > 0 || len(mine) != 1 {
		t.Errorf("%s; asked %q and %q", out, others, mine)
	}
	if out := call("ask", "alice"); out != `{"action":"decline"}` || len(others) != 1 || len(mine) != 1 {
		t.Errorf("%s; asked %q and %q: want the call that began first", out, others, mine)
	}
	cancel()
	wg.Wait()
}

func TestInputRequiredIsAnswered(t *testing.T) {
	t.Parallel()
	s, dir := serverSettings(t, "modern")
	r := testRemote(t, s)
	var got []string
	raw, err := r.call(testCtx(t), remoteCall{name: "rounds", ask: answers(&got, `{"action":"accept","content":{"name":"<me>"}}`)})
	if err != nil || string(raw) != `{"resultType":"complete","state":"two"}` {
		t.Fatalf("%s, %v", raw, err)
	}
	if len(got) != 3 {
		t.Errorf("asked %q", got)
	}
	want := []string{
		`{"a":{"action":"accept","content":{"n":3,"name":"<me>"}},"b":{"action":"accept","content":{"name":"<me>"}}}`,
		`{"c":{"action":"accept","content":{"name":"<me>"}}}`,
	}
	if diff := cmp.Diff(want, marks(t, dir, "responses")); diff != "" {
		t.Error(diff)
	}
	all := 0
	_, err = r.call(testCtx(t), remoteCall{name: "rounds", ask: func(_ context.Context, list []question) ([]json.RawMessage, error) {
		all = max(all, len(list))
		return make([]json.RawMessage, len(list)), errors.New("nobody is there")
	}})
	if err == nil || all != 2 {
		t.Errorf("%d questions at once, %v", all, err)
	}
	if _, err := r.call(testCtx(t), remoteCall{name: "rounds"}); err == nil {
		t.Error("nobody can be asked, and it went on")
	}
	if _, err := r.call(testCtx(t), remoteCall{name: "busy"}); err == nil {
		t.Error("it asks for ever")
	}
}

func TestModernRequestsSayWhoAsks(t *testing.T) {
	t.Parallel()
	s, _ := serverSettings(t, "modern")
	raw, err := testRemote(t, s).call(testCtx(t), remoteCall{name: "params", meta: json.RawMessage(`{"traceparent":"00-1"}`), log: func(string, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"traceparent": `"00-1"`, metaPrefix + "protocolVersion": `"2026-07-28"`, metaPrefix + "clientCapabilities": string(capabilities),
		metaPrefix + "logLevel": `"info"`,
	} {
		if string(p.Meta[name]) != want {
			t.Errorf("%s: %s, want %s", name, p.Meta[name], want)
		}
	}
	if p.Meta["progressToken"] == nil {
		t.Error("no progress token")
	}
}

func TestT55_TheEnvironmentIsShort(t *testing.T) {
	for name, value := range map[string]string{"LD_PRELOAD": "", "NODE_OPTIONS": "--x", "SECRET_OF_THE_HOST": "s", "PLUGIN_X": "x", "LANG": "C"} {
		t.Setenv(name, value)
	}
	s, _ := serverSettings(t, "")
	s.Env["NODE_OPTIONS"] = "--mine"
	var env []string
	if err := json.Unmarshal(mustCall(t, testRemote(t, s), "env", `{}`), &env); err != nil {
		t.Fatal(err)
	}
	all := strings.Join(env, "\n") + "\n"
	for _, want := range []string{"NODE_OPTIONS=--mine\n", "LANG=C\n", "PATH="} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, not := range []string{"LD_PRELOAD", "SECRET_OF_THE_HOST", "PLUGIN_X", "--x\n"} {
		if strings.Contains(all, not) {
			t.Errorf("%q passed", not)
		}
	}
}

// alive reports whether a process is there, also as a zombie.
func alive(pid string) bool {
	_, err := os.Stat("/proc/" + strings.TrimSpace(pid))
	return err == nil
}

func TestR30_FiftyRestartsLeaveNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it looks at /proc")
	}
	s, dir := serverSettings(t, "")
	r := newRemote(s, slog.New(slog.DiscardHandler), func() {})
	for range 50 {
		_, err := r.call(testCtx(t), remoteCall{name: "litter"})
		wantLost(t, err, true, "exit status 3")
		mustCall(t, r, "echo", `{}`) // so that no failures are in a row
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
	starts, litter := marks(t, dir, "starts"), marks(t, dir, "litter")
	if len(starts) != 51 || len(litter) != 50 {
		t.Fatalf("%d processes, %d of theirs", len(starts), len(litter))
	}
	for _, pid := range starts {
		if alive(pid) {
			t.Errorf("server %s is left", pid)
		}
	}
	for _, pid := range litter { // whoever adopts them reaps them
		eventually(t, "a grandchild is gone: "+pid, func() bool {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			return err != nil || strings.Contains(string(stat), ") Z ")
		})
	}
}

func TestR30_AStubbornServerIsKilled(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it looks at /proc")
	}
	s, dir := serverSettings(t, "stubborn")
	r := newRemote(s, slog.New(slog.DiscardHandler), func() {})
	mustCall(t, r, "echo", `{}`)
	began := time.Now()
	if err := r.close(); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d < stdinGrace || d > time.Minute {
		t.Errorf("it took %v", d)
	}
	if alive(marks(t, dir, "starts")[0]) {
		t.Error("it lives")
	}
	_, err := r.call(testCtx(t), remoteCall{name: "echo"})
	wantLost(t, err, false, "ending")
}

func TestCallsAreConcurrent(t *testing.T) {
	t.Parallel()
	s, dir := serverSettings(t, "")
	r := testRemote(t, s)
	var wg sync.WaitGroup
	for n := range 50 {
		wg.Go(func() { // ends with the call
			args := `{"n":` + strings.Repeat("7", n+1) + `}`
			if raw, err := r.call(testCtx(t), remoteCall{name: "echo", arguments: json.RawMessage(args)}); err != nil || !strings.Contains(string(raw), args) {
				t.Errorf("%s: %s, %v", args, raw, err)
			}
		})
	}
	wg.Wait()
	if n := len(marks(t, dir, "starts")); n != 1 {
		t.Errorf("%d processes for calls at the same time", n)
	}
}
