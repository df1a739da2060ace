package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// recorder is a tool that records the order of its functions.
func recorder(events chan<- string, fail bool) Tool[city, string] {
	note := func(format string, args ...any) error {
		events <- fmt.Sprintf(format, args...)
		if fail {
			panic("in a callback")
		}
		return errors.New("of a callback")
	}
	return Tool[city, string]{
		ID: "rec", Description: "d",
		Execute: func(_ context.Context, _ *Call, in city) (string, error) {
			events <- "execute " + in.City
			return "out " + in.City, nil
		},
		OnInputStart:     func(context.Context, *Call) error { return note("start") },
		OnInputDelta:     func(_ context.Context, _ *Call, d string) error { return note("delta %s", d) },
		OnInputAvailable: func(_ context.Context, _ *Call, in city) error { return note("available %s", in.City) },
		OnResume:         func(_ context.Context, _ *Call, data json.RawMessage) error { return note("resume %s", data) },
		OnOutput:         func(_ context.Context, _ *Call, out string) error { return note("output %s", out) },
		NeedsApproval: func(_ context.Context, _ *Call, in city) (bool, error) {
			events <- "ask " + in.City
			return in.City == "Rome", nil
		},
		ToModelOutput: func(_ context.Context, in city, out string) (ModelOutput, error) {
			events <- "model " + out
			return Text(in.City + "/" + out), nil
		},
	}
}

func drain(events <-chan string) []string {
	var got []string
	for {
		select {
		case e := <-events:
			got = append(got, e)
		default:
			return got
		}
	}
}

func TestH2_OrderOfCallbacks(t *testing.T) {
	for _, panics := range []bool{false, true} { // H-3: harmless either way
		events := make(chan string, 32)
		h := serveTools(t, recorder(events, panics))
		c := h.open("rec", "", func(o *pb.Open) {
			o.InputStart, o.Streaming, o.Ask, o.Model, o.Confirm = true, true, true, true, true
		})
		c.send(&pb.Frame{Body: &pb.Frame_InputDelta{InputDelta: &pb.InputDelta{Data: []byte(`{"city":`)}}})
		if got := []string{waitFor(t, events, "start"), waitFor(t, events, "delta")}; got[1] != `delta {"city":` {
			t.Fatalf("got %q", got)
		}
		c.send(&pb.Frame{Body: &pb.Frame_InputDelta{InputDelta: &pb.InputDelta{Data: []byte(`"Rome"}`)}}})
		c.send(&pb.Frame{Body: &pb.Frame_Input{Input: &pb.Input{Input: []byte(`{"city":"Rome"}`)}}})
		if asked := c.recv().GetAsked(); !asked.GetNeeded() || asked.GetError() != "" {
			t.Errorf("asked = %v", asked)
		}
		if got := drain(events); !cmp.Equal(got, []string{`delta "Rome"}`, "ask Rome"}) {
			t.Errorf("before the approval: %q", got)
		}
		c.send(&pb.Frame{Body: &pb.Frame_Run{Run: &pb.Run{}}})
		out := c.output()
		if got := drain(events); !cmp.Equal(got, []string{"available Rome", "execute Rome", "model out Rome"}) {
			t.Errorf("after the approval: %q", got)
		}
		if got := string(out.GetDerived().GetModel()); got != `{"type":"text","value":"Rome/out Rome"}` {
			t.Errorf("model = %s", got)
		}
		c.send(&pb.Frame{Body: &pb.Frame_Derive{Derive: &pb.Derive{Output: []byte(`"redacted"`), Model: true}}})
		if got := string(c.recv().GetDerived().GetModel()); got != `{"type":"text","value":"Rome/redacted"}` {
			t.Errorf("derived model = %s", got)
		}
		c.send(&pb.Frame{Body: &pb.Frame_Accepted{Accepted: &pb.Accepted{Final: true}}})
		c.closed()
		if got := drain(events); !cmp.Equal(got, []string{"model redacted", "output redacted"}) {
			t.Errorf("after the output: %q", got)
		}
		if n := len(h.logged()); n != 5 {
			t.Errorf("%d records, want one for each failed callback: %q", n, h.logged())
		}
	}
}

// b35: an output that the host did not accept has no OnOutput.
func TestOnOutputOnlyAfterAccepted(t *testing.T) {
	events := make(chan string, 32)
	h := serveTools(t, recorder(events, false))
	c := h.open("rec", `{"city":"Bonn"}`, func(o *pb.Open) { o.Confirm = true })
	c.output()
	c.Close()
	h.open("rec", `{"city":"Bern"}`).output()
	for deadline := time.Now().Add(testTimeout); h.sess.Active() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the call does not end")
		}
	}
	want := []string{"available Bonn", "execute Bonn", "available Bern", "execute Bern"}
	if got := drain(events); !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// M4: the next delta is not read before the author is done with the one before.
func TestM4_DeltasPushBack(t *testing.T) {
	seen, next := make(chan int), make(chan struct{})
	h := serveTools(t, Tool[any, string]{
		ID: "slow", Description: "d",
		Execute: func(context.Context, *Call, any) (string, error) { return "done", nil },
		OnInputDelta: func(_ context.Context, _ *Call, d string) error {
			seen <- len(d)
			<-next
			return nil
		},
	})
	c := h.open("slow", "", func(o *pb.Open) { o.Streaming = true })
	sent := make(chan int, 1)
	go func() { // ends when all is sent; joined by the receive below
		total := 0
		for range 4000 {
			piece := strings.Repeat("x", 1000)
			if c.Send(c.ctx, &pb.Frame{Body: &pb.Frame_InputDelta{InputDelta: &pb.InputDelta{Data: []byte(piece)}}}) != nil {
				break
			}
			total += len(piece)
		}
		sent <- total
	}()
	got := waitFor(t, seen, "delta")
	select {
	case n := <-sent:
		t.Fatalf("%d bytes were taken while the author was at the first delta", n)
	case <-time.After(200 * time.Millisecond): // nothing can be waited for: it must not happen
	}
	for next <- struct{}{}; got < 4000*1000; next <- struct{}{} {
		got += waitFor(t, seen, "delta")
	}
	if n := waitFor(t, sent, "end of sending"); n != got {
		t.Errorf("sent %d bytes, the author saw %d", n, got)
	}
	c.send(&pb.Frame{Body: &pb.Frame_Input{Input: &pb.Input{Input: []byte(`{}`), Run: true}}})
	c.output()
}

func TestModelOutputFailureKeepsTheOutput(t *testing.T) {
	model := func(id string, f func() (ModelOutput, error)) Definition {
		return Tool[nothing, string]{
			ID: id, Description: "d",
			Execute:       func(context.Context, *Call, nothing) (string, error) { return "real", nil },
			ToModelOutput: func(context.Context, nothing, string) (ModelOutput, error) { return f() },
		}
	}
	h := serveTools(t,
		model("error", func() (ModelOutput, error) { return ModelOutput{}, errors.New("why") }),
		model("panic", func() (ModelOutput, error) { panic("why") }),
		model("form", func() (ModelOutput, error) { return ModelOutput{Type: "poem", Value: json.RawMessage("1")}, nil }),
		model("large", func() (ModelOutput, error) { return Text(strings.Repeat("x", testLimit)), nil }),
		model("none", func() (ModelOutput, error) { return ModelOutput{}, nil }),
	)
	for tool, want := range map[string]string{ // b39
		"error": "why", "panic": "panic in ToModelOutput: why", "form": `model output: unknown type "poem"`,
		"large": "over the limit", "none": "",
	} {
		out := h.open(tool, "{}", func(o *pb.Open) { o.Model = true }).output()
		d := out.GetDerived()
		if string(out.GetOutput()) != `"real"` || len(d.GetModel()) > 0 || !strings.Contains(d.GetModelError(), want) || want == "" && d.GetModelError() != "" {
			t.Errorf("%s: got %v", tool, out)
		}
	}
}

func TestAP3_PredicateErrorMeansAsk(t *testing.T) {
	h := serveTools(t, Tool[nothing, string]{
		ID: "t", Description: "d",
		Execute:       func(context.Context, *Call, nothing) (string, error) { return "ran", nil },
		NeedsApproval: func(context.Context, *Call, nothing) (bool, error) { return false, errors.New("no idea") },
	})
	c := h.open("t", "{}", func(o *pb.Open) { o.Ask, o.Run = true, false })
	if asked := c.recv().GetAsked(); !asked.GetNeeded() || asked.GetError() != "no idea" {
		t.Errorf("asked = %v", asked)
	}
	c.send(&pb.Frame{Body: &pb.Frame_Run{Run: &pb.Run{}}})
	c.output()
}

func TestR15_TheMappingHasASpan(t *testing.T) {
	h := serveTools(t, Tool[nothing, string]{
		ID: "t", Description: "d",
		Execute:       func(context.Context, *Call, nothing) (string, error) { return "real", nil },
		ToModelOutput: func(context.Context, nothing, string) (ModelOutput, error) { return ModelOutput{}, errors.New("why") },
	})
	traced := h.open("t", "{}", func(o *pb.Open) { o.Model, o.Traceparent = true, "00-a-b-01" })
	if s := traced.recv().GetSpan(); s.GetName() != "tool output mapping" || s.GetError() != "why" || s.GetEndNs() < s.GetStartNs() {
		t.Errorf("span = %v", s)
	}
	if out := traced.output(); out.GetDerived().GetModelError() != "why" {
		t.Errorf("output = %v", out)
	}
	h.open("t", "{}", func(o *pb.Open) { o.Model = true }).output() // without a trace nothing comes before it
}
