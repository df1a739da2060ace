package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

var (
	both        = []pb.Audience{pb.Audience_AUDIENCE_DISPLAY, pb.Audience_AUDIENCE_TRANSCRIPT}
	displayOnly = both[:1]
)

func wants(audiences []pb.Audience) func(*pb.Open) { return func(o *pb.Open) { o.Views = audiences } }
func waits(o *pb.Open)                             { o.Run = false }

// flat writes views one a line: audience, phase, value or error.
func flat(views []*pb.DerivedView) string {
	var b strings.Builder
	for _, v := range views {
		phase := strings.ToLower(strings.TrimPrefix(v.GetPhase().String(), "PHASE_"))
		fmt.Fprintf(&b, "%d %s %s", v.GetAudience(), phase, v.GetValue())
		if v.GetError() != "" {
			fmt.Fprintf(&b, "error: %s", v.GetError())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// everyView is a view function for every phase.
func everyView(who string) Views[city, string] {
	raw := func(_ context.Context, _ *Call, v json.RawMessage) (any, error) { return who + " " + string(v), nil }
	return Views[city, string]{
		InputFunc: func(_ context.Context, c *Call, in city) (any, error) { return who + " " + c.ID() + " " + in.City, nil },
		InputDeltaFunc: func(_ context.Context, _ *Call, delta string) (string, error) {
			return who + " " + strings.ToUpper(delta), nil
		},
		OutputFunc: func(_ context.Context, _ *Call, in city, out string) (any, error) {
			return map[string]string{who: in.City + "<" + out}, nil
		},
		ErrorFunc: func(_ context.Context, _ *Call, err error) (any, error) {
			var own *Error
			return fmt.Sprint(who, " ", errors.As(err, &own), " ", err), nil
		},
		ApprovalFunc: func(_ context.Context, _ *Call, in city) (any, error) { return []string{who, in.City}, nil },
		SuspendFunc:  raw, ResumeFunc: raw,
	}
}

// viewed tool: Rome fails, Bonn suspends, Bern asks for an approval, anything else is the output.
func viewedTool() Tool[city, string] {
	def := newTool("v", func(_ context.Context, c *Call, in city) (string, error) {
		resumed, err := c.Resume(new(any))
		switch {
		case resumed || err != nil:
			return "resumed", err
		case in.City == "Rome":
			return "", fmt.Errorf("wrapped: %w", &Error{Message: "fell"})
		case in.City == "Bonn":
			return "", c.Suspend(1)
		case in.City == "Bern":
			return "", c.AskApproval(2)
		}
		return "sun", nil
	})
	def.Transform = Transform[city, string]{Display: everyView("D"), Transcript: everyView("T")}
	return def
}

func TestX1_FunctionViewsTravelWithTheOutcome(t *testing.T) {
	h := serveTools(t, viewedTool())
	for _, tt := range []struct {
		city  string
		views []pb.Audience
		want  string
	}{
		{"Kyiv", both, "1 output {\"D\":\"Kyiv<sun\"}\n2 output {\"T\":\"Kyiv<sun\"}\n"},
		{"Kyiv", both[1:], "2 output {\"T\":\"Kyiv<sun\"}\n"},
		{"Kyiv", nil, ""},
		{"Rome", both, "1 error \"D true wrapped: fell\"\n2 error \"T true wrapped: fell\"\n"},
		{"Bonn", both, "1 suspend \"D 1\"\n2 suspend \"T 1\"\n"},
		{"Bern", displayOnly, "1 suspend \"D 2\"\n1 approval [\"D\",\"Bern\"]\n"},
	} {
		f := h.open("v", `{"city":"`+tt.city+`"}`, wants(tt.views)).recv() // run at once: asked does not come
		got := flat(append(append(f.GetOutput().GetDerived().GetViews(), f.GetFailed().GetViews()...), f.GetSuspended().GetViews()...))
		if got != tt.want {
			t.Errorf("%s for %v:\n%swant\n%s", tt.city, tt.views, got, tt.want)
		}
	}
	f := h.open("v", `{"city":7}`, wants(displayOnly)).failed()
	if got := flat(f.GetViews()); got != "1 error \"D false at /city: number does not fit string\"\n" {
		t.Errorf("without an input: %s", got)
	}
}

// The views of the input come before the call runs, whether or not NeedsApproval is asked, which happens once.
func TestX1_ViewsOfTheInputTravelWithAsked(t *testing.T) {
	def := viewedTool()
	asks := make(chan string, 8)
	def.NeedsApproval = func(_ context.Context, _ *Call, in city) (bool, error) { asks <- in.City; return true, nil }
	h := serveTools(t, def, newTool("plain", func(context.Context, *Call, nothing) (string, error) { return "ran", nil }))
	input := "1 input \"D call-1 Oslo\"\n2 input \"T call-1 Oslo\"\n1 approval [\"D\",\"Oslo\"]\n2 approval [\"T\",\"Oslo\"]\n"
	for _, tt := range []struct {
		name   string
		edit   func(*pb.Open)
		views  string
		asked  int
		output string
	}{
		{"views", func(*pb.Open) {}, input, 0, `"sun"`},
		{"views and ask", func(o *pb.Open) { o.Ask = true }, input, 1, `"sun"`},
		{"ask", func(o *pb.Open) { o.Ask, o.Views = true, nil }, "", 1, `"sun"`},
		{"views of a resumption", func(o *pb.Open) { o.Resume = &pb.Resume{Data: []byte("null")} },
			input + "1 resume \"D null\"\n2 resume \"T null\"\n", 0, `"resumed"`},
		{"views of an approved one", func(o *pb.Open) { o.Resume = &pb.Resume{} }, input, 0, `"resumed"`},
		{"asked again", func(o *pb.Open) { o.Resume, o.Ask, o.Views = &pb.Resume{Data: []byte("1")}, true, nil }, "", 1, `"resumed"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := h.open("v", `{"city":"Oslo"}`, waits, wants(both), tt.edit)
			asked := c.recv().GetAsked()
			if asked == nil || asked.GetNeeded() != (tt.asked > 0) || flat(asked.GetViews()) != tt.views {
				t.Errorf("asked = %v, views\n%swant\n%s", asked, flat(asked.GetViews()), tt.views)
			}
			if got := len(drain(asks)); got != tt.asked {
				t.Errorf("NeedsApproval ran %d times before run, want %d", got, tt.asked)
			}
			c.send(&pb.Frame{Body: &pb.Frame_Run{Run: &pb.Run{}}})
			if got := string(c.output().GetOutput()); got != tt.output {
				t.Errorf("output %s, want %s", got, tt.output)
			}
			if got := len(drain(asks)); got != 0 {
				t.Errorf("NeedsApproval ran %d times after run", got)
			}
		})
	}
	// A tool without views answers too, so that a host need not know.
	c := h.open("plain", "{}", waits, wants(both))
	if asked := c.recv().GetAsked(); asked == nil || len(asked.GetViews()) > 0 {
		t.Errorf("asked = %v", asked)
	}
	c.send(&pb.Frame{Body: &pb.Frame_Run{Run: &pb.Run{}}})
	c.output()
	// An input with run waits for nothing.
	c = h.open("v", "", wants(both))
	c.send(&pb.Frame{Body: &pb.Frame_Input{Input: &pb.Input{Input: []byte(`{"city":"Oslo"}`), Run: true}}})
	c.output()
}

func TestX1_ViewsOfDeltas(t *testing.T) {
	def := viewedTool()
	def.Transform.Transcript.InputDeltaFunc = func(_ context.Context, _ *Call, delta string) (string, error) {
		switch delta {
		case "none":
			return "", nil
		case "fails":
			return "leaked", errors.New("why")
		case "panics":
			panic("why")
		case "large":
			return strings.Repeat("x", testLimit), nil
		}
		return "T\xff", nil
	}
	h := serveTools(t, def)
	c := h.open("v", "", func(o *pb.Open) { o.Streaming, o.Views = true, both })
	for delta, want := range map[string]*pb.DeltaView{
		"text": {Text: []byte("T\uFFFD")}, "none": {Suppress: true},
		"fails": {Suppress: true, Failed: true}, "panics": {Suppress: true, Failed: true}, "large": {Suppress: true, Failed: true},
	} {
		c.send(&pb.Frame{Body: &pb.Frame_InputDelta{InputDelta: &pb.InputDelta{Data: []byte(delta)}}})
		if got := c.recv().GetDeltaView(); got.GetAudience() != 1 || string(got.GetText()) != "D "+strings.ToUpper(delta) || got.GetSuppress() {
			t.Errorf("%s: display %v", delta, got)
		}
		got := c.recv().GetDeltaView()
		if got.GetAudience() != 2 || string(got.GetText()) != string(want.GetText()) || got.GetSuppress() != want.GetSuppress() || got.GetFailed() != want.GetFailed() {
			t.Errorf("%s: transcript %v, want %v", delta, got, want)
		}
	}
	c.send(&pb.Frame{Body: &pb.Frame_Input{Input: &pb.Input{Input: []byte(`{"city":"Oslo"}`), Run: true}}})
	c.output()
	if n := len(h.logged()); n != 3 {
		t.Errorf("%d records, want one for each that failed: %q", n, h.logged())
	}
	// Nobody watches: the plugin says nothing.
	c = h.open("v", "", func(o *pb.Open) { o.Streaming = true })
	c.send(&pb.Frame{Body: &pb.Frame_InputDelta{InputDelta: &pb.InputDelta{Data: []byte("x")}}})
	c.send(&pb.Frame{Body: &pb.Frame_Input{Input: &pb.Input{Input: []byte(`{"city":"Oslo"}`), Run: true}}})
	c.output()
}

// whatever goes wrong with a view, the call has its outcome, and the view an error.
func TestX6_FailedViews(t *testing.T) {
	h := serveTools(t, Tool[city, string]{
		ID: "bad", Description: "d",
		Execute: func(_ context.Context, c *Call, in city) (string, error) {
			switch in.City {
			case "fail":
				return "", errors.New("fell")
			case "suspend":
				return "", c.Suspend("payload")
			}
			return "real", nil
		},
		Transform: Transform[city, string]{Display: Views[city, string]{
			InputFunc: func(context.Context, *Call, city) (any, error) { return strings.Repeat("x", testLimit), nil },
			OutputFunc: func(_ context.Context, c *Call, in city, _ string) (any, error) {
				switch in.City {
				case "error":
					return "leaked", errors.New("why\xff")
				case "empty":
					return nil, errors.New("")
				case "panic":
					panic("why")
				case "no JSON":
					return func() {}, nil
				case "broken":
					return json.RawMessage(`{"a":`), nil
				case "large":
					return strings.Repeat("x", testLimit), nil
				case "goexit":
					runtime.Goexit()
				}
				return nil, nil
			},
			ErrorFunc:   func(context.Context, *Call, error) (any, error) { return strings.Repeat("x", testLimit), nil },
			SuspendFunc: func(context.Context, *Call, json.RawMessage) (any, error) { return strings.Repeat("x", testLimit), nil },
		}},
	})
	for in, want := range map[string]string{
		"none": "1 output \n", "error": "1 output error: why\uFFFD\n", "empty": "1 output error: failed\n",
		"panic":   "1 output error: panic in Transform.Display.Output: why\n",
		"no JSON": "1 output error: json: unsupported type: func()\n", "broken": "1 output error: at byte 5: unexpected end of JSON input\n",
		"large": "1 output error: session: send frame of",
	} {
		out := h.open("bad", `{"city":"`+in+`"}`, wants(both)).output()
		if got := flat(out.GetDerived().GetViews()); string(out.GetOutput()) != `"real"` || !strings.HasPrefix(got, want) {
			t.Errorf("%s: output %s, views %.200s, want %s", in, out.GetOutput(), got, want)
		}
	}
	if f := h.open("bad", `{"city":"goexit"}`, wants(both)).failed(); f.GetKind() != pb.FailureKind_FAILURE_KIND_PANIC {
		t.Errorf("got %v", f)
	}
	if f := h.open("bad", `{"city":"fail"}`, wants(both)).failed(); f.GetMessage() != "fell" || !strings.HasPrefix(flat(f.GetViews()), "1 error error: session: send") {
		t.Errorf("got %v", f)
	}
	s := h.open("bad", `{"city":"suspend"}`, wants(both)).recv().GetSuspended()
	if string(s.GetPayload()) != `"payload"` || !strings.HasPrefix(flat(s.GetViews()), "1 suspend error: session: send") {
		t.Errorf("got %v", s)
	}
	c := h.open("bad", `{"city":"x"}`, waits, wants(both))
	if a := c.recv().GetAsked(); !strings.HasPrefix(flat(a.GetViews()), "1 input error: session: send") {
		t.Errorf("got %v", a)
	}
	c.send(&pb.Frame{Body: &pb.Frame_Run{Run: &pb.Run{}}})
	c.output()
}

// b14: what a hook rewrote is derived again, by the same functions; OnOutput gets what was accepted, and
// only after that (b35), whatever the mode of the output.
func TestB14_DerivedAgain(t *testing.T) {
	for _, mode := range []OutputMode{OutputReject, OutputWarn, OutputOff} {
		outputs := make(chan string, 4)
		def := viewedTool()
		def.OutputMode = mode
		def.OnOutput = func(_ context.Context, _ *Call, out string) error { outputs <- out; return nil }
		def.ToModelOutput = func(_ context.Context, in city, out string) (ModelOutput, error) { return Text(in.City + out), nil }
		h := serveTools(t, def)
		c := h.open("v", `{"city":"Oslo"}`, wants(displayOnly), func(o *pb.Open) { o.Confirm, o.Model = true, true })
		d := c.output().GetDerived()
		if got := string(d.GetModel()) + flat(d.GetViews()); got != `{"type":"text","value":"Oslosun"}`+"1 output {\"D\":\"Oslo<sun\"}\n" {
			t.Errorf("derived %s", got)
		}
		c.send(&pb.Frame{Body: &pb.Frame_Derive{Derive: &pb.Derive{Output: []byte(`"***"`), Model: true, Views: both}}})
		d = c.recv().GetDerived()
		if got := string(d.GetModel()) + flat(d.GetViews()); got != `{"type":"text","value":"Oslo***"}`+"1 output {\"D\":\"Oslo<***\"}\n2 output {\"T\":\"Oslo<***\"}\n" {
			t.Errorf("derived again %s", got)
		}
		if got := drain(outputs); len(got) > 0 {
			t.Errorf("OnOutput before accepted: %q", got)
		}
		c.send(&pb.Frame{Body: &pb.Frame_Accepted{Accepted: &pb.Accepted{Final: true}}})
		c.closed()
		if got := drain(outputs); !cmp.Equal(got, []string{"***"}) {
			t.Errorf("OnOutput got %q", got)
		}
		// What does not fit the author's type has no forms, and each of them says why.
		c = h.open("v", `{"city":"Oslo"}`, func(o *pb.Open) { o.Confirm = true })
		c.output()
		c.send(&pb.Frame{Body: &pb.Frame_Derive{Derive: &pb.Derive{Output: []byte(`7`), Model: true, Views: both}}})
		d = c.recv().GetDerived()
		if got := flat(d.GetViews()); d.GetModelError() == "" || got != "1 output error: at /: number does not fit string\n2 output error: at /: number does not fit string\n" {
			t.Errorf("derived of a wrong type: %v", d)
		}
		c.closed()
		if got := drain(outputs); len(got) > 0 {
			t.Errorf("OnOutput of a wrong type: %q", got)
		}
	}
}

func TestBadTransforms(t *testing.T) {
	deep := strings.Repeat("/a", 65)
	for _, tt := range []struct {
		views Views[city, string]
		want  string
	}{
		{Views[city, string]{Input: Keep()}, "field Transform.Display.Input: rule 0: no paths"},
		{Views[city, string]{Output: Keep("/a").Mask("b")}, `field Transform.Display.Output: rule 1: path "b": a JSON Pointer begins with "/"`},
		{Views[city, string]{Error: Mask("/a~2")}, `field Transform.Display.Error: rule 0: path "/a~2": "~" is written`},
		{Views[city, string]{Approval: Mask("/\xff")}, `field Transform.Display.Approval: rule 0: path "/\xff": not UTF-8`},
		{Views[city, string]{Suspend: Mask(deep)}, `field Transform.Display.Suspend: rule 0: path "` + deep + `": 65 steps`},
		{Views[city, string]{Resume: Replace("/a", func() {})}, `field Transform.Display.Resume: rule 0: path "/a": json: unsupported type`},
		{Views[city, string]{InputDelta: Replace("/a", strings.Repeat("x", 70_000))}, `field Transform.Display.InputDelta: rule 0: path "/a": a replacement of 70002 bytes`},
		{Views[city, string]{Input: Keep("/a"), InputFunc: everyView("").InputFunc}, "field Transform.Display.Input: rules and a function"},
		{Views[city, string]{Input: Mask(strings.Split(strings.Repeat("/a ", 256), " ")...)}, "field Transform.Display.Input: more than 256 paths"},
	} {
		def := viewedTool()
		def.Transform = Transform[city, string]{Display: tt.views}
		if err := (&Registry{}).Set(def); err == nil || !strings.HasPrefix(err.Error(), `register tool 0 "v": `+tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	rules := Keep("/a")
	for range 64 {
		rules = rules.Keep("/a")
	}
	if _, err := rules.encode(); err == nil {
		t.Error("65 rules were taken")
	}
	// Rules are values: what is added to one is not in another.
	base := Keep("/a")
	a, b := base.Mask("/b"), base.Mask("/c")
	if len(base.steps) != 1 || a.steps[1].paths[0] != "/b" || b.steps[1].paths[0] != "/c" {
		t.Errorf("%v, %v, %v", base, a, b)
	}
}

// Views of many calls at once mix nothing up.
func TestViewsConcurrently(t *testing.T) {
	h := serveTools(t, viewedTool())
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() { // ends with its call
			name := fmt.Sprintf("city-%d", i)
			c, err := h.sess.Open(&pb.Open{Tool: "v", CallId: name, Input: fmt.Appendf(nil, `{"city":%q}`, name), Views: both})
			if err != nil {
				t.Error(err)
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
			defer cancel()
			f, err := c.Recv(ctx)
			if got, want := flat(f.GetAsked().GetViews()), fmt.Sprintf("1 input \"D %s %s\"\n", name, name); err != nil || !strings.HasPrefix(got, want) {
				t.Errorf("asked %s, %v, want %s", got, err, want)
			}
			if err := c.Send(ctx, &pb.Frame{Body: &pb.Frame_Run{Run: &pb.Run{}}}); err != nil {
				t.Error(err)
			}
			f, err = c.Recv(ctx)
			if got, want := flat(f.GetOutput().GetDerived().GetViews()), fmt.Sprintf("1 output {\"D\":\"%s<sun\"}\n", name); err != nil || !strings.HasPrefix(got, want) {
				t.Errorf("output %s, %v, want %s", got, err, want)
			}
		})
	}
	group.Wait()
}
