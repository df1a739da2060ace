package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// A whole call with everything in it arrives in the order in which it was sent, on both sides, in
// memory, over gRPC and over package rpc.
func TestCallOrder(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		open, calls := accepting()
		testCallOrder(t, connect(t, Config{}, Config{}, open), calls)
	})
	t.Run("grpc", func(t *testing.T) {
		open, calls := accepting()
		testCallOrder(t, dialRPC(t, Config{}, Config{}, open), calls)
	})
	t.Run("direct", func(t *testing.T) {
		open, calls := accepting()
		testCallOrder(t, dialDirect(t, Config{}, Config{}, open), calls)
	})
}

func testCallOrder(t *testing.T, e ends, calls chan *Call) {
	c := mustOpen(t, e.host, &pb.Open{Tool: "t", Streaming: true, Ask: true, Confirm: true, Answers: true})
	p := <-calls
	mustSend(t, c, &pb.InputDelta{Data: []byte(`{"a`)})
	mustRecv(t, p, kInputDelta)
	mustSend(t, c, &pb.InputDelta{Data: []byte(`":1}`)}, &pb.Input{Input: []byte(`{"a":1}`)})
	mustRecv(t, p, kInputDelta)
	mustRecv(t, p, kInput)
	mustSend(t, p, &pb.Asked{Needed: true})
	mustRecv(t, c, kAsked)
	if c.Started() {
		t.Error("started before run")
	}
	mustSend(t, c, &pb.Run{})
	mustRecv(t, p, kRun)
	if !c.Started() {
		t.Error("run was received, but the call has not started")
	}
	mustSend(t, p, &pb.Write{Data: []byte("1")}, &pb.Progress{Progress: 1}, &pb.Span{Name: "s"}, &pb.Question{Id: 1})
	for _, k := range []kind{kWrite, kProgress, kSpan, kQuestion} {
		mustRecv(t, c, k)
	}
	mustSend(t, c, &pb.Answer{Id: 1, Action: pb.AnswerAction_ANSWER_ACTION_DECLINE})
	mustRecv(t, p, kAnswer)
	mustSend(t, p, &pb.Output{Output: []byte("2")})
	mustRecv(t, c, kOutput)
	mustSend(t, c, &pb.Derive{Output: []byte("3"), Model: true})
	mustRecv(t, p, kDerive)
	mustSend(t, p, &pb.Derived{Model: []byte("4")})
	mustRecv(t, c, kDerived)
	mustSend(t, c, &pb.Accepted{Final: true})
	mustRecv(t, p, kAccepted)
	p.Close()
	if _, err := c.Recv(within(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("after closed: %v", err)
	}
	if n := e.host.Active(); n != 0 {
		t.Errorf("%d calls are active", n)
	}
	for _, s := range []*Session{e.host, e.plugin} {
		if st := s.Stats(); st.Violations+st.Stray+st.Unknown > 0 {
			t.Errorf("%+v", st)
		}
	}
}

// A call without streaming is one message each way (design section 4).
func TestSmallCallIsOneFrameEachWay(t *testing.T) {
	e := connect(t, Config{}, Config{}, echo)
	before := e.host.Stats()
	if err := echoOnce(e.host, []byte(`{}`)); err != nil {
		t.Fatal(err)
	}
	after := e.host.Stats()
	if out, in := after.FramesOut-before.FramesOut, after.FramesIn-before.FramesIn; out != 1 || in != 1 {
		t.Errorf("%d frames out, %d frames in", out, in)
	}
}

// Exactly one outcome: the plugin's end refuses a second one, and the host's drops it.
func TestOutcomeExactlyOnce(t *testing.T) {
	outcomes := map[string]func() any{
		"output":    func() any { return &pb.Output{} },
		"failed":    func() any { return &pb.Failed{} },
		"suspended": func() any { return &pb.Suspended{} },
	}
	for first, a := range outcomes {
		for second, b := range outcomes {
			t.Run(first+"/"+second, func(t *testing.T) {
				open, calls := accepting()
				_, r := rawHost(t, Config{}, open)
				r.send(frameOf(1, &pb.Open{Run: true}))
				p := <-calls
				mustSend(t, p, a())
				var state *StateError
				if err := p.Send(within(t), frameOf(0, b())); !errors.As(err, &state) {
					t.Errorf("a second outcome was sent: %v", err)
				}

				s, peer := rawPlugin(t, Config{})
				c := mustOpen(t, s, &pb.Open{Run: true})
				peer.expect(kOpen)
				peer.send(frameOf(c.ID(), a()), frameOf(c.ID(), b()), frameOf(c.ID(), &pb.Closed{}))
				f, err := c.Recv(within(t))
				if err != nil || kindOf(f).String() != first {
					t.Errorf("got %v, %v", f, err)
				}
				if f, err := c.Recv(within(t)); !errors.Is(err, ErrClosed) {
					t.Errorf("got %v, %v", f, err)
				}
				if n := s.Stats().Violations; n != 1 {
					t.Errorf("%d violations", n)
				}
			})
		}
	}
}

// A cancel reaches the author's context, nothing is delivered later, and the call counts until the
// plugin has closed it.
func TestCancel(t *testing.T) {
	open, calls := accepting()
	e := connect(t, Config{}, Config{}, open)
	c := mustOpen(t, e.host, &pb.Open{Run: true})
	p := <-calls
	ctx := p.Context()
	mustSend(t, p, &pb.Write{Data: []byte("early")})
	if err := e.plugin.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	c.Cancel(pb.CancelReason_CANCEL_REASON_DENIED, "no")
	select {
	case <-ctx.Done():
	case <-within(t).Done():
		t.Fatal("the context was not cancelled")
	}
	var cancel *CancelError
	if err := context.Cause(ctx); !errors.As(err, &cancel) || cancel.Message != "no" || !errors.Is(err, context.Canceled) {
		t.Errorf("cause: %v", err)
	}
	if f, err := c.Recv(within(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("received %v, %v", f, err)
	}
	if err := c.Send(within(t), frameOf(0, &pb.Run{})); !errors.Is(err, ErrClosed) {
		t.Errorf("sent: %v", err)
	}
	if _, err := p.Recv(within(t)); !errors.As(err, &cancel) {
		t.Errorf("the plugin received: %v", err)
	}
	if n := e.host.Active(); n != 1 {
		t.Errorf("%d calls are active", n)
	}
	if err := p.Send(within(t), frameOf(0, &pb.Failed{Closed: true})); !errors.As(err, &cancel) {
		t.Errorf("outcome after cancel: %v", err)
	}
	settle(t, e)
	if n := e.host.Active(); n != 0 {
		t.Errorf("%d calls are active after closed", n)
	}
}

// settle returns when each end has handled what the other had queued.
func settle(t testing.TB, e ends) {
	t.Helper()
	for range 2 {
		for _, s := range []*Session{e.plugin, e.host} {
			if err := s.Flush(within(t)); err != nil {
				t.Fatal(err)
			}
			if err := s.Ping(within(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// An open that was not sent is taken back: the plugin hears nothing, and the call has not started.
func TestCancelUnsent(t *testing.T) {
	s, r := rawPlugin(t, Config{})
	release := r.hold(s)
	c := mustOpen(t, s, &pb.Open{Tool: "secret", Run: true})
	c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
	if c.Started() {
		t.Error("started")
	}
	if n := s.Active(); n != 1 {
		t.Errorf("%d calls are active, want the one that was held", n)
	}
	release()
	seen := append(r.sync(), r.sync()...) // the first pong passes what waits
	if f := seen[0]; f.GetOpen().GetTool() != "held" {
		t.Errorf("first was %v", f)
	}
	for _, f := range seen {
		if f.GetCall() == c.ID() {
			t.Errorf("the plugin was sent %v", f)
		}
	}
}

// The deadline of open ends the author's context with a timeout.
func TestDeadline(t *testing.T) {
	open, calls := accepting()
	e := connect(t, Config{}, Config{}, open)
	c := mustOpen(t, e.host, &pb.Open{Run: true, TimeoutNs: uint64(5 * time.Millisecond)})
	p := <-calls
	ctx := p.Context()
	if _, ok := ctx.Deadline(); !ok {
		t.Error("the context has no deadline")
	}
	select {
	case <-ctx.Done():
	case <-within(t).Done():
		t.Fatal("no timeout")
	}
	var cancel *CancelError
	err := context.Cause(ctx)
	if !errors.As(err, &cancel) || cancel.Reason != pb.CancelReason_CANCEL_REASON_TIMEOUT || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cause: %v", err)
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("err: %v", ctx.Err())
	}
	mustSend(t, p, &pb.Failed{Kind: pb.FailureKind_FAILURE_KIND_CANCELED, Closed: true})
	mustRecv(t, c, kFailed)
}

// A caller's own deadline ends Recv and a blocked Send, and nothing else.
func TestContextOfCaller(t *testing.T) {
	s, _ := rawPlugin(t, Config{})
	c := mustOpen(t, s, &pb.Open{Run: true})
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("gone")
	cancel(cause)
	if _, err := c.Recv(ctx); !errors.Is(err, cause) {
		t.Errorf("Recv: %v", err)
	}
	if s.Err() != nil {
		t.Error(s.Err())
	}
}

// Close in the host cancels a call that has no outcome, and one that waits to be confirmed.
func TestHostClose(t *testing.T) {
	for _, tt := range []struct {
		name string
		open *pb.Open
		send any
		want []kind
	}{
		{"no outcome", &pb.Open{Run: true}, nil, []kind{kCancel}},
		{"unconfirmed", &pb.Open{Run: true, Confirm: true}, &pb.Output{}, []kind{kCancel}},
		{"outcome", &pb.Open{Run: true}, &pb.Output{}, nil},
		{"failed", &pb.Open{Run: true, Confirm: true}, &pb.Failed{}, nil},
		{"closed", &pb.Open{Run: true}, &pb.Output{Closed: true}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, r := rawPlugin(t, Config{})
			c := mustOpen(t, s, tt.open)
			r.expect(kOpen)
			if tt.send != nil {
				r.send(frameOf(c.ID(), tt.send))
				r.sync()
			}
			c.Close()
			c.Close()
			var got []kind
			for _, f := range r.sync() {
				got = append(got, kindOf(f))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			r.send(frameOf(c.ID(), &pb.Closed{}))
			r.sync()
			if n := s.Active(); n != 0 {
				t.Errorf("%d calls are active", n)
			}
		})
	}
}
