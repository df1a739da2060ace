package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// patience is how long a test waits for a signal before it fails.
const patience = time.Minute

// memStream is one end of an in-memory stream that encodes what it carries. A link holds
// one batch; a second Send waits, as on a transport whose window is used up.
type memStream struct {
	out, in *memLink
	gate    atomic.Pointer[gate]
}

// gate holds up Send.
type gate struct {
	entered, open chan struct{}
	once          sync.Once
}

type memLink struct {
	batches chan []byte
	closed  chan struct{}
	once    sync.Once
}

func newLink() *memLink {
	return &memLink{batches: make(chan []byte, 1), closed: make(chan struct{})}
}

func (l *memLink) close() { l.once.Do(func() { close(l.closed) }) }

func memPair() (host, plugin *memStream) {
	a, b := newLink(), newLink()
	return &memStream{out: a, in: b}, &memStream{out: b, in: a}
}

func (m *memStream) Send(frames []*pb.Frame) error {
	data, err := proto.Marshal(&pb.SessionRequest{Frames: frames})
	if err != nil {
		return err
	}
	return m.sendBytes(data)
}

// hold makes the next Sends wait until release is called; entered is closed when one does.
func (m *memStream) hold() (release func(), entered <-chan struct{}) {
	g := &gate{entered: make(chan struct{}), open: make(chan struct{})}
	m.gate.Store(g)
	return sync.OnceFunc(func() { m.gate.Store(nil); close(g.open) }), g.entered
}

func (m *memStream) sendBytes(data []byte) error {
	if g := m.gate.Load(); g != nil {
		g.once.Do(func() { close(g.entered) })
		select {
		case <-g.open:
		case <-m.out.closed:
		}
	}
	select {
	case <-m.out.closed:
		return io.EOF
	default:
	}
	select {
	case m.out.batches <- data:
		return nil
	case <-m.out.closed:
		return io.EOF
	}
}

func (m *memStream) Receive(receive func([]*pb.Frame)) error {
	for {
		frames, err := m.Recv()
		if err != nil {
			return err
		}
		receive(frames)
	}
}

func (m *memStream) Recv() ([]*pb.Frame, error) {
	select {
	case data := <-m.in.batches:
		return decodeMem(data)
	default:
	}
	select {
	case data := <-m.in.batches:
		return decodeMem(data)
	case <-m.in.closed:
		select {
		case data := <-m.in.batches:
			return decodeMem(data)
		default:
			return nil, io.EOF
		}
	}
}

func (m *memStream) Close() error {
	m.out.close()
	m.in.close()
	return nil
}

func decodeMem(data []byte) ([]*pb.Frame, error) {
	req := &pb.SessionRequest{}
	if err := proto.Unmarshal(data, req); err != nil {
		return nil, err
	}
	return req.GetFrames(), nil
}

// ends is a host and a plugin that talk to each other.
type ends struct {
	host, plugin *Session
}

// connect joins two sessions in memory and says hello. open handles calls in the plugin.
func connect(t testing.TB, hostCfg, pluginCfg Config, open func(*Call, *pb.Open)) ends {
	t.Helper()
	a, b := memPair()
	return connectOn(t, a, b, hostCfg, pluginCfg, open)
}

func connectOn(t testing.TB, a, b Stream, hostCfg, pluginCfg Config, open func(*Call, *pb.Open)) ends {
	t.Helper()
	hostCfg.Side, pluginCfg.Side = Host, Plugin
	pluginCfg.OnHello, pluginCfg.OnOpen = acceptHello, open
	e := ends{host: New(a, hostCfg), plugin: New(b, pluginCfg)}
	t.Cleanup(func() {
		e.host.Close()
		e.plugin.Close()
		e.host.Wait()
		e.plugin.Wait()
	})
	if _, err := e.host.Hello(within(t), &pb.Hello{Versions: []uint32{1}}); err != nil {
		t.Fatal(err)
	}
	return e
}

func acceptHello(*pb.Hello) *pb.Welcome { return &pb.Welcome{Version: 1, Sdk: "test"} }

// within is a context that ends when a test has waited too long.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("waited too long"))
	t.Cleanup(cancel)
	return ctx
}

// rpcServer serves one session a stream with cfg, as the SDK does.
type rpcServer struct {
	pb.UnimplementedToolPluginServiceServer
	cfg      Config
	sessions chan *Session
}

func (r *rpcServer) Session(st grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]) error {
	s := New(ServerStream(st), r.cfg)
	r.sessions <- s
	<-s.Done()
	return nil
}

// dialRPC joins two sessions over gRPC on a loopback socket.
func dialRPC(t testing.TB, hostCfg, pluginCfg Config, open func(*Call, *pb.Open)) ends {
	t.Helper()
	hostCfg.Side, pluginCfg.Side = Host, Plugin
	pluginCfg.OnHello, pluginCfg.OnOpen = acceptHello, open
	l, err := net.Listen("unix", fmt.Sprintf("%s/s", t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	r := &rpcServer{cfg: pluginCfg, sessions: make(chan *Session, 1)}
	server := grpc.NewServer()
	pb.RegisterToolPluginServiceServer(server, r)
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(l) }) // ends by server.Stop
	conn, err := grpc.NewClient("passthrough:///"+l.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return net.Dial("unix", l.Addr().String()) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(MaxBatch)))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := Connect(context.Background(), within(t), conn)
	if err != nil {
		t.Fatal(err)
	}
	return r.join(t, stream, hostCfg, func() {
		_ = conn.Close()
		server.Stop()
		served.Wait()
	})
}

// join is the host's session on stream, with the plugin's. over runs when both have ended.
func (r *rpcServer) join(t testing.TB, stream Stream, hostCfg Config, over func()) ends {
	t.Helper()
	e := ends{host: New(stream, hostCfg)}
	if _, err := e.host.Hello(within(t), &pb.Hello{Versions: []uint32{1}}); err != nil {
		t.Fatal(err)
	}
	e.plugin = <-r.sessions
	t.Cleanup(func() {
		e.host.Close()
		e.host.Wait()
		e.plugin.Wait()
		over()
	})
	return e
}
