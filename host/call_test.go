//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

func TestCall_ResultIsTheToolsOwnBytes(t *testing.T) {
	h := open(t, host.Config{})
	const in = `{"z":1.0,"a":9007199254740993,"big":1e2}`
	if got := string(call(t, h, "raw", in).Output); got != in {
		t.Errorf("got %s, want %s", got, in)
	}
}

func TestCall_V_DefaultsAreFilled(t *testing.T) {
	h := open(t, host.Config{})
	if got := string(call(t, h, "echo", `{"text":"hi"}`).Output); got != `{"text":"hi","times":1}` {
		t.Errorf("got %s", got)
	}
}

func TestCall_B21_EmptyInputIsAnEmptyObject(t *testing.T) {
	h := open(t, host.Config{})
	if got := string(call(t, h, "raw", "").Output); got != "{}" {
		t.Errorf("got %s", got)
	}
}

func TestCall_InvalidInputNamesEveryViolationAndStartsNothing(t *testing.T) {
	for _, c := range []struct{ name, input, path string }{
		{"missing", `{}`, "/text"},
		{"wrong type", `{"text":1}`, "/text"},
		{"out of bounds", `{"text":"a","times":1000}`, "/times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, host.Config{})
			e := fails(t, h, "echo", c.input, host.InvalidInput, host.NotStarted)
			s, ok := errors.AsType[*host.SchemaError](e)
			if !ok || s.Violations[0].Path != c.path {
				t.Fatalf("got %v", e)
			}
			if !strings.Contains(e.Error(), c.path) {
				t.Errorf("%q does not name %s", e, c.path)
			}
		})
	}
}

func TestCall_BrokenJSONNamesThePosition(t *testing.T) {
	h := open(t, host.Config{})
	e := fails(t, h, "echo", `{"text":`, host.InvalidInput, host.NotStarted)
	if !strings.Contains(e.Error(), "line 1, column 9") {
		t.Errorf("%q does not name the position", e)
	}
}

func TestCall_T1_T5_DataBudgets(t *testing.T) {
	h := open(t, host.Config{})
	for name, in := range map[string]string{
		"exponent": `{"n":1e1000001}`,
		"digits":   `{"n":` + strings.Repeat("9", 401) + `}`,
		"depth":    strings.Repeat(`{"a":`, 201) + "1" + strings.Repeat("}", 201),
	} {
		t.Run(name, func(t *testing.T) { fails(t, h, "raw", in, host.InvalidInput, host.NotStarted) })
	}
	t.Run("bytes", func(t *testing.T) {
		fails(t, h, "raw", `{"a":"`+strings.Repeat("x", 1<<20)+`"}`, host.TooLarge, host.NotStarted)
	})
}

func TestCall_NotFoundNamesNearOnes(t *testing.T) {
	h := open(t, host.Config{})
	if e := fails(t, h, "ehco", `{}`, host.NotFound, host.NotStarted); !strings.Contains(e.Error(), "echo") {
		t.Errorf("%q names no near one", e)
	}
}

func TestCall_M9_ActiveTools(t *testing.T) {
	h := open(t, host.Config{})
	res, err := h.Call(t.Context(), host.Call{Tool: "pid", Active: []string{"echo"}})
	wantError(t, res, err, host.NotFound, host.NotStarted)
}

func TestCall_ToolErrorCarriesItsData(t *testing.T) {
	h := open(t, host.Config{})
	e := fails(t, h, "fail", `{}`, host.ToolFailed, host.Failed)
	te, ok := errors.AsType[*host.ToolError](e)
	if !ok || te.Message != "the sea is rough" || string(te.Data) != `{"waves":7}` {
		t.Errorf("got %#v", te)
	}
}

func TestCall_B23_InvalidOutputIsKept(t *testing.T) {
	h := open(t, host.Config{})
	e := fails(t, h, "invalid", `{}`, host.InvalidOutput, host.Done)
	if o, ok := errors.AsType[*host.OutputError](e); !ok || string(o.Output) != `{"n":"many"}` {
		t.Errorf("the output is lost: %v", e)
	}
	if res := call(t, h, "warned", `{}`); len(res.Warnings) != 1 || string(res.Output) != `{"n":"many"}` {
		t.Errorf("mode warn: got %+v", res)
	}
}

func TestCall_VoidResult(t *testing.T) {
	h := open(t, host.Config{})
	if res := call(t, h, "void", `{}`); res.Output != nil {
		t.Errorf("got %s", res.Output)
	}
}

func TestCall_O6_T41_RequestContextIsCutToItsSchema(t *testing.T) {
	h := open(t, host.Config{})
	ctxOf := func(tool, context string) (*host.Result, error) {
		return h.Call(t.Context(), host.Call{Tool: tool, Context: json.RawMessage(context)})
	}
	res, err := ctxOf("context", `{"user":"ada","secret":"s3"}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"lang":"en","user":"ada"}`, string(res.Output)); diff != "" {
		t.Error(diff)
	}
	res, err = ctxOf("context", `{"lang":"de"}`)
	wantError(t, res, err, host.InvalidContext, host.NotStarted)
	res, err = ctxOf("context", `[]`)
	wantError(t, res, err, host.InvalidContext, host.NotStarted)
}

func TestCall_B52_TheToolsOwnTimeout(t *testing.T) {
	h := open(t, host.Config{})
	call(t, h, "pid", `{}`)
	began := time.Now()
	eventually(t, "a call that was begun in time ends in time", func() bool {
		_, err := h.Call(t.Context(), host.Call{Tool: "brief", Input: []byte(`{}`)})
		e, ok := errors.AsType[*host.Error](err)
		if !ok || e.Code != host.Timeout {
			t.Fatal(err)
		}
		return e.Outcome == host.Unknown
	})
	if d := time.Since(began); d > soon { // of a minute
		t.Errorf("took %v", d)
	}
}

func TestCall_CancelReachesTheToolAndEndsTheCallAtOnce(t *testing.T) {
	h := open(t, host.Config{})
	for _, tool := range []string{"wait", "stubborn"} {
		t.Run(tool, func(t *testing.T) {
			r := h.Start(t.Context(), host.Call{Tool: tool, Input: []byte(`{}`)})
			boom := errors.New("changed my mind")
			var last host.Event
			for e := range r.Events() {
				if _, ok := e.(host.Progress); ok {
					r.Cancel(boom)
				}
				last = e
			}
			ev, ok := last.(host.ErrorEvent)
			if !ok || ev.Err.Code != host.Canceled || ev.Err.Outcome != host.Unknown || !errors.Is(ev.Err, boom) {
				t.Errorf("got %#v", last)
			}
		})
	}
	call(t, h, "pid", `{}`) // the plugin serves on
}

func TestCall_ProgressIsToldWithoutEvents(t *testing.T) {
	h := open(t, host.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	var told []string
	res, err := h.Call(ctx, host.Call{Tool: "wait", Input: []byte(`{}`), Progress: func(p host.Progress) {
		told = append(told, p.Tool+" "+p.Message)
		cancel()
	}})
	wantError(t, res, err, host.Canceled, host.Unknown)
	if diff := cmp.Diff([]string{"wait waiting"}, told); diff != "" {
		t.Error(diff)
	}
}

func TestCall_TimeoutBeforeTheStartIsNotStarted(t *testing.T) {
	h := open(t, host.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
	defer cancel()
	res, err := h.Call(ctx, host.Call{Tool: "pid"})
	wantError(t, res, err, host.Timeout, host.NotStarted)
}

func TestCall_MaxConcurrencyQueues(t *testing.T) {
	h := open(t, host.Config{})
	type answer struct {
		out string
		err error
	}
	answers := make(chan answer)
	for range 10 {
		go func() { // ends with its call
			res, err := h.Call(t.Context(), host.Call{Tool: "limited"})
			if err != nil {
				answers <- answer{err: err}
				return
			}
			answers <- answer{out: string(res.Output)}
		}()
	}
	for range 10 {
		if a := <-answers; a.err != nil || (a.out != "1" && a.out != "2") {
			t.Errorf("got %+v", a)
		}
	}
}

func TestCall_Elicit(t *testing.T) {
	h := open(t, host.Config{})
	if got := string(call(t, h, "ask", `{}`).Output); got != `"decline "` {
		t.Errorf("without an Elicit function: got %s", got)
	}
	res, err := h.Call(t.Context(), host.Call{Tool: "ask", Elicit: func(_ context.Context, q host.Question) (host.Answer, error) {
		return host.Answer{Action: "accept", Content: json.RawMessage(`{"q":"` + q.Message + `"}`)}, nil
	}})
	if err != nil || string(res.Output) != `"accept {\"q\":\"sure?\"}"` {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestCall_M1_OutputLimit(t *testing.T) {
	const limit = 1 << 20
	h := open(t, host.Config{Limits: host.Limits{Message: limit, Output: limit}})
	call(t, h, "big", `{"n":500000}`)
	e := fails(t, h, "big", `{"n":2000000}`, host.TooLarge, host.Failed)
	if !strings.Contains(e.Error(), "1048576") {
		t.Errorf("%q does not name the limit", e)
	}
	call(t, h, "pid", `{}`)
}

func TestSettingsReachThePlugin(t *testing.T) {
	p := self("test", "settings")
	p.Settings = json.RawMessage(`{"greeting":"moin"}`)
	h := open(t, host.Config{}, p)
	if got := string(call(t, h, "greet", `{}`).Output); got != `"moin"` {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{`{"greeting":7}`, `{"greeting":"a text of more than twenty letters"}`, `{}`, `{"greeting":"x","greting":"y"}`} {
		p.Settings = json.RawMessage(bad)
		h = open(t, host.Config{Eager: true}, p)
		if s := status(t, h); !strings.Contains(s.Error, "/gre") {
			t.Errorf("%s: status does not name the setting: %+v", bad, s)
		}
	}
}

func TestCall_AP_RequireApprovalIsNotIgnored(t *testing.T) {
	h := open(t, host.Config{StateDir: stateDir(t)})
	fails(t, h, "dangerous", `{}`, host.Suspended, host.NotStarted)
}
