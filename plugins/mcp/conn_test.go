package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// safeLog is a log that a test reads.
type safeLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *safeLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *safeLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func testLogger(l *safeLog) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// testRemote is a remote that ends with the test.
func testRemote(t *testing.T, s settings) *conn {
	t.Helper()
	r := newRemote(s, slog.New(slog.DiscardHandler), func() {})
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return r.(*conn)
}

func testCtx(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// mustCall calls a tool that answers.
func mustCall(t *testing.T, r remote, name, args string) json.RawMessage {
	t.Helper()
	raw, err := r.call(testCtx(t), remoteCall{name: name, arguments: json.RawMessage(args)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return raw
}

func wantLost(t *testing.T, err error, sent bool, words ...string) {
	t.Helper()
	lost, ok := errors.AsType[*lostError](err)
	if !ok {
		t.Fatalf("%v (%[1]T): want a *lostError", err)
	}
	if lost.sent != sent {
		t.Errorf("sent: %t, want %t: %v", lost.sent, sent, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q is not in: %v", w, err)
		}
	}
}

func TestR5_OddEntriesCostThemselves(t *testing.T) {
	t.Parallel()
	s, _ := serverSettings(t, "odd")
	tools, warnings, err := testRemote(t, s).list(testCtx(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(tools) != 2 || len(warnings) != 4 {
		t.Fatalf("%d tools, %d warnings: %s %q", len(tools), len(warnings), tools, warnings)
	}
	for _, tool := range tools { // byte for byte
		if !strings.Contains(oddTools, string(tool)) {
			t.Errorf("%s is not as the server wrote it", tool)
		}
	}
	s, _ = serverSettings(t, "nolist")
	if _, _, err := testRemote(t, s).list(testCtx(t)); err == nil {
		t.Error("a list that is no list")
	}
}

func TestR13_Cursors(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]struct {
		tools   int
		warning string
	}{
		"emptycursor": {2, ""},
		"repeats":     {2, "gave before"},
		"endless":     {maxPages, "after 100 pages"},
	} {
		t.Run(how, func(t *testing.T) {
			s, _ := serverSettings(t, how)
			tools, warnings, err := testRemote(t, s).list(testCtx(t))
			if err != nil || len(tools) != want.tools {
				t.Fatalf("%d tools, %v", len(tools), err)
			}
			if got := strings.Join(warnings, "\n"); (want.warning == "") != (got == "") || !strings.Contains(got, want.warning) {
				t.Errorf("warnings: %q", got)
			}
		})
	}
}

func TestR21_NumbersSurviveTheWire(t *testing.T) {
	t.Parallel()
	s, _ := serverSettings(t, "")
	r := testRemote(t, s)
	const args = `{"n":9007199254740993,"f":1.0,"e":1e400,"s":"<a&b>\u0000é"}`
	if raw := mustCall(t, r, "echo", args); !bytes.Contains(raw, []byte(args)) {
		t.Errorf("sent %s, came back as %s", args, raw)
	}
	_, err := r.call(testCtx(t), remoteCall{name: "nosuch"})
	if e, ok := errors.AsType[*rpcError](err); !ok || e.code != -32602 || string(e.data) != `{"n":9007199254740993}` {
		t.Errorf("%v", err)
	}
}

func TestR24_BigMessages(t *testing.T) {
	t.Parallel()
	s, dir := serverSettings(t, "")
	r := testRemote(t, s)
	if raw := mustCall(t, r, "big", `{"size":20971520}`); len(raw) < 20<<20 {
		t.Errorf("%d bytes", len(raw))
	}
	args := `{"x":"` + strings.Repeat("y", 2<<20) + `"}`
	if raw := mustCall(t, r, "echo", args); len(raw) < len(args) {
		t.Errorf("%d bytes", len(raw))
	}
	_, err := r.call(testCtx(t), remoteCall{name: "big", arguments: json.RawMessage(`{"size":41943040}`), repeat: true})
	wantLost(t, err, true, "at most 33554432")
	mustCall(t, r, "echo", `{}`)
	if n := len(marks(t, dir, "starts")); n != 1 {
		t.Errorf("%d processes: the session did not survive", n)
	}
}

func TestR26_JunkIsSkippedAndCounted(t *testing.T) {
	t.Parallel()
	s, dir := serverSettings(t, "junk")
	r := testRemote(t, s)
	mustCall(t, r, "junk", `{}`)
	_, warnings, err := r.list(testCtx(t))
	if err != nil || len(warnings) != 1 || !strings.HasPrefix(warnings[0], "5 lines") {
		t.Errorf("%q, %v", warnings, err)
	}
	if n := len(marks(t, dir, "starts")); n != 1 {
		t.Errorf("%d processes", n)
	}
}

func TestR27_StderrIsDrained(t *testing.T) {
	t.Parallel()
	s, _ := serverSettings(t, "")
	r := testRemote(t, s)
	mustCall(t, r, "burst", `{}`)
	_, err := r.call(testCtx(t), remoteCall{name: "crash"})
	wantLost(t, err, true, "short line", "segmentation fault in module 9")
	if len(err.Error()) > 4<<10 {
		t.Errorf("%d bytes of error", len(err.Error()))
	}
}

func TestR31_ACrashIsTold(t *testing.T) {
	t.Parallel()
	s, dir := serverSettings(t, "")
	s.Env["API_TOKEN"] = "hush-hush-hush"
	r := testRemote(t, s)
	mustCall(t, r, "echo", `{}`)
	waiting := make(chan error, 1)
	go func() { // ends with the call
		_, err := r.call(testCtx(t), remoteCall{name: "wait"})
		waiting <- err
	}()
	eventually(t, "the call waits", func() bool { return marks(t, dir, "waits")[0] != "" })
	_, err := r.call(testCtx(t), remoteCall{name: "crash"})
	wantLost(t, err, true, s.Command, "exit status 3", "segmentation fault in module 9", "TOKEN=…")
	wantLost(t, <-waiting, true, "exit status 3")
	mustCall(t, r, "echo", `{}`)
	if calls := strings.Join(marks(t, dir, "calls"), " "); calls != "echo wait crash echo" {
		t.Errorf("calls: %s", calls)
	}
}

func TestC3_OnlyWhatMayBeRepeatedIs(t *testing.T) {
	t.Parallel()
	s, dir := serverSettings(t, "")
	r := testRemote(t, s)
	_, err := r.call(testCtx(t), remoteCall{name: "crash", repeat: true})
	wantLost(t, err, true)
	if calls := strings.Join(marks(t, dir, "calls"), " "); calls != "crash crash" {
		t.Errorf("calls: %s", calls)
	}
}

func TestR31_FailuresInARowAreDelayed(t *testing.T) {
	t.Parallel()
	s, dir := serverSettings(t, "")
	r := testRemote(t, s)
	for n := range 20 {
		_, err := r.call(testCtx(t), remoteCall{name: "crash"})
		if lost, ok := errors.AsType[*lostError](err); ok && !lost.sent {
			wantLost(t, err, false, "failures in a row", "exit status 3")
			if starts := len(marks(t, dir, "starts")); n < 4 || starts != n {
				t.Errorf("%d calls, %d processes", n, starts)
			}
			return
		}
	}
	t.Error("never delayed")
}

func TestR33_AStartThatFailsIsTold(t *testing.T) {
	t.Parallel()
	t.Run("no such command", func(t *testing.T) {
		_, err := testRemote(t, settings{Command: "no-such-command-here", Args: []string{"--api-key", "sesame", "x"}}).call(testCtx(t), remoteCall{name: "x"})
		wantLost(t, err, false, `"no-such-command-here --api-key … x"`, "not found")
	})
	t.Run("exit", func(t *testing.T) {
		s, _ := serverSettings(t, "exit")
		_, _, err := testRemote(t, s).list(testCtx(t))
		wantLost(t, err, false, s.Command, "exit status 7", "the license has expired")
	})
	t.Run("mute", func(t *testing.T) {
		s, _ := serverSettings(t, "silent,mute")
		s.Timeout = "3s"
		began := time.Now()
		_, _, err := testRemote(t, s).list(testCtx(t))
		wantLost(t, err, false, "not ready in 3s")
		if d := time.Since(began); d > time.Minute {
			t.Errorf("it took %v", d)
		}
	})
}

func TestR34_EveryEraIsFound(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{ // what the server got until the first list, and after a restart
		"":                "server/discover initialize",
		"silent":          "server/discover initialize",
		"dies":            "server/discover initialize",
		"modern":          "server/discover tools/list",
		"both,modern":     "server/discover tools/list",
		"legacy by force": "initialize",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s, dir := serverSettings(t, how)
			if how == "legacy by force" {
				s.Era = "legacy"
			}
			r := testRemote(t, s)
			if _, _, err := r.list(testCtx(t)); err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(strings.Join(marks(t, dir, "methods"), " "), "subscriptions/listen ", "")
			if !strings.HasPrefix(got, want) {
				t.Errorf("methods: %s", got)
			}
			before := len(marks(t, dir, "methods"))
			_, _ = r.call(testCtx(t), remoteCall{name: "crash"})
			mustCall(t, r, "echo", `{}`)
			got = strings.Join(marks(t, dir, "methods")[before:], " ")
			if legacy := !strings.Contains(how, "modern"); legacy == strings.Contains(got, "server/discover") {
				t.Errorf("the era was not remembered: %s", got)
			}
		})
	}
}
