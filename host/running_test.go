//go:build unix

package host_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// kinds reads all events and returns their names, equal neighbours once.
func kinds(r *host.Running) (names []string, last host.Event) {
	for e := range r.Events() {
		if name := host.EventType(e); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
		last = e
	}
	return names, last
}

func TestStart_StreamedInput(t *testing.T) {
	h := open(t, host.Config{})
	call(t, h, "pid", `{}`)
	r := h.Start(t.Context(), host.Call{Tool: "deltas", ID: "c1"})
	pieces := []string{`{"wor`, `d":"gr`, "\xc3", "\xbc", `n"}`}
	go func() { // ends with the input
		for _, p := range pieces {
			if err := r.Delta([]byte(p)); err != nil {
				t.Error(err)
			}
		}
		r.EndInput()
	}()
	var types []string
	var text strings.Builder
	var result json.RawMessage
	for e := range r.Events() {
		if e.Of() != (host.Head{CallID: "c1", Tool: "deltas"}) {
			t.Errorf("head %+v", e.Of())
		}
		switch e := e.(type) {
		case host.InputDelta:
			text.WriteString(e.Text)
			if so := r.InputSoFar(); !json.Valid(so) || text.Len() < 6 && string(so) != "{}" && so[0] != '{' {
				t.Errorf("after %q the input so far is %s", text.String(), so)
			}
		case host.ResultEvent:
			result = e.Result
		}
		if n := host.EventType(e); len(types) == 0 || types[len(types)-1] != n {
			types = append(types, n)
		}
	}
	want := []string{"tool-call-input-streaming-start", "tool-call-delta", "tool-call-input-streaming-end", "tool-call", "tool-result"}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Error(diff)
	}
	if text.String() != strings.Join(pieces, "") {
		t.Errorf("deltas make %q", text.String())
	}
	var seen []string
	if err := json.Unmarshal(result, &seen); err != nil || strings.Join(seen, "") != text.String() {
		t.Errorf("the plugin saw %q, %v", seen, err)
	}
}

// The plugin's OnInputDelta has seen a delta before the next is written: each delta is its own.
func TestStart_H_DeltasReachAWarmPluginOneByOne(t *testing.T) {
	h := open(t, host.Config{})
	call(t, h, "pid", `{}`)
	r := h.Start(t.Context(), host.Call{Tool: "deltas"})
	if err := errors.Join(r.Delta([]byte(`{"a":`)), r.Delta([]byte(`1}`)), r.EndInput()); err != nil {
		t.Fatal(err)
	}
	res, err := r.Result()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.ReplaceAll(string(res.Output), `","`, ""), `{\"a\":1}`) {
		t.Errorf("the plugin saw %s", res.Output)
	}
}

// What a tool writes while its input is still on its way reaches the viewer at once, and never keeps the
// input back.
func TestStart_M5_OutputDuringTheInput(t *testing.T) {
	h := open(t, host.Config{})
	call(t, h, "pid", `{}`)
	r := h.Start(t.Context(), host.Call{Tool: "chatty"})
	seen := make(chan struct{}, 100)
	go func() { // ends with the input
		for i := range 10 {
			if err := r.Delta([]byte([]string{`{`, ` `}[min(i, 1)])); err != nil {
				t.Error(err)
			}
			<-seen
		}
		r.Delta([]byte(`}`))
		r.EndInput()
	}()
	n := 0
	var last host.Event
	for e := range r.Events() {
		if _, ok := e.(host.Output); ok {
			n++
			seen <- struct{}{}
		}
		last = e
	}
	if _, ok := last.(host.ResultEvent); !ok || n != 11 {
		t.Errorf("%d outputs, then %#v", n, last)
	}
}

func TestStart_InvalidStreamedInput(t *testing.T) {
	h := open(t, host.Config{})
	r := h.Start(t.Context(), host.Call{Tool: "deltas"})
	if err := errors.Join(r.Delta([]byte(`{"a":`)), r.EndInput()); err != nil {
		t.Fatal(err)
	}
	res, err := r.Result()
	wantError(t, res, err, host.InvalidInput, host.NotStarted)
	if err := r.Delta([]byte("x")); err == nil {
		t.Error("Delta after the end: no error")
	}
}

func TestStart_InputOverItsLimit(t *testing.T) {
	h := open(t, host.Config{Limits: host.Limits{Input: 100}})
	r := h.Start(t.Context(), host.Call{Tool: "raw"})
	var err error
	for err == nil { // the call ends, and then it fails
		err = r.Delta([]byte(strings.Repeat("x", 10)))
	}
	wantError(t, nil, err, host.TooLarge, host.NotStarted)
	res, rerr := r.Result()
	wantError(t, res, rerr, host.TooLarge, host.NotStarted)
}

func TestStart_ErrorsComeAsTheTerminalEvent(t *testing.T) {
	h := open(t, host.Config{})
	names, last := kinds(h.Start(t.Context(), host.Call{Tool: "nosuch", Input: []byte(`{}`)}))
	if e, ok := last.(host.ErrorEvent); !ok || e.Err.Code != host.NotFound || len(names) != 1 {
		t.Errorf("got %v, %#v", names, last)
	}
	h.Close()
	_, last = kinds(h.Start(t.Context(), host.Call{Tool: "echo", Input: []byte(`{}`)}))
	if e, ok := last.(host.ErrorEvent); !ok || e.Err.Code != host.Closed {
		t.Errorf("after Close: %#v", last)
	}
}

func TestStart_CustomOutputIsNeverDropped(t *testing.T) {
	h := open(t, host.Config{})
	r := h.Start(t.Context(), host.Call{Tool: "write", Input: []byte(`{"n":5000}`)})
	next := 0
	for e := range r.Events() {
		if o, ok := e.(host.Output); ok {
			var i int
			if json.Unmarshal(o.Data, &i) != nil || i != next {
				t.Fatalf("got %s, want %d", o.Data, next)
			}
			next++
		}
	}
	if next != 5000 {
		t.Errorf("got %d of 5000", next)
	}
}

func TestStart_ResultAloneDoesNotHang(t *testing.T) {
	h := open(t, host.Config{})
	res, err := h.Start(t.Context(), host.Call{Tool: "write", Input: []byte(`{"n":100000}`)}).Result()
	if err != nil || string(res.Output) != "100000" {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestStart_BreakingOutCancels(t *testing.T) {
	h := open(t, host.Config{})
	r := h.Start(t.Context(), host.Call{Tool: "wait", Input: []byte(`{}`)})
	for range r.Events() {
		break
	}
	res, err := r.Result()
	if e, ok := errors.AsType[*host.Error](err); !ok || e.Code != host.Canceled {
		t.Errorf("got %+v, %v", res, err)
	}
}

func TestMarshalEvent_FlatWithTypeFirst(t *testing.T) {
	h := open(t, host.Config{})
	var lines []string
	for e := range h.Start(t.Context(), host.Call{Tool: "echo", ID: "c", Input: []byte(`{"text":"a"}`)}).Events() {
		b, err := host.MarshalEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(b))
	}
	want := []string{
		`{"type":"tool-call","toolCallId":"c","toolName":"echo","args":{"text":"a","times":1}}`,
		`{"type":"tool-result","toolCallId":"c","toolName":"echo","result":{"text":"a","times":1}}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
