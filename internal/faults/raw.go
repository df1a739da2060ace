//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"math"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// raw is a plugin that speaks toolplugin.v1 by hand, to be able to break its rules. The zero value keeps them:
// it has one tool, and every call of it is answered.
type raw struct {
	describe func(*pb.Manifest)               // changes what Describe answers
	welcome  func(*pb.Welcome)                // changes the answer to hello
	call     func(*link, *pb.Frame)           // answers a call
	session  func(*link, *pb.Frame) (on bool) // is called with every frame, before anything else; false ends the session
	deaf     func()                           // in place of the wait for the end
}

// wired is a fault that needs the wire.
func wired(name, does string, r raw) fault {
	return fault{name: name, does: does, main: func(string) {
		if underHost(name, does) {
			r.serve(name, does)
		}
	}}
}

// serve prints the handshake, serves the inherited connection and returns when the host goes away.
func (r raw) serve(name, does string) {
	s := &server{raw: r, manifest: manifest(name, does)}
	if r.describe != nil {
		r.describe(s.manifest)
	}
	file := os.NewFile(wire.ConnFD, "host")
	conn, err := net.FileConn(file)
	if err != nil {
		panic(err)
	}
	file.Close()
	s.conn = conn
	g := grpc.NewServer(grpc.MaxRecvMsgSize(wire.MaxMessage+1<<20), grpc.MaxSendMsgSize(math.MaxInt32)) // it may send as much as it likes
	pb.RegisterToolPluginServiceServer(g, s)
	os.Stdout.WriteString(handshake)
	l := oneConn{make(chan net.Conn, 1)}
	l.next <- conn
	go func() { _ = g.Serve(l) }() // ends with the process
	if r.deaf != nil {
		r.deaf()
	}
	awaitEnd()
}

// manifest is the honest one.
func manifest(name, does string) *pb.Manifest {
	yes := true
	return &pb.Manifest{Role: pb.Role_ROLE_TOOLS, Sdk: "evil/1", Tools: []*pb.Tool{{
		Id: name, Description: "It " + does + ".", InputSchema: []byte(`{"type":"object"}`),
		OutputSchema: []byte(`{"type":"object","properties":{"did":{"type":"string"}},"required":["did"],"additionalProperties":false}`),
		Annotations:  &pb.Annotations{ReadOnlyHint: &yes, IdempotentHint: &yes},
	}}}
}

// server is the gRPC service.
type server struct {
	pb.UnimplementedToolPluginServiceServer
	raw
	manifest *pb.Manifest
	conn     net.Conn
}

func (s *server) Describe(_ context.Context, _ *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return &pb.DescribeResponse{Manifest: s.manifest}, nil
}

// link is one session.
type link struct {
	stream grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]
	server *server
}

func (s *server) Session(stream grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]) error {
	l := &link{stream, s}
	for {
		batch, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, f := range batch.GetFrames() {
			if s.raw.session != nil && !s.raw.session(l, f) {
				return nil
			}
			l.receive(f)
		}
	}
}

// receive is what a plugin that keeps the rules does.
func (l *link) receive(f *pb.Frame) {
	switch b := f.GetBody().(type) {
	case *pb.Frame_Hello:
		w := &pb.Welcome{Version: wire.Version, Sdk: l.server.manifest.GetSdk(), ManifestHash: hash(l.server.manifest)}
		if l.server.welcome != nil {
			l.server.welcome(w)
		}
		l.send(&pb.Frame{Body: &pb.Frame_Welcome{Welcome: w}})
	case *pb.Frame_Ping:
		l.send(&pb.Frame{Body: &pb.Frame_Pong{Pong: &pb.Pong{Nonce: b.Ping.GetNonce()}}})
	case *pb.Frame_Cancel:
		l.send(&pb.Frame{Call: f.GetCall(), Body: &pb.Frame_Closed{Closed: &pb.Closed{}}})
	case *pb.Frame_Open:
		if l.server.call != nil {
			l.server.call(l, f)
			return
		}
		l.output(f.GetCall(), `{"did":"answered"}`, true)
	}
}

// output answers a call.
func (l *link) output(call uint64, text string, closed bool) {
	l.send(&pb.Frame{Call: call, Body: &pb.Frame_Output{Output: &pb.Output{Output: []byte(text), Closed: closed}}})
}

// send sends; when the host is gone, the next Recv says so.
func (l *link) send(frames ...*pb.Frame) { _ = l.stream.Send(&pb.SessionResponse{Frames: frames}) }

func hash(m *pb.Manifest) []byte {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(raw)
	return sum[:]
}

// oneConn is a listener with one connection.
type oneConn struct{ next chan net.Conn }

func (l oneConn) Accept() (net.Conn, error) { return <-l.next, nil }
func (l oneConn) Close() error              { return nil }
func (l oneConn) Addr() net.Addr            { return &net.UnixAddr{Name: "inherited", Net: "unix"} }
