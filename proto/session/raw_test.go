package session

import (
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// raw is an end of a stream that a test plays by hand.
type raw struct {
	t     testing.TB
	st    *memStream
	far   *memStream  // the session's end
	got   []*pb.Frame // received and not looked at
	nonce uint64
}

// rawPlugin is a host session whose plugin is played by the test.
func rawPlugin(t testing.TB, cfg Config) (*Session, *raw) {
	t.Helper()
	a, b := memPair()
	cfg.Side = Host
	s := New(a, cfg)
	r := &raw{t: t, st: b, far: a}
	t.Cleanup(func() { s.Close(); s.Wait() })
	greeted := make(chan error, 1)
	go func() { // ends with the welcome
		_, err := s.Hello(within(t), &pb.Hello{Versions: []uint32{1}})
		greeted <- err
	}()
	r.expect(kHello)
	r.send(frameOf(0, &pb.Frame_Welcome{Welcome: &pb.Welcome{Version: 1}}))
	if err := <-greeted; err != nil {
		t.Fatal(err)
	}
	return s, r
}

// rawHost is a plugin session whose host is played by the test.
func rawHost(t testing.TB, cfg Config, open func(*Call, *pb.Open)) (*Session, *raw) {
	t.Helper()
	a, b := memPair()
	cfg.Side, cfg.OnHello, cfg.OnOpen = Plugin, acceptHello, open
	s := New(a, cfg)
	r := &raw{t: t, st: b, far: a}
	t.Cleanup(func() { s.Close(); s.Wait() })
	r.send(frameOf(0, &pb.Frame_Hello{Hello: &pb.Hello{Versions: []uint32{1}}}))
	r.expect(kWelcome)
	return s, r
}

// hold makes the session's writer wait in Send, with a first call's open or a first log record in
// its hand, until release is called.
func (r *raw) hold(s *Session) (release func()) {
	r.t.Helper()
	release, entered := r.far.hold()
	if s.cfg.Side == Host {
		mustOpen(r.t, s, &pb.Open{Tool: "held"})
	} else {
		s.Log(0, &pb.Log{Message: "held"})
	}
	await(r.t, entered, "the writer")
	return release
}

// await waits for a signal.
func await(t testing.TB, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-within(t).Done():
		t.Fatalf("waited too long for %s", what)
	}
}

func (r *raw) send(frames ...*pb.Frame) {
	r.t.Helper()
	if err := r.st.Send(frames); err != nil {
		r.t.Fatal(err)
	}
}

// next is the next frame that the session sent.
func (r *raw) next() *pb.Frame {
	r.t.Helper()
	for len(r.got) == 0 {
		frames, err := r.st.Recv()
		if err != nil {
			r.t.Fatal(err)
		}
		r.got = frames
	}
	f := r.got[0]
	r.got = r.got[1:]
	return f
}

// expect is the next frame, which must be of kind k.
func (r *raw) expect(k kind) *pb.Frame {
	r.t.Helper()
	f := r.next()
	if kindOf(f) != k {
		r.t.Fatalf("got %v, want %v", f, k)
	}
	return f
}

// sync returns when the session has handled everything that was sent before, with the frames
// that it sent meanwhile.
func (r *raw) sync() []*pb.Frame {
	r.t.Helper()
	r.nonce++
	r.send(frameOf(0, &pb.Frame_Ping{Ping: &pb.Ping{Nonce: r.nonce}}))
	var seen []*pb.Frame
	for {
		f := r.next()
		if f.GetPong().GetNonce() == r.nonce {
			return seen
		}
		seen = append(seen, f)
	}
}

// cut sends f in chunks of n bytes that announce size.
func (r *raw) cut(f *pb.Frame, n, size int) {
	r.t.Helper()
	data, err := proto.Marshal(f)
	if err != nil {
		r.t.Fatal(err)
	}
	for at := 0; at < len(data); at += n {
		piece := &pb.Chunk{Data: data[at:min(at+n, len(data))], Last: at+n >= len(data)}
		if at == 0 {
			piece.Size = uint64(size)
		}
		r.send(&pb.Frame{Call: f.Call, Body: &pb.Frame_Chunk{Chunk: piece}})
	}
}

// frameOf is a frame of call with a body; body is one of the Frame_ wrappers.
func frameOf(call uint64, body any) *pb.Frame {
	f := &pb.Frame{Call: call}
	switch b := body.(type) {
	case *pb.Frame_Hello:
		f.Body = b
	case *pb.Frame_Welcome:
		f.Body = b
	case *pb.Frame_Ping:
		f.Body = b
	case *pb.Open:
		f.Body = &pb.Frame_Open{Open: b}
	case *pb.InputDelta:
		f.Body = &pb.Frame_InputDelta{InputDelta: b}
	case *pb.Input:
		f.Body = &pb.Frame_Input{Input: b}
	case *pb.Run:
		f.Body = &pb.Frame_Run{Run: b}
	case *pb.Resume:
		f.Body = &pb.Frame_Resume{Resume: b}
	case *pb.Answer:
		f.Body = &pb.Frame_Answer{Answer: b}
	case *pb.Accepted:
		f.Body = &pb.Frame_Accepted{Accepted: b}
	case *pb.Derive:
		f.Body = &pb.Frame_Derive{Derive: b}
	case *pb.Asked:
		f.Body = &pb.Frame_Asked{Asked: b}
	case *pb.Progress:
		f.Body = &pb.Frame_Progress{Progress: b}
	case *pb.Write:
		f.Body = &pb.Frame_Write{Write: b}
	case *pb.DeltaView:
		f.Body = &pb.Frame_DeltaView{DeltaView: b}
	case *pb.Span:
		f.Body = &pb.Frame_Span{Span: b}
	case *pb.Question:
		f.Body = &pb.Frame_Question{Question: b}
	case *pb.Suspended:
		f.Body = &pb.Frame_Suspended{Suspended: b}
	case *pb.Output:
		f.Body = &pb.Frame_Output{Output: b}
	case *pb.Failed:
		f.Body = &pb.Frame_Failed{Failed: b}
	case *pb.Derived:
		f.Body = &pb.Frame_Derived{Derived: b}
	case *pb.Closed:
		f.Body = &pb.Frame_Closed{Closed: b}
	case *pb.Cancel:
		f.Body = &pb.Frame_Cancel{Cancel: b}
	case *pb.Window:
		f.Body = &pb.Frame_Window{Window: b}
	case *pb.Log:
		f.Body = &pb.Frame_Log{Log: b}
	}
	return f
}

// mustOpen opens a call.
func mustOpen(t testing.TB, s *Session, open *pb.Open) *Call {
	t.Helper()
	c, err := s.Open(open)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mustSend sends frames with these bodies.
func mustSend(t testing.TB, c *Call, bodies ...any) {
	t.Helper()
	for _, b := range bodies {
		if err := c.Send(within(t), frameOf(0, b)); err != nil {
			t.Fatal(err)
		}
	}
}

// mustRecv receives a frame of kind k.
func mustRecv(t testing.TB, c *Call, k kind) *pb.Frame {
	t.Helper()
	f, err := c.Recv(within(t))
	if err != nil {
		t.Fatalf("waiting for %v: %v", k, err)
	}
	if kindOf(f) != k {
		t.Fatalf("got %v, want %v", f, k)
	}
	return f
}

// accepting returns an OnOpen that hands each call to the test.
func accepting() (func(*Call, *pb.Open), chan *Call) {
	calls := make(chan *Call, 1000)
	return func(c *Call, _ *pb.Open) { calls <- c }, calls
}
