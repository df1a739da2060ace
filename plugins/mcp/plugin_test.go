package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// realPlugin is this binary as toolplugin-mcp in a process of its own, and this binary again as the server that it starts, which
// behaves as how says. dir is where the server leaves its marks.
func realPlugin(t *testing.T, name, how string, edit func(*settings)) (p host.Plugin, dir string) {
	t.Helper()
	s, dir := serverSettings(t, how)
	if edit != nil {
		edit(&s)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return host.Plugin{Name: name, Path: self, Settings: raw, Env: []string{"GORACE=atexit_sleep_ms=0"}}, dir
}

// near is a healthy neighbour.
func near(t *testing.T) host.Plugin {
	t.Helper()
	return inMemory(t, "near", pluginsdk.Tool[struct{}, string]{
		ID: "near", Description: "answers", Execute: func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return "here", nil },
	})
}

// TestR31_ACrashCostsThatCall: the error of a call whose server died says how, what is not known of it, and no secret; the next call is
// answered by a new server; and the end of the host leaves neither the plugin nor a server.
func TestR31_ACrashCostsThatCall(t *testing.T) {
	p, dir := realPlugin(t, "far", "tools", func(s *settings) { s.Env["TOKEN"] = "hush-hush-hush" })
	t.Run("life", func(t *testing.T) {
		h := openHost(t, host.Config{}, p)
		if diff := cmp.Diff([]string{"crash", "echo", "wait"}, names(h)); diff != "" {
			t.Fatalf("%s\n%+v", diff, status(t, h, "far"))
		}
		_, err := h.Call(t.Context(), host.Call{Tool: "crash", Input: []byte(`{}`)})
		e := toolError(t, err)
		for _, want := range []string{"exit status 3", "segmentation fault in module 9", "whether the tool did anything is not known"} {
			if !strings.Contains(e.Message, want) {
				t.Errorf("%q is not in: %s", want, e.Message)
			}
		}
		if strings.Contains(e.Message, "hush-hush-hush") || e.Data != nil {
			t.Errorf("%s, data %s", e.Message, e.Data)
		}
		if failed, _ := errors.AsType[*host.Error](err); failed.Outcome != host.Unknown {
			t.Errorf("outcome %v", failed.Outcome)
		}
		res, err := h.Call(t.Context(), host.Call{Tool: "echo", Input: []byte(`{"n":9007199254740993}`)})
		if err != nil || string(res.Output) != `{"n":9007199254740993}` {
			t.Fatalf("the next call: %v", err)
		}
		if s := status(t, h, "far"); s.Restarts != 0 {
			t.Errorf("the plugin died with its server: %+v", s)
		}
		if n := running(t, dir); n != 1 {
			t.Errorf("%d servers run", n)
		}
	})
	if starts := marks(t, dir, "starts"); len(starts) != 2 {
		t.Errorf("servers: %q", starts)
	}
	if n := running(t, dir); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// TestR35_CancelReachesTheServer, and the call ends as cancelled.
func TestR35_CancelReachesTheServer(t *testing.T) {
	p, dir := realPlugin(t, "far", "tools", nil)
	h := openHost(t, host.Config{}, p)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := h.Start(ctx, host.Call{Tool: "wait", Input: []byte(`{}`)})
	eventually(t, "the server waits", func() bool { return marks(t, dir, "waits")[0] != "" })
	cancel()
	eventually(t, "the server was told", func() bool { return marks(t, dir, "cancelled")[0] != "" })
	if _, err := run.Result(); err == nil {
		t.Error("a result")
	} else if code, _ := host.CodeOf(err); code != host.Canceled {
		t.Error(err)
	}
}

// TestR33_AWrongServer is an error that names the command, how it ended and what it said, while its neighbour works.
func TestR33_AWrongServer(t *testing.T) {
	wrong, _ := realPlugin(t, "wrong", "exit", nil)
	missing, _ := realPlugin(t, "missing", "", func(s *settings) { s.Command = "/no/such/server" })
	h := openHost(t, host.Config{}, wrong, missing, near(t))
	if diff := cmp.Diff([]string{"near"}, names(h)); diff != "" {
		t.Error(diff)
	}
	for name, wants := range map[string][]string{
		"wrong":   {"MCP server ", "exit status 7", "the license has expired"},
		"missing": {"MCP server /no/such/server", "no such file"},
	} {
		got := status(t, h, name).Error
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in: %s", name, want, got)
			}
		}
	}
}

// TestR32_AServerThatHangs at its start delays its neighbour's first list by its own timeout at most, and no list after that.
func TestR32_AServerThatHangs(t *testing.T) {
	hangs, _ := realPlugin(t, "far", "silent,mute", func(s *settings) { s.Timeout = "400ms" })
	h := openHost(t, host.Config{}, hangs, near(t))
	if diff := cmp.Diff([]string{"near"}, names(h)); diff != "" {
		t.Error(diff)
	}
	bad := status(t, h, "far").BadTools
	if len(bad) != 1 || !strings.Contains(bad[0].Reason, "has not named its tools within 360ms") && !strings.Contains(bad[0].Reason, "no answer within") { // which comes later
		t.Errorf("what is said of it: %+v", status(t, h, "far"))
	}
	begun := time.Now()
	names(h)
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("the second list took %s", took)
	}
}

// TestR34_EveryEraThroughTheHost: legacy and modern servers, and one that dies when it is asked, are served alike.
func TestR34_EveryEraThroughTheHost(t *testing.T) {
	for _, how := range []string{"tools", "tools,modern", "tools,dies"} {
		p, _ := realPlugin(t, "far", how, nil)
		h := openHost(t, host.Config{}, p)
		res, err := h.Call(t.Context(), host.Call{Tool: "echo", Input: []byte(`{"n":1.0}`)})
		if err != nil || string(res.Output) != `{"n":1.0}` {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// running counts the processes of servers that leave their marks in dir, whatever process ids they see themselves.
func running(t *testing.T, dir string) (n int) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil || len(found) == 0 {
		t.Skip("this system does not list processes below /proc")
	}
	for _, file := range found {
		if environ, err := os.ReadFile(file); err == nil && strings.Contains(string(environ), "MCP_TEST_DIR="+dir) {
			n++
		}
	}
	return n
}
