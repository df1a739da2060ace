package plugintest_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/conform"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/plugintest"
)

// cycles is how often the kit is used and looked after: go test ./pluginsdk/plugintest -run A2 -cycles 500.
var cycles = flag.Int("cycles", 20, "how many times TestA2 uses the kit")

// pluginArg makes the test binary the plugin, also where it is run by hand.
const pluginArg = "toolplugin-greet"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == pluginArg {
		os.Args = os.Args[:1]
		pluginsdk.Serve(greet())
	}
	temp, err := os.MkdirTemp("/tmp", "kit")
	if err == nil {
		err = os.Setenv("TMPDIR", temp)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := errors.Join(goleak.Find(), os.RemoveAll(temp)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

type greetIn struct {
	Name string `json:"name"`
}

type greetOut struct {
	Greeting string `json:"greeting"`
}

func greet() pluginsdk.Definition {
	yes := true
	return pluginsdk.Tool[greetIn, greetOut]{
		ID: "greet", Description: "Greets.", MCP: pluginsdk.MCP{Annotations: &pluginsdk.Annotations{ReadOnly: &yes}},
		Execute: func(_ context.Context, _ *pluginsdk.Call, in greetIn) (greetOut, error) {
			return greetOut{"Hello, " + in.Name}, nil
		},
	}
}

// self is this binary as the plugin.
var self = plugintest.Config{Args: []string{pluginArg}, Env: []string{"GORACE=atexit_sleep_ms=0"}}

// A test of an author's answers what its tool asks, and reads what it logs.
func TestQuestionsAndLog(t *testing.T) {
	tool := pluginsdk.Tool[struct{}, string]{
		ID: "ask", Description: "Asks.",
		Execute: func(ctx context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
			answers, err := c.ElicitAll(ctx, pluginsdk.Question{Message: "who"}, pluginsdk.Question{Message: "what", Kind: pluginsdk.QuestionSampling})
			if err != nil {
				return "", err
			}
			c.Logger().Info("asked")
			return string(answers[0].Content) + string(answers[1].Content), nil
		},
	}
	var log bytes.Buffer
	res, err := plugintest.Open(t, tool).Call(t.Context(), host.Call{
		Tool: "ask", Log: slog.New(slog.NewTextHandler(&log, nil)),
		Elicit: func(_ context.Context, q host.Question) (host.Answer, error) {
			return host.Answer{Action: "accept", Content: fmt.Appendf(nil, "%q", q.Message)}, nil
		},
	})
	if err != nil || string(res.Output) != `"\"who\"\"what\""` {
		t.Errorf("%+v, %v", res, err)
	}
	if !strings.Contains(log.String(), "msg=asked") {
		t.Errorf("the log is %q", &log)
	}
}

// TestA2_TheKitLeavesNothing uses every helper in a test of its own, again and again, and looks after each what is
// left: goroutines, descriptors, processes, files.
func TestA2_TheKitLeavesNothing(t *testing.T) {
	t.Run("first", use) // what is loaded once, such as the root certificates, is no leak
	files, fds := temporary(t), descriptors(t)
	for i := range *cycles {
		test := use
		if i%conformEvery == 0 {
			test = useConform
		}
		if !t.Run(fmt.Sprint("cycle", i), test) {
			return
		}
		if err := goleak.Find(goleak.IgnoreCurrent()); err != nil {
			t.Fatal(err)
		}
		if left := children(t); left != "" {
			t.Fatalf("after cycle %d: child processes %s", i, left)
		}
		if now := temporary(t); now != files {
			t.Fatalf("after cycle %d: files %s, before %s", i, now, files)
		}
		if now := descriptors(t); now > fds+2 { // a poller, a pidfd of the runtime's own
			t.Fatalf("after cycle %d: %d descriptors, before %d", i, now, fds)
		}
	}
}

// conformEvery is in how many cycles Conform runs once: it starts the plugin 20 times.
const conformEvery = 5

// use is a test of an author's.
func use(t *testing.T) {
	for _, h := range []*host.Host{plugintest.Open(t, greet()), self.Binary(t, os.Args[0])} {
		res, err := h.Call(t.Context(), host.Call{Tool: "greet", Input: []byte(`{"name":"Ada"}`)})
		if err != nil || string(res.Output) != `{"greeting":"Hello, Ada"}` {
			t.Errorf("%v, %v", res, err)
		}
	}
}

func useConform(t *testing.T) {
	use(t)
	if r := self.Conform(t, os.Args[0]); r.Failures() > 0 || len(r.Checks) != len(conform.Names()) {
		t.Errorf("%+v", r)
	}
}

// temporary lists what is in the temporary directory. A test's own directories go with the test.
func temporary(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// descriptors counts what this process has open; 0 where that is not known.
func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// children lists the processes that this one started and that are there, dead ones too.
func children(t *testing.T) (left string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left = ""
		files, err := filepath.Glob("/proc/self/task/*/children")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err == nil {
				left += string(text)
			}
		}
		if left == "" || time.Now().After(end) {
			return left
		}
	}
}
