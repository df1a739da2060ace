package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

const (
	display    = pb.Audience_AUDIENCE_DISPLAY
	transcript = pb.Audience_AUDIENCE_TRANSCRIPT
)

func bothViews() []pb.Audience { return []pb.Audience{display, transcript} }

// Whether asked comes before run, for every way to open a call.
func TestAskedComesBeforeRun(t *testing.T) {
	resume := &pb.Resume{Data: []byte("1")}
	for _, tt := range []struct {
		name  string
		open  *pb.Open
		state string // after open
		asked bool   // asked may come, and run must wait for it
	}{
		{"plain", &pb.Open{Input: []byte("{}")}, "READY", false},
		{"ask", &pb.Open{Input: []byte("{}"), Ask: true}, "READY", true},
		{"views", &pb.Open{Input: []byte("{}"), Views: bothViews()}, "READY", true},
		{"views, run", &pb.Open{Input: []byte("{}"), Views: bothViews(), Run: true}, "RUNNING", false},
		{"resume", &pb.Open{Input: []byte("{}"), Resume: resume}, "RUNNING", false},
		{"resume, views", &pb.Open{Input: []byte("{}"), Resume: resume, Views: bothViews()}, "READY", true},
		{"resume, ask", &pb.Open{Input: []byte("{}"), Resume: resume, Ask: true}, "READY", true},
		{"resume, views, run", &pb.Open{Input: []byte("{}"), Resume: resume, Views: bothViews(), Run: true}, "RUNNING", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			open, calls := accepting()
			e := connect(t, Config{}, Config{}, open)
			c := mustOpen(t, e.host, tt.open)
			p := <-calls
			if a, b := c.state().String(), p.state().String(); a != tt.state || b != tt.state {
				t.Fatalf("the host is in %s, the plugin in %s, want %s", a, b, tt.state)
			}
			settle(t, e)
			if started := c.Started(); started != (tt.state == "RUNNING") {
				t.Errorf("started: %t", started)
			}
			var state *StateError
			if tt.asked {
				if err := c.Send(within(t), frameOf(0, &pb.Run{})); !errors.As(err, &state) {
					t.Errorf("run before asked: %v", err)
				}
				mustSend(t, p, &pb.Asked{Views: []*pb.DerivedView{{Audience: display, Value: fill(1, 100_000)}}})
				if got := mustRecv(t, c, kAsked).GetAsked().GetViews()[0].GetValue(); !bytes.Equal(got, fill(1, 100_000)) {
					t.Error("the view has changed")
				}
			}
			if err := p.Send(within(t), frameOf(0, &pb.Asked{})); !errors.As(err, &state) {
				t.Errorf("one asked too many: %v", err)
			}
			if tt.state == "READY" {
				mustSend(t, c, &pb.Run{})
				mustRecv(t, p, kRun)
			}
			mustSend(t, p, &pb.Output{Closed: true})
			mustRecv(t, c, kOutput)
			for _, s := range []*Session{e.host, e.plugin} {
				if st := s.Stats(); st.Violations+st.Stray > 0 {
					t.Errorf("%+v", st)
				}
			}
		})
	}
	// An input that runs at once needs no asked for views, but for ask.
	open, calls := accepting()
	e := connect(t, Config{}, Config{}, open)
	c := mustOpen(t, e.host, &pb.Open{Views: bothViews()})
	p := <-calls
	mustSend(t, c, &pb.Input{Input: []byte("{}"), Run: true})
	mustRecv(t, p, kInput)
	mustSend(t, p, &pb.Output{Closed: true})
	mustRecv(t, c, kOutput)
	c = mustOpen(t, e.host, &pb.Open{Views: bothViews(), Ask: true})
	if err := c.Send(within(t), frameOf(0, &pb.Input{Run: true})); !errors.As(err, new(*StateError)) {
		t.Errorf("input with run: %v", err)
	}
	if _, err := e.host.Open(&pb.Open{Run: true, Ask: true}); !errors.As(err, new(*StateError)) {
		t.Errorf("run and ask: %v", err)
	}
}

// One delta_view for each input_delta and audience that was asked for: not before, not after, and also
// when the whole input has overtaken the author.
func TestDeltaViews(t *testing.T) {
	open, calls := accepting()
	e := connect(t, Config{}, Config{}, open)
	c := mustOpen(t, e.host, &pb.Open{Streaming: true, Views: bothViews()})
	p := <-calls
	view := func(a pb.Audience, text string) *pb.DeltaView { return &pb.DeltaView{Audience: a, Text: []byte(text)} }
	refused := func(v *pb.DeltaView) {
		t.Helper()
		if err := p.Send(within(t), frameOf(0, v)); !errors.As(err, new(*StateError)) {
			t.Errorf("%v was sent: %v", v, err)
		}
	}
	refused(view(display, "early"))
	mustSend(t, c, &pb.InputDelta{Data: []byte(`{"a"`)})
	mustRecv(t, p, kInputDelta)
	mustSend(t, p, view(display, "1"))
	refused(view(display, "twice"))
	refused(view(0, "nobody"))
	refused(view(-1, "nobody"))
	refused(view(3, "nobody"))
	mustSend(t, c, &pb.InputDelta{Data: []byte(`:1}`)}, &pb.Input{Input: []byte(`{"a":1}`)})
	settle(t, e)
	mustSend(t, p, view(transcript, "2"), view(transcript, "3"), view(display, "4"))
	refused(view(transcript, "more than deltas"))
	for _, want := range []string{"1", "2", "3", "4"} {
		if got := mustRecv(t, c, kDeltaView).GetDeltaView(); string(got.GetText()) != want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
	mustSend(t, p, &pb.Asked{})
	refused(view(display, "late"))
	mustRecv(t, c, kAsked)
	for _, s := range []*Session{e.host, e.plugin} {
		if st := s.Stats(); st.Violations+st.Stray > 0 {
			t.Errorf("%+v", st)
		}
	}
}

// A plugin that breaks these rules: the host drops the frames and counts them.
func TestDeltaViewsUnasked(t *testing.T) {
	s, r := rawPlugin(t, Config{})
	c := mustOpen(t, s, &pb.Open{Streaming: true, Views: []pb.Audience{display, display, 9, -1}})
	r.expect(kOpen)
	early := &pb.DeltaView{Audience: display}
	r.send(frameOf(c.ID(), early))
	mustSend(t, c, &pb.InputDelta{Data: []byte("{")})
	r.expect(kInputDelta)
	for _, a := range []pb.Audience{display, display, transcript, 0, 9, -1} {
		r.send(frameOf(c.ID(), &pb.DeltaView{Audience: a}))
	}
	r.sync()
	if n := s.Stats().Violations; n != 6 {
		t.Errorf("%d violations, want all but one view", n)
	}
	mustRecv(t, c, kDeltaView)
	c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
	r.expect(kCancel)
	r.send(frameOf(c.ID(), &pb.Closed{}))
	r.sync()
}

// A host that takes no delta_view stops the plugin after a window of them, and M4 stops the sender of
// the deltas in turn. Once it takes them, all come, in order.
func TestM4_DeltaViewsAreCredited(t *testing.T) {
	open, calls := accepting()
	limits := Limits{Window: 1000}
	e := connect(t, Config{Limits: limits}, Config{Limits: limits}, open)
	c := mustOpen(t, e.host, &pb.Open{Streaming: true, Views: bothViews()})
	p := <-calls
	plugged := make(chan error, 1)
	go func() { // ends with the input
		for i := 0; ; {
			f, err := p.Recv(context.Background())
			if err != nil || f.GetInput() != nil {
				plugged <- err
				return
			}
			for _, a := range bothViews() {
				text := fmt.Appendf(nil, "%d:%d bytes%300s", i, len(f.GetInputDelta().GetData()), "")
				if err := p.Send(context.Background(), frameOf(0, &pb.DeltaView{Audience: a, Text: text})); err != nil {
					plugged <- err
					return
				}
				i++
			}
		}
	}()
	sent := make(chan error, 1)
	go func() { // ends with the input
		for range 2000 {
			if err := c.Send(context.Background(), frameOf(0, &pb.InputDelta{Data: fill(1, 320)})); err != nil {
				sent <- err
				return
			}
		}
		sent <- c.Send(context.Background(), frameOf(0, &pb.Input{}))
	}()
	waitBlocked(t, p, nil)
	waitBlocked(t, c, nil)
	bytesSeen := 0
	for i := 0; bytesSeen < 2*2000*320; i++ {
		var at, n int
		text := string(mustRecv(t, c, kDeltaView).GetDeltaView().GetText())
		if _, err := fmt.Sscanf(text, "%d:%d bytes", &at, &n); err != nil || at != i {
			t.Fatalf("view %d: %q, %v", i, text, err)
		}
		bytesSeen += n
	}
	if err := errors.Join(<-sent, <-plugged); err != nil {
		t.Error(err)
	}
	if v := e.host.Stats().Violations + e.plugin.Stats().Violations; v != 0 {
		t.Errorf("%d violations", v)
	}
}
