//go:build unix

package host_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/proto/wire"
)

// TestMain is the test binary's other life: started by a host, it is a plugin with the tools below.
func TestMain(m *testing.M) {
	if os.Args[0] == confine.Name { // or the helper that confines plugins
		os.Exit(confine.Main(os.Args))
	}
	if os.Getenv(wire.CookieKey) != "" {
		servePlugin()
		return
	}
	os.Exit(runTests(m))
}

// runTests gives the tests a state directory of their own, in place of the user's.
func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "toolhost-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", dir)
	return m.Run()
}

func servePlugin() {
	if serveOther(os.Getenv("TEST_PLUGIN")) {
		return
	}
	switch os.Getenv("TEST_PLUGIN") {
	case "die": // before the handshake
		fmt.Fprintln(os.Stderr, "cannot find my license")
		os.Exit(3)
	case "clash":
		pluginsdk.Serve(tool("echo", func(_ context.Context, _ *pluginsdk.Call, in echoIn) (echoIn, error) {
			return echoIn{Text: "the other echo"}, nil
		}))
	case "settings":
		pluginsdk.ServeFunc(func(_ context.Context, r *pluginsdk.Registry) error {
			var s struct {
				Greeting string `json:"greeting" jsonschema:"maxLength=20"`
			}
			if err := r.Settings(&s); err != nil {
				return err
			}
			return r.Set(tool("greet", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return s.Greeting, nil }))
		})
	case "contract":
		pluginsdk.Serve(contractTools()...)
	case "bad":
		pluginsdk.Serve(badTools()...)
	case "version":
		serveVersion()
	case "other":
		pluginsdk.Serve(otherTools()...)
	case "poisoned":
		pluginsdk.Serve(poisonedTools()...)
	case "growing":
		serveGrowing()
	case "changing":
		serveChanging()
	case "logging":
		pluginsdk.Serve(loggingTools()...)
	case "asking":
		pluginsdk.Serve(askingTools()...)
	case "alike":
		pluginsdk.Serve(tool("p1ain", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return "alike", nil }))
	case "sandbox":
		pluginsdk.Serve(sandboxTools()...)
	case "more":
		pluginsdk.Serve(moreTools()...)
	case "guard":
		pluginsdk.Serve(guardTools()...)
	case "do":
		pluginsdk.Serve(doTools()...)
	case "names":
		pluginsdk.Serve(namedTools()...)
	default:
		pluginsdk.Serve(testTools()...)
	}
}

func tool[In, Out any](id string, f func(context.Context, *pluginsdk.Call, In) (Out, error)) pluginsdk.Tool[In, Out] {
	return pluginsdk.Tool[In, Out]{ID: id, Description: "test tool " + id, Execute: f}
}

type echoIn struct {
	Text  string `json:"text"`
	Times int    `json:"times,omitempty" jsonschema:"default=1,minimum=0,maximum=100"`
}

type countIn struct {
	N int `json:"n,omitempty"`
}

func testTools() []pluginsdk.Definition {
	var seen atomic.Pointer[[]string]
	var running atomic.Int64
	deltas := tool("deltas", func(_ context.Context, _ *pluginsdk.Call, in map[string]any) ([]string, error) {
		if p := seen.Swap(nil); p != nil {
			return *p, nil
		}
		return []string{}, nil
	})
	deltas.OnInputDelta = func(_ context.Context, c *pluginsdk.Call, d string) error {
		if !json.Valid(c.InputSoFar()) {
			return fmt.Errorf("not valid so far: %s", c.InputSoFar())
		}
		var all []string
		if p := seen.Load(); p != nil {
			all = *p
		}
		all = append(all, d)
		seen.Store(&all)
		return nil
	}
	chatty := tool("chatty", func(context.Context, *pluginsdk.Call, map[string]any) (string, error) { return "done", nil })
	chatty.OnInputDelta = func(ctx context.Context, c *pluginsdk.Call, d string) error {
		return c.Write(ctx, strings.Repeat("x", 100<<10)) // three fill the window
	}
	limited := tool("limited", func(ctx context.Context, _ *pluginsdk.Call, in countIn) (int64, error) {
		n := running.Add(1)
		defer running.Add(-1)
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
		return n, nil
	})
	limited.MaxConcurrency = 2
	context_ := tool("context", func(_ context.Context, c *pluginsdk.Call, _ struct{}) (json.RawMessage, error) {
		var v json.RawMessage
		err := c.RequestContext(&v)
		return v, err
	})
	context_.RequestContextSchema = json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"lang":{"type":"string","default":"en"}},"required":["user"]}`)
	invalid := tool("invalid", func(context.Context, *pluginsdk.Call, struct{}) (json.RawMessage, error) {
		return json.RawMessage(`{"n":"many"}`), nil
	})
	invalid.OutputSchema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	warned := invalid
	warned.ID, warned.OutputMode = "warned", pluginsdk.OutputWarn
	dangerous := tool("dangerous", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return "boom", nil })
	dangerous.RequireApproval = true
	approved := tool("approved", func(_ context.Context, _ *pluginsdk.Call, in echoIn) (string, error) {
		f, err := os.OpenFile(in.Text, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, "once")
		return "done", err
	})
	approved.RequireApproval = true
	survey := tool("survey", func(_ context.Context, c *pluginsdk.Call, in countIn) (json.RawMessage, error) {
		var round struct {
			Question int `json:"question"`
		}
		if _, err := c.SuspendPayload(&round); err != nil {
			return nil, err
		}
		var got json.RawMessage
		resumed, err := c.Resume(&got)
		switch {
		case err != nil:
			return nil, err
		case resumed && round.Question == in.N:
			return json.RawMessage(fmt.Sprintf(`{"answer":%s,"round":%d}`, got, round.Question)), nil
		}
		return nil, c.Suspend(map[string]int{"question": round.Question + 1})
	})
	survey.ResumeSchema = json.RawMessage(`{"type":"number"}`)
	survey.OutputSchema = json.RawMessage(`{"type":"object"}`)
	brief := tool("brief", func(ctx context.Context, _ *pluginsdk.Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	brief.Timeout = 50 * time.Millisecond
	return []pluginsdk.Definition{
		deltas, chatty, limited, context_, invalid, warned, brief, dangerous,
		tool("echo", func(_ context.Context, _ *pluginsdk.Call, in echoIn) (echoIn, error) { return in, nil }),
		tool("raw", func(_ context.Context, _ *pluginsdk.Call, in json.RawMessage) (json.RawMessage, error) {
			return in, nil
		}),
		tool("pid", func(context.Context, *pluginsdk.Call, struct{}) (int, error) { return os.Getpid(), nil }),
		tool("start", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return startedAt, nil }),
		tool("void", func(context.Context, *pluginsdk.Call, struct{}) (any, error) { return nil, nil }),
		tool("panic", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { panic("spilled the beans") }),
		tool("gopanic", func(ctx context.Context, _ *pluginsdk.Call, _ struct{}) (string, error) {
			go panic("in a goroutine")
			<-ctx.Done()
			return "", ctx.Err()
		}),
		tool("exit", func(_ context.Context, _ *pluginsdk.Call, in countIn) (string, error) {
			fmt.Fprintln(os.Stderr, "last words")
			os.Exit(in.N)
			return "", nil
		}),
		tool("logexit", func(ctx context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
			c.Logger().Error("last words")
			_, _ = c.Elicit(ctx, pluginsdk.Question{Message: "heard?"}) // whatever the answer
			os.Exit(1)
			return "", nil
		}),
		approved, survey,
		tool("effect", func(_ context.Context, _ *pluginsdk.Call, in echoIn) (string, error) {
			f, err := os.OpenFile(in.Text, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				fmt.Fprintln(f, "once")
			}
			os.Exit(1)
			return "", nil
		}),
		tool("signal", func(_ context.Context, _ *pluginsdk.Call, in countIn) (string, error) {
			return "", syscall.Kill(syscall.Getpid(), syscall.Signal(in.N))
		}),
		tool("fatal", func(context.Context, *pluginsdk.Call, struct{}) (string, error) {
			new(sync.Mutex).Unlock() // ends the process; nothing can recover it
			return "", nil
		}),
		tool("fail", func(context.Context, *pluginsdk.Call, struct{}) (string, error) {
			return "", &pluginsdk.Error{Message: "the sea is rough", Data: json.RawMessage(`{"waves":7}`)}
		}),
		tool("wait", func(ctx context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
			c.Progress(0, 0, "waiting")
			<-ctx.Done()
			return "", ctx.Err()
		}),
		tool("stubborn", func(_ context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
			c.Progress(0, 0, "waiting")
			select {} // ignores its context
		}),
		tool("stop", func(ctx context.Context, _ *pluginsdk.Call, _ struct{}) (string, error) {
			err := syscall.Kill(syscall.Getpid(), syscall.SIGSTOP)
			<-ctx.Done() // other threads may run on for a moment
			return "", err
		}),
		tool("big", func(_ context.Context, _ *pluginsdk.Call, in countIn) (string, error) {
			return strings.Repeat("x", in.N), nil
		}),
		tool("write", func(ctx context.Context, c *pluginsdk.Call, in countIn) (int, error) {
			for i := range in.N {
				if err := c.Write(ctx, i); err != nil {
					return i, err
				}
			}
			return in.N, nil
		}),
		tool("ask", func(ctx context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
			a, err := c.Elicit(ctx, pluginsdk.Question{Message: "sure?"})
			return string(a.Action) + " " + string(a.Content), err
		}),
		tool("say", func(_ context.Context, c *pluginsdk.Call, in echoIn) (string, error) {
			fmt.Fprintln(os.Stderr, in.Text)
			c.Logger().Info(in.Text + " in the log")
			return "said", nil
		}),
		tool("sleeper", func(_ context.Context, _ *pluginsdk.Call, _ struct{}) (int, error) {
			cmd := exec.Command("sleep", "1000") // inherits the pipes, in a session of its own
			cmd.Stderr, cmd.SysProcAttr = os.Stderr, &syscall.SysProcAttr{Setsid: true}
			err := cmd.Start()
			return cmd.Process.Pid, err
		}),
	}
}

// startedAt tells one process from the next.
var startedAt = fmt.Sprint(time.Now().UnixNano())

// self is this test binary as a plugin.
func self(name, kind string) host.Plugin {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	// A program under the race detector sleeps for a second before it exits, if not told otherwise.
	return host.Plugin{Name: name, Path: path, Env: []string{"TEST_PLUGIN=" + kind, "GORACE=atexit_sleep_ms=0"}}
}

// open opens a host over plugins and closes it with the test.
func open(t testing.TB, cfg host.Config, plugins ...host.Plugin) *host.Host {
	t.Helper()
	if len(plugins) == 0 {
		plugins = []host.Plugin{self("test", "")}
	}
	cfg.Plugins = append(cfg.Plugins, plugins...)
	cfg.Limits.Start = cmp.Or(cfg.Limits.Start, time.Minute) // a test that is about a start's time says how long
	cfg.Limits.Describe = cmp.Or(cfg.Limits.Describe, time.Minute)
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func call(t testing.TB, h *host.Host, tool, input string) *host.Result {
	t.Helper()
	res, err := h.Call(t.Context(), host.Call{Tool: tool, Input: json.RawMessage(input)})
	if err != nil {
		t.Fatalf("call %s %s: %v", tool, input, err)
	}
	return res
}

// fails makes a call that must end with this code and outcome.
func fails(t testing.TB, h *host.Host, tool, input string, code host.Code, outcome host.Outcome) *host.Error {
	t.Helper()
	res, err := h.Call(t.Context(), host.Call{Tool: tool, Input: json.RawMessage(input)})
	return wantError(t, res, err, code, outcome)
}

func wantError(t testing.TB, res *host.Result, err error, code host.Code, outcome host.Outcome) *host.Error {
	t.Helper()
	e, ok := errors.AsType[*host.Error](err)
	if !ok {
		t.Fatalf("result %+v, error %v; want an *Error", res, err)
	}
	if e.Code != code || e.Outcome != outcome {
		t.Fatalf("%v: code %v, outcome %v; want %v, %v", e, e.Code, e.Outcome, code, outcome)
	}
	return e
}

// status is the state of the only plugin.
func status(t testing.TB, h *host.Host) host.PluginStatus {
	t.Helper()
	for s := range h.Plugins() {
		return s
	}
	t.Fatal("no plugin")
	return host.PluginStatus{}
}

// soon is how long what comes at once may take on a machine that is busy, slow or stands still for a while. What must not wait
// for something is tested with something that takes much longer, or for ever.
const soon = 30 * time.Second

// eventually polls what no signal tells.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * soon); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("not so after %v: %s\n%s", 2*soon, what, buf[:runtime.Stack(buf, true)])
		}
	}
}

// announced waits until toolhost status shows this host: its record keeps a descriptor open.
func announced(t testing.TB) {
	t.Helper()
	dir, err := host.OpenStateDir("")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the host is announced", func() bool {
		hosts, err := dir.Hosts()
		return err == nil && len(hosts) > 0 && len(hosts[0].Plugins) > 0
	})
}

// seed is a state directory that knows this test binary as a plugin, and nothing of what any test's plugins register.
var seed = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(os.Getenv("XDG_STATE_HOME"), "seed")
	h, err := host.Open(context.Background(), host.Config{StateDir: dir, Plugins: []host.Plugin{self("seed", "clash")}, Eager: true})
	if err != nil {
		return "", err
	}
	return dir, h.Close()
})

// stateDir is a state directory of the test's own, in which this binary, which is large, need not be copied again.
func stateDir(t testing.TB) string {
	t.Helper()
	from, err := seed()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "binaries"), 0o700); err != nil {
		t.Fatal(err)
	}
	copies, _ := filepath.Glob(filepath.Join(from, "binaries", "*"))
	for _, path := range append(copies, filepath.Join(from, "index")) {
		rel, _ := filepath.Rel(from, path)
		if err := os.Link(path, filepath.Join(dir, rel)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
