package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

func TestE1_OneMessageEachWay(t *testing.T) {
	h := serveTools(t, newTool("greet", func(_ context.Context, c *Call, in city) (string, error) {
		return c.ID() + " " + c.Tool() + " " + in.City, nil
	}))
	before := h.sess.Stats()
	c := h.open("greet", `{"city":"Köln <b>"}`)
	if got, want := string(c.output().GetOutput()), `"call-1 greet Köln <b>"`; got != want {
		t.Errorf("output = %s, want %s", got, want)
	}
	c.closed()
	after := h.sess.Stats()
	if in, out := after.FramesIn-before.FramesIn, after.FramesOut-before.FramesOut; in != 1 || out != 1 {
		t.Errorf("%d frames in and %d out, want 1 and 1", in, out)
	}
}

func TestOutputForms(t *testing.T) {
	type list = []string
	h := serveTools(t,
		newTool("void", func(context.Context, *Call, nothing) (nothing, error) { return nothing{}, nil }),
		newTool("nil-any", func(context.Context, *Call, nothing) (any, error) { return nil, nil }),
		newTool("nil-pointer", func(context.Context, *Call, nothing) (*city, error) { return nil, nil }),
		newTool("nil-raw", func(context.Context, *Call, nothing) (json.RawMessage, error) { return nil, nil }),
		newTool("nil-slice", func(context.Context, *Call, nothing) (list, error) { return nil, nil }),
		newTool("nil-map", func(context.Context, *Call, nothing) (map[string]int, error) { return nil, nil }),
		newTool("null", func(context.Context, *Call, nothing) (json.RawMessage, error) { return json.RawMessage("null"), nil }),
		newTool("raw", func(context.Context, *Call, nothing) (json.RawMessage, error) {
			return json.RawMessage(`{ "b" : 1.0e2,"a":"\u00e4" }`), nil
		}),
		newTool("raw-any", func(context.Context, *Call, nothing) (any, error) { return json.RawMessage(` [ 1 ]`), nil }),
	)
	for tool, want := range map[string]string{
		"void": "absent", "nil-any": "absent", "nil-pointer": "absent", "nil-raw": "absent",
		"nil-slice": "[]", "nil-map": "{}", "null": "null",
		"raw": `{ "b" : 1.0e2,"a":"\u00e4" }`, "raw-any": ` [ 1 ]`,
	} {
		out := h.open(tool, "{}").output()
		got := string(out.GetOutput())
		if out.Output == nil {
			got = "absent"
		}
		if got != want {
			t.Errorf("%s: output = %s, want %s", tool, got, want)
		}
	}
}

func TestInputForms(t *testing.T) {
	h := serveTools(t,
		newTool("raw", func(_ context.Context, _ *Call, in json.RawMessage) (string, error) { return string(in), nil }),
		newTool("any", func(_ context.Context, _ *Call, in any) (string, error) {
			return fmt.Sprintf("%T %v", in.(map[string]any)["n"], in), nil
		}),
		newTool("map", func(_ context.Context, _ *Call, in map[string]any) (string, error) { return fmt.Sprint(in["n"]), nil }),
	)
	for _, tt := range []struct{ tool, in, want string }{
		{"raw", ` { "n" : 12345678901234567890.10 }`, ` { "n" : 12345678901234567890.10 }`},
		{"any", `{"n":12345678901234567890}`, `json.Number map[n:12345678901234567890]`},
		{"map", `{"n":12345678901234567890}`, `12345678901234567890`},
	} {
		var got string
		if err := json.Unmarshal(h.open(tt.tool, tt.in).output().GetOutput(), &got); err != nil || got != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.tool, got, err, tt.want)
		}
	}
}

func TestFailures(t *testing.T) {
	type nested struct {
		List []struct {
			N int `json:"n"`
		} `json:"list"`
	}
	fail := func(err error) func(context.Context, *Call, nothing) (any, error) {
		return func(context.Context, *Call, nothing) (any, error) { return nil, err }
	}
	h := serveTools(t,
		newTool("plain", fail(errors.New("no such city"))),
		newTool("data", fail(fmt.Errorf("wrapped: %w", &Error{Message: "m", Data: json.RawMessage(`{"a": 1}`)}))),
		newTool("bad-data", fail(&Error{Err: errors.New("cause"), Data: json.RawMessage(`{`)})),
		newTool("binary", fail(errors.New("a\xffb"))),
		newTool("empty", fail(errors.New(""))),
		newTool("nested", func(context.Context, *Call, nested) (any, error) { return nil, nil }),
		newTool("nan", func(context.Context, *Call, nothing) (any, error) { return func() {}, nil }),
		newTool("bad-raw", func(context.Context, *Call, nothing) (json.RawMessage, error) { return json.RawMessage(`{"a":}`), nil }),
		newTool("huge", func(context.Context, *Call, nothing) (string, error) { return strings.Repeat("x", testLimit), nil }),
		newTool("huge-payload", func(_ context.Context, c *Call, _ nothing) (any, error) {
			return nil, c.Suspend(strings.Repeat("x", testLimit))
		}),
		newTool("suspend", func(_ context.Context, c *Call, _ nothing) (any, error) { return nil, c.Suspend(func() {}) }),
		newTool("lost", func(context.Context, *Call, nothing) (any, error) {
			return nil, fmt.Errorf("wrapped: %w", &Error{Message: "lost", Outcome: OutcomeUnknown})
		}),
		newTool("unsent", func(context.Context, *Call, nothing) (any, error) {
			return nil, &Error{Message: "unsent", Outcome: OutcomeNotStarted}
		}),
		newTool("goexit", func(context.Context, *Call, nothing) (any, error) { runtime.Goexit(); return nil, nil }),
	)
	for _, tt := range []struct {
		tool, in, message, data string
		kind                    pb.FailureKind
	}{
		{"plain", "{}", "no such city", "", pb.FailureKind_FAILURE_KIND_TOOL},
		{"data", "{}", "wrapped: m", `{"a": 1}`, pb.FailureKind_FAILURE_KIND_TOOL},
		{"bad-data", "{}", "cause", "", pb.FailureKind_FAILURE_KIND_TOOL},
		{"lost", "{}", "wrapped: lost", "", pb.FailureKind_FAILURE_KIND_OUTCOME_UNKNOWN},
		{"unsent", "{}", "unsent", "", pb.FailureKind_FAILURE_KIND_NOTHING_DONE},
		{"binary", "{}", "a\uFFFDb", "", pb.FailureKind_FAILURE_KIND_TOOL},
		{"empty", "{}", "failed", "", pb.FailureKind_FAILURE_KIND_TOOL},
		{"nosuch", "{}", `no tool "nosuch" in this plugin`, "", pb.FailureKind_FAILURE_KIND_NO_TOOL},
		{"nested", `{"list":[{"n":1},{"n":"x"}]}`, "at /list/1/n: string does not fit int", "", pb.FailureKind_FAILURE_KIND_INPUT},
		{"nan", "{}", "json: unsupported type: func()", "", pb.FailureKind_FAILURE_KIND_OUTPUT},
		{"bad-raw", "{}", "at byte 6: invalid character '}' looking for beginning of value", "", pb.FailureKind_FAILURE_KIND_OUTPUT},
		{"huge", "{}", "limit of 1048576 bytes", "", pb.FailureKind_FAILURE_KIND_TOO_LARGE},
		{"huge-payload", "{}", "limit of 1048576 bytes", "", pb.FailureKind_FAILURE_KIND_TOO_LARGE},
		{"suspend", "{}", "suspend payload: json: unsupported type: func()", "", pb.FailureKind_FAILURE_KIND_SUSPEND},
		{"goexit", "{}", "panic in tool: its goroutine ended", "", pb.FailureKind_FAILURE_KIND_PANIC},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			c := h.open(tt.tool, tt.in)
			f := c.failed()
			if f.GetKind() != tt.kind || !strings.Contains(f.GetMessage(), tt.message) || string(f.GetData()) != tt.data {
				t.Errorf("got %v, want %v %q %s", f, tt.kind, tt.message, tt.data)
			}
			c.closed()
		})
	}
}

func TestC6_PanicEndsOneCallOnly(t *testing.T) {
	release := make(chan struct{})
	h := serveTools(t,
		newTool("panic", func(context.Context, *Call, nothing) (any, error) { panic("first line\nsecond") }),
		newTool("wait", func(context.Context, *Call, nothing) (string, error) { <-release; return "ok", nil }),
		Tool[nothing, any]{
			ID: "ask", Description: "d", Execute: func(context.Context, *Call, nothing) (any, error) { return "ran", nil },
			NeedsApproval: func(context.Context, *Call, nothing) (bool, error) { panic(errors.New("in the predicate")) },
		},
	)
	others := []*hostCall{h.open("wait", "{}"), h.open("wait", "{}")}
	f := h.open("panic", "{}").failed()
	if f.GetKind() != pb.FailureKind_FAILURE_KIND_PANIC || f.GetMessage() != "panic in tool: first line" {
		t.Errorf("got %v", f)
	}
	if log := strings.Join(h.logged(), "\n"); !strings.Contains(log, "execute_test.go") {
		t.Errorf("the stack is not in the log: %s", log)
	}
	if strings.Contains(f.GetMessage()+string(f.GetData()), "goroutine") {
		t.Errorf("the stack is in the failure: %v", f)
	}
	ask := h.open("ask", "{}", func(o *pb.Open) { o.Ask, o.Run = true, false })
	if a := ask.recv().GetAsked(); !a.GetNeeded() || a.GetError() != "panic in NeedsApproval: in the predicate" { // AP-3
		t.Errorf("got %v", a)
	}
	ask.send(&pb.Frame{Body: &pb.Frame_Run{Run: &pb.Run{}}})
	if got := string(ask.output().GetOutput()); got != `"ran"` {
		t.Errorf("after the approval it gave %s", got)
	}
	close(release)
	for _, c := range others {
		if got := string(c.output().GetOutput()); got != `"ok"` {
			t.Errorf("a sibling got %s", got)
		}
	}
}

func TestDeadlineAndCancelReachTheAuthor(t *testing.T) {
	causes := make(chan error, 2)
	started := make(chan struct{}, 2)
	h := serveTools(t, newTool("wait", func(ctx context.Context, _ *Call, _ nothing) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return nil, ctx.Err()
	}))
	c := h.open("wait", "{}")
	waitFor(t, started, "start")
	sent := time.Now()
	c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "went away")
	cause := waitFor(t, causes, "cancel")
	if took := time.Since(sent); took > testTimeout/2 {
		t.Errorf("the cancel took %s", took)
	}
	if !errors.Is(cause, context.Canceled) || !strings.Contains(cause.Error(), "went away") {
		t.Errorf("cause = %v", cause)
	}
	c = h.open("wait", "{}", func(o *pb.Open) { o.TimeoutNs = uint64(500 * time.Millisecond) })
	waitFor(t, started, "start")
	if cause := waitFor(t, causes, "deadline"); !errors.Is(cause, context.DeadlineExceeded) {
		t.Errorf("cause = %v", cause)
	}
	if f := c.failed(); f.GetKind() != pb.FailureKind_FAILURE_KIND_CANCELED {
		t.Errorf("got %v", f)
	}
}

// A call whose author ignores the cancel disturbs nobody, and an end of the server says so.
func TestIgnoredCancelHurtsNobody(t *testing.T) {
	stuck, release := make(chan struct{}), make(chan struct{})
	h := serveTools(t,
		newTool("deaf", func(context.Context, *Call, nothing) (any, error) { close(stuck); <-release; return nil, nil }),
		newTool("ok", func(context.Context, *Call, nothing) (string, error) { return "ok", nil }),
	)
	c := h.open("deaf", "{}")
	waitFor(t, stuck, "start")
	c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
	for range 20 {
		h.open("ok", "{}").output()
	}
	if n := h.sess.Active(); n != 1 {
		t.Errorf("%d calls are active, want the deaf one", n)
	}
	close(release)
}

func TestMaxConcurrency(t *testing.T) {
	started, release := make(chan struct{}, 2), make(chan struct{})
	h := serveTools(t, Tool[nothing, any]{
		ID: "two", Description: "d", MaxConcurrency: 2,
		Execute: func(context.Context, *Call, nothing) (any, error) { started <- struct{}{}; <-release; return 1, nil },
	})
	a, b := h.open("two", "{}"), h.open("two", "{}")
	waitFor(t, started, "start")
	waitFor(t, started, "start")
	if f := h.open("two", "{}").failed(); f.GetKind() != pb.FailureKind_FAILURE_KIND_BUSY {
		t.Errorf("got %v, want busy", f)
	}
	close(release)
	a.output()
	h.open("two", "{}").output() // a place is free as soon as an outcome is there
	b.output()
}
