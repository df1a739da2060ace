package session

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/proto/rpc"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// dialDirect joins two sessions over package rpc, as host and SDK do.
func dialDirect(t testing.TB, hostCfg, pluginCfg Config, open func(*Call, *pb.Open)) ends {
	t.Helper()
	hostCfg.Side, pluginCfg.Side = Host, Plugin
	pluginCfg.OnHello, pluginCfg.OnOpen = acceptHello, open
	a, b := net.Pipe()
	r := &rpcServer{cfg: pluginCfg, sessions: make(chan *Session, 1)}
	server := rpc.Serve(b, rpc.Service{Desc: &pb.ToolPluginService_ServiceDesc, Impl: r, MaxMessage: MaxBatch})
	client, err := rpc.Dial(within(t), a, MaxBatch)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := Connect(context.Background(), within(t), client, grpc.MaxCallRecvMsgSize(MaxBatch))
	if err != nil {
		t.Fatal(err)
	}
	return r.join(t, stream, hostCfg, func() {
		server.Shutdown(within(t))
		_ = client.Close()
		client.Wait()
	})
}

// tryStream is a stream that counts who sends on it.
type tryStream struct {
	*memStream
	full, broken atomic.Bool
	tried, sent  atomic.Int64
}

func (s *tryStream) TrySend(frames []*pb.Frame) (bool, error) {
	switch {
	case s.broken.Load():
		return false, io.EOF
	case s.full.Load():
		return false, nil
	}
	s.tried.Add(1)
	return true, s.memStream.Send(frames)
}

func (s *tryStream) Send(frames []*pb.Frame) error {
	s.sent.Add(1)
	return s.memStream.Send(frames)
}

// A call that is alone is sent by who makes it, unless there is no room: then it is the writer's, as are calls beside another one.
func TestDirect_WhoIsAloneSendsItself(t *testing.T) {
	a, b := memPair()
	try := &tryStream{memStream: a}
	hold := make(chan struct{})
	e := connectOn(t, try, b, Config{}, Config{}, func(c *Call, open *pb.Open) {
		if open.GetTool() == "hold" {
			go func() { // ends with the test
				<-hold
				_ = c.Send(context.Background(), outputFrame(nil))
			}()
			return
		}
		echo(c, open)
	})
	defer close(hold)
	call := func(tried, sent int64) {
		t.Helper()
		if err := e.host.Flush(within(t)); err != nil { // the writer has nothing to do
			t.Fatal(err)
		}
		beforeTried, beforeSent := try.tried.Load(), try.sent.Load()
		if err := echoOnce(e.host, []byte(`{"a":1}`)); err != nil {
			t.Fatal(err)
		}
		if n := try.tried.Load() - beforeTried; n != tried {
			t.Errorf("%d batches were sent by the caller, want %d", n, tried)
		}
		if n := try.sent.Load() - beforeSent; n != sent {
			t.Errorf("%d batches were sent by the writer, want %d", n, sent)
		}
	}
	call(1, 0)
	try.full.Store(true)
	call(0, 1)
	try.full.Store(false)
	call(1, 0)
	mustOpen(t, e.host, &pb.Open{Tool: "hold", Run: true})
	call(0, 1)
	if s := e.host.Stats(); s.Violations > 0 {
		t.Errorf("%+v", s)
	}
}

// A stream that breaks under the caller is the writer's failure: the host's session goes on until the stream has ended.
func TestDirect_ABreakIsTheWriters(t *testing.T) {
	a, b := memPair()
	try := &tryStream{memStream: a}
	e := connectOn(t, try, b, Config{}, Config{}, echo)
	if err := e.host.Flush(within(t)); err != nil {
		t.Fatal(err)
	}
	try.broken.Store(true)
	c := mustOpen(t, e.host, &pb.Open{Run: true})
	if err := e.host.Err(); err != nil {
		t.Errorf("the session ended before its stream: %v", err)
	}
	_ = b.Close()
	if _, err := c.Recv(within(t)); err == nil {
		t.Error("a call over a broken stream had an answer")
	}
}

// fed is a direct stream that the test feeds.
type fed struct {
	direct
	receive chan func([]byte)
	end     func(error)
}

func (f *fed) Feed(receive func([]byte), end func(error)) {
	f.end = end
	f.receive <- receive
}

// Nothing that comes after a message that cannot be decoded is received, also once the reader has heard of it.
func TestDirect_NothingAfterWhatIsBroken(t *testing.T) {
	f := &fed{receive: make(chan func([]byte), 1)}
	broken := make(chan error)
	batches := 0
	go func() { broken <- (&directStream{to: f}).Receive(func([]*pb.Frame) { batches++ }) }() // ends with the broken message
	receive := <-f.receive
	receive(nil)
	receive([]byte{0xff})
	if err := <-broken; err == nil {
		t.Error("no error")
	}
	receive(nil)
	receive([]byte{0xff})
	f.end(io.EOF)
	if batches != 1 {
		t.Errorf("%d batches were received, want 1", batches)
	}
}
