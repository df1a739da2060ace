package session

import (
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Unknown frames are ignored on both sides, whole and in chunks, on calls and on the connection.
func TestUnknownFrames(t *testing.T) {
	grease := func(call uint64, n int) *pb.Frame {
		data := protowire.AppendTag(nil, 1, protowire.VarintType)
		data = protowire.AppendVarint(data, call)
		data = protowire.AppendTag(data, 5000, protowire.BytesType)
		data = protowire.AppendBytes(data, make([]byte, n))
		f := &pb.Frame{}
		if err := proto.Unmarshal(data, f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	play := func(r *raw, call uint64) {
		for _, id := range []uint64{0, call, 1 << 40} {
			r.send(grease(id, 10))
		}
		for _, id := range []uint64{0, call} {
			f := grease(id, 40_000)
			r.cut(f, 16<<10, proto.Size(f))
		}
	}
	t.Run("host", func(t *testing.T) {
		s, r := rawPlugin(t, Config{})
		c := mustOpen(t, s, &pb.Open{Run: true})
		play(r, c.ID())
		r.send(frameOf(c.ID(), &pb.Output{Closed: true}))
		mustRecv(t, c, kOutput)
		if st := s.Stats(); st.Unknown != 5 || st.Violations != 0 {
			t.Errorf("%+v", st)
		}
	})
	t.Run("plugin", func(t *testing.T) {
		open, calls := accepting()
		s, r := rawHost(t, Config{}, open)
		r.send(frameOf(1, &pb.Open{}))
		p := <-calls
		play(r, 1)
		r.send(frameOf(1, &pb.Input{}))
		mustRecv(t, p, kInput)
		if st := s.Stats(); st.Unknown != 5 || st.Violations != 0 {
			t.Errorf("%+v", st)
		}
	})
}

// walk is the bodies that lead a call to each state, by direction.
var walk = []struct {
	state  string
	host   []any
	plugin []any
}{
	{"OPEN", []any{&pb.Open{Streaming: true}}, nil},
	{"INPUT", []any{&pb.Open{Streaming: true}, &pb.InputDelta{Data: []byte("{")}}, nil},
	{"READY", []any{&pb.Open{Input: []byte("{}")}}, nil},
	{"ASKED", []any{&pb.Open{Input: []byte("{}"), Ask: true}}, []any{&pb.Asked{Needed: true}}},
	{"ASKED", []any{&pb.Open{Input: []byte("{}"), Views: []pb.Audience{1}}}, []any{&pb.Asked{}}},
	{"RUNNING", []any{&pb.Open{Input: []byte("{}"), Run: true}}, nil},
	{"OUTPUT", []any{&pb.Open{Run: true, Confirm: true}}, []any{&pb.Output{}}},
	{"DERIVING", []any{&pb.Open{Run: true, Confirm: true}, &pb.Derive{}}, []any{&pb.Output{}}},
	{"ENDED", []any{&pb.Open{Run: true}}, []any{&pb.Suspended{}}},
}

// cloned are copies: a session owns what it was given to send.
func cloned(bodies []any) []any {
	var copies []any
	for _, b := range bodies {
		copies = append(copies, proto.Clone(b.(proto.Message)))
	}
	return copies
}

// The plugin's death at every state: what came before is received, then ErrEnded with the cause.
func TestPluginDiesAtEveryState(t *testing.T) {
	for _, tt := range walk {
		t.Run(tt.state, func(t *testing.T) {
			s, r := rawPlugin(t, Config{})
			c := mustOpen(t, s, cloned(tt.host)[0].(*pb.Open))
			r.expect(kOpen)
			for _, b := range tt.plugin {
				r.send(frameOf(c.ID(), b))
			}
			r.sync()
			mustSend(t, c, cloned(tt.host[1:])...)
			if got := c.state().String(); got != tt.state {
				t.Errorf("in state %s", got)
			}
			if err := r.st.Close(); err != nil {
				t.Fatal(err)
			}
			<-s.Done()
			for _, b := range tt.plugin {
				mustRecv(t, c, kindOf(frameOf(0, b)))
			}
			if f, err := c.Recv(within(t)); !errors.Is(err, ErrEnded) {
				t.Errorf("received %v, %v", f, err)
			}
			if err := c.Send(within(t), frameOf(0, &pb.Run{})); !errors.Is(err, ErrEnded) {
				t.Errorf("sent: %v", err)
			}
			if _, err := s.Open(&pb.Open{}); !errors.Is(err, ErrEnded) {
				t.Errorf("opened: %v", err)
			}
			if err := s.Ping(within(t)); !errors.Is(err, ErrEnded) {
				t.Errorf("ping: %v", err)
			}
			if s.Active() != 0 || !errors.Is(s.Err(), ErrEnded) {
				t.Errorf("%d active, %v", s.Active(), s.Err())
			}
		})
	}
}

// The host's death at every state: the author's context ends, and so does everything else.
func TestHostDiesAtEveryState(t *testing.T) {
	for _, tt := range walk {
		t.Run(tt.state, func(t *testing.T) {
			open, calls := accepting()
			s, r := rawHost(t, Config{}, open)
			r.send(frameOf(1, tt.host[0]))
			p := <-calls
			ctx := p.Context()
			mustSend(t, p, cloned(tt.plugin)...)
			for _, b := range tt.host[1:] {
				r.send(frameOf(1, b))
			}
			r.sync()
			if got := p.state().String(); got != tt.state {
				t.Errorf("in state %s", got)
			}
			if err := r.st.Close(); err != nil {
				t.Fatal(err)
			}
			<-s.Done()
			await(t, ctx.Done(), "the author's context")
			for _, b := range tt.host[1:] {
				mustRecv(t, p, kindOf(frameOf(0, b)))
			}
			if f, err := p.Recv(within(t)); !errors.Is(err, ErrEnded) {
				t.Errorf("received %v, %v", f, err)
			}
			if err := p.Send(within(t), frameOf(0, &pb.Failed{})); !errors.Is(err, ErrEnded) {
				t.Errorf("sent: %v", err)
			}
			p.Close()
			if s.Log(1, &pb.Log{}) != 0 {
				t.Error("a log record was taken")
			}
		})
	}
}

// A host whose Send fails still receives what the plugin sent before it died.
func TestOutputBeforeDeathIsReceived(t *testing.T) {
	s, r := rawPlugin(t, Config{})
	c := mustOpen(t, s, &pb.Open{Run: true})
	r.expect(kOpen)
	r.send(frameOf(c.ID(), &pb.Output{Closed: true})) // in the link, perhaps not read yet
	r.far.out.close()                                 // Send fails with io.EOF from now on
	mustOpen(t, s, &pb.Open{})
	mustRecv(t, c, kOutput)
	r.st.out.close()
	<-s.Done()
	if !errors.Is(s.Err(), ErrEnded) || errors.Is(s.Err(), io.EOF) {
		t.Error(s.Err())
	}
}

// Frames that the state forbids are dropped and counted; the call goes on.
func TestViolationsOfThePlugin(t *testing.T) {
	for name, bodies := range map[string][]any{
		"output before run":  {&pb.Output{Closed: true}},
		"asked unasked":      {&pb.Asked{}},
		"view of no delta":   {&pb.DeltaView{Audience: 1}},
		"derived":            {&pb.Derived{}},
		"host's frames":      {&pb.Open{}, &pb.Run{}, &pb.Input{}, &pb.InputDelta{}, &pb.Cancel{}},
		"window not owed":    {&pb.Window{Bytes: 1}},
		"large window":       {&pb.Window{Bytes: 1<<64 - 1}},
		"frame not cut":      {&pb.Progress{Message: string(make([]byte, 20_000))}},
		"too many questions": questions(maxQuestions + 1)[maxQuestions:],
	} {
		t.Run(name, func(t *testing.T) {
			s, r := rawPlugin(t, Config{Limits: Limits{Window: 1000}})
			c := mustOpen(t, s, &pb.Open{Streaming: true})
			r.expect(kOpen)
			want := uint64(len(bodies))
			if name == "too many questions" {
				for _, q := range questions(maxQuestions) {
					r.send(frameOf(c.ID(), q))
				}
			}
			for _, b := range bodies {
				r.send(frameOf(c.ID(), b))
			}
			r.sync()
			if got := s.Stats().Violations; got != want {
				t.Errorf("%d violations, want %d", got, want)
			}
			mustSend(t, c, &pb.Input{Run: true})
			r.send(frameOf(c.ID(), &pb.Output{Closed: true}))
			r.sync()
			if s.Active() != 0 || s.Err() != nil {
				t.Errorf("%d active, %v", s.Active(), s.Err())
			}
		})
	}
}

func questions(n int) []any {
	qs := make([]any, n)
	for i := range qs {
		qs[i] = &pb.Question{Id: uint32(i + 1)}
	}
	return qs
}

// A peer that overruns its credit: the frame is dropped and counted.
func TestCreditOverrun(t *testing.T) {
	s, r := rawPlugin(t, Config{Limits: Limits{Window: 1000}})
	c := mustOpen(t, s, &pb.Open{Run: true})
	r.expect(kOpen)
	for range 12 { // 100 bytes and 32 each: 7 fit into 1000
		r.send(frameOf(c.ID(), &pb.Write{Data: make([]byte, 100)}))
	}
	r.sync()
	if n := s.Stats().Violations; n != 5 {
		t.Errorf("%d violations", n)
	}
	for range 7 {
		mustRecv(t, c, kWrite)
	}
	if w := r.expect(kWindow).GetWindow().GetBytes(); w != 4*132 {
		t.Errorf("%d bytes were returned", w)
	}
	if left := r.sync(); len(left) != 0 {
		t.Errorf("got %v", left)
	}
}

// Ids: a call's id is never used twice, and frames for a call that is over are stray.
func TestIdsAreNeverReused(t *testing.T) {
	open, calls := accepting()
	s, r := rawHost(t, Config{}, open)
	r.send(frameOf(5, &pb.Open{Run: true}))
	p := <-calls
	mustSend(t, p, &pb.Output{Closed: true})
	r.expect(kOutput)
	r.send(frameOf(5, &pb.Open{Run: true}), frameOf(3, &pb.Open{Run: true}), frameOf(5, &pb.Run{}), frameOf(9, &pb.Run{}))
	if got := r.sync(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if st := s.Stats(); st.Violations != 2 || st.Stray != 2 || len(calls) != 0 {
		t.Errorf("%+v, %d calls", st, len(calls))
	}
}

// A call whose open is cut is refused if the open is not usable, and its cancel is answered.
func TestCutOpen(t *testing.T) {
	open, calls := accepting()
	s, r := rawHost(t, Config{Limits: Limits{Message: 100_000}}, open)
	big := frameOf(1, &pb.Open{Input: make([]byte, 50_000)})
	r.cut(big, 10_000, proto.Size(big))
	<-calls
	for id, size := range map[uint64]int{2: 100_001} {
		r.cut(frameOf(id, &pb.Open{Input: make([]byte, 50_000)}), 10_000, size)
		if f := r.expect(kClosed); f.GetCall() != id {
			t.Errorf("closed call %d", f.GetCall())
		}
	}
	r.send(&pb.Frame{Call: 3, Body: &pb.Frame_Chunk{Chunk: &pb.Chunk{Data: []byte("x"), Size: 1000}}}, frameOf(3, &pb.Cancel{}))
	if f := r.expect(kClosed); f.GetCall() != 3 {
		t.Errorf("closed call %d", f.GetCall())
	}
	other := frameOf(4, &pb.Input{Input: make([]byte, 50_000)})
	r.cut(other, 50_100, proto.Size(other))
	if f := r.expect(kClosed); f.GetCall() != 4 {
		t.Errorf("closed call %d", f.GetCall())
	}
	if n := s.Active(); n != 1 {
		t.Errorf("%d calls are active", n)
	}
}

// A cancel that crosses an outcome in chunks frees the id in the host.
func TestCancelCrossesCutOutcome(t *testing.T) {
	s, r := rawPlugin(t, Config{})
	c := mustOpen(t, s, &pb.Open{Run: true})
	r.expect(kOpen)
	f := frameOf(c.ID(), &pb.Output{Output: make([]byte, 50_000), Closed: true})
	c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
	r.cut(f, 16<<10, proto.Size(f))
	r.expect(kCancel)
	r.send(frameOf(c.ID(), &pb.Closed{})) // the answer to a cancel of a freed id
	r.sync()
	if n := s.Active(); n != 0 {
		t.Errorf("%d calls are active", n)
	}

	plugin, host := rawHost(t, Config{}, echo)
	host.send(frameOf(1, &pb.Open{Run: true}))
	host.expect(kOutput)
	host.send(frameOf(1, &pb.Cancel{}))
	host.expect(kClosed)
	if st := plugin.Stats(); st.Violations != 0 {
		t.Errorf("%+v", st)
	}
}

// Connection frames out of place are violations and nothing else.
func TestConnectionRules(t *testing.T) {
	open, _ := accepting()
	s, r := rawHost(t, Config{}, open)
	r.send(frameOf(0, &pb.Frame_Hello{Hello: &pb.Hello{}}), frameOf(0, &pb.Frame_Welcome{Welcome: &pb.Welcome{}}),
		frameOf(3, &pb.Frame_Ping{Ping: &pb.Ping{}}), frameOf(0, &pb.Open{}), frameOf(0, &pb.Cancel{}), frameOf(0, &pb.Log{}))
	if got := r.sync(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if st := s.Stats(); st.Violations != 6 {
		t.Errorf("%+v", st)
	}
	a, _ := memPair()
	fresh := New(a, Config{Side: Host})
	defer fresh.Wait()
	defer fresh.Close()
	var state *StateError
	if _, err := fresh.Open(&pb.Open{}); !errors.As(err, &state) {
		t.Errorf("opened before the welcome: %v", err)
	}
}

// After drain the host opens no call; the plugin still takes one that drain has overtaken.
func TestDrain(t *testing.T) {
	a, b := memPair()
	open, calls := accepting()
	drained := make(chan time.Duration, 1)
	e := connectOn(t, a, b, Config{}, Config{OnDrain: func(d time.Duration) { drained <- d }}, open)
	release, entered := a.hold()
	mustOpen(t, e.host, &pb.Open{})
	await(t, entered, "the writer")
	mustOpen(t, e.host, &pb.Open{})
	e.host.Drain(time.Second)
	var state *StateError
	if _, err := e.host.Open(&pb.Open{}); !errors.As(err, &state) || state.State != "DRAINING" {
		t.Errorf("got %v", err)
	}
	release()
	if d := <-drained; d != time.Second {
		t.Errorf("drain in %v", d)
	}
	<-calls
	<-calls
	if st := e.plugin.Stats(); st.Violations != 0 {
		t.Errorf("%+v", st)
	}
}

// tools_changed reaches the host; those that wait are one.
func TestToolsChanged(t *testing.T) {
	a, b := memPair()
	changed := make(chan struct{}, 10)
	e := connectOn(t, a, b, Config{OnToolsChanged: func() { changed <- struct{}{} }}, Config{}, func(*Call, *pb.Open) {})
	release, entered := b.hold()
	e.plugin.Log(0, &pb.Log{})
	await(t, entered, "the writer")
	for range 10 {
		e.plugin.ToolsChanged()
	}
	release()
	settle(t, e)
	if n := len(changed); n != 1 {
		t.Errorf("told %d times", n)
	}
}

// H3: what credit does not count does not wait: unknown fields of a credited frame are dropped on receipt.
func TestH3_UnknownFieldsOfCreditedFramesAreNotKept(t *testing.T) {
	s, r := rawPlugin(t, Config{})
	c := mustOpen(t, s, &pb.Open{Run: true})
	f := frameOf(c.ID(), &pb.Write{Data: []byte("1")})
	extra := protowire.AppendTag(nil, 5000, protowire.BytesType)
	extra = protowire.AppendBytes(extra, make([]byte, 50_000))
	f.ProtoReflect().SetUnknown(extra)
	f.GetWrite().ProtoReflect().SetUnknown(extra)
	r.cut(f, 16<<10, proto.Size(f))
	got := mustRecv(t, c, kWrite)
	if n := proto.Size(got); n > 100 {
		t.Errorf("%d bytes were kept of a write of 1", n)
	}
}
