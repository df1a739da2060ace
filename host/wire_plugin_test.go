//go:build unix

package host_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// wirePlugin is a plugin that speaks the wire by hand, without the SDK, and goes wrong where it is told to: the word
// after "wire:" in TEST_PLUGIN.
type wirePlugin struct {
	pb.UnimplementedToolPluginServiceServer
	evil string // what it does wrong; empty: nothing
	arg  string // what stands after the second colon
	conn net.Conn

	drained chan struct{} // closed when it was told to

	answered []string // of one that asks: the answers so far
}

// wired is this test binary as such a plugin.
func wired(name, evil string) host.Plugin { return self(name, "wire:"+evil) }

// serveOther is the plugin of a word with an argument: "wire:EVIL" speaks the wire by hand on the inherited connection,
// "listen:SOCKET" is the plugin "more" that listens and can be attached to, "listen wire:SOCKET:EVIL" the first one that
// listens.
func serveOther(word string) bool {
	kind, arg, _ := strings.Cut(word, ":")
	switch kind {
	case "wire":
		serveWire(arg)
	case "h2":
		serveH2(arg)
	case "late":
		serveLate(arg)
	case "listen":
		l := listenAt(arg)
		if err := pluginsdk.ServeListener(context.Background(), l, moreTools()...); err != nil {
			panic(err)
		}
	case "listen wire":
		path, evil, _ := strings.Cut(arg, ":")
		l := listenAt(path)
		s := grpc.NewServer()
		pb.RegisterToolPluginServiceServer(s, &wirePlugin{evil: evil, drained: make(chan struct{})})
		_ = s.Serve(l) // ends with the process
	default:
		return false
	}
	return true
}

// listenAt listens at a path that is there only once it does.
func listenAt(path string) net.Listener {
	l, err := net.Listen("unix", path+".new")
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		panic(err)
	}
	return l
}

// serveWire serves the inherited connection until the lifeline ends.
func serveWire(kind string) {
	p := &wirePlugin{drained: make(chan struct{})}
	p.evil, p.arg, _ = strings.Cut(kind, ":")
	f := os.NewFile(wire.ConnFD, "conn")
	conn, err := net.FileConn(f)
	if err != nil {
		panic(err)
	}
	f.Close()
	p.conn = conn
	p.at("fork")
	switch p.evil {
	case "no handshake":
		p.linger()
	case "no connection":
		fmt.Println("1|1|unix|/x|grpc")
		p.linger()
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(2<<30))
	pb.RegisterToolPluginServiceServer(s, p)
	go func() { // ends with the process
		if p.evil == "stops at" && strings.HasPrefix(p.arg, "handshake:") {
			return
		}
		_ = s.Serve(&once{conn: conn, wait: make(chan struct{})})
	}()
	fmt.Println("1|1|unix|/x|grpc")
	p.at("handshake")
	p.linger()
}

// at is the end of a plugin that "stops at" a stage: it says so on stderr and adds a line to a file, and waits to be killed. arg: the
// stage, a colon and the file.
func (p *wirePlugin) at(stage string) {
	at, file, _ := strings.Cut(p.arg, ":")
	if !strings.HasPrefix(p.evil, "stops ") || at != stage {
		return
	}
	fmt.Fprintln(os.Stderr, "stopped at", stage)
	if note(file) == 1 || p.evil == "stops at" { // the other one "stops once at"
		select {}
	}
}

// linger waits for the end of the lifeline, and ends.
func (p *wirePlugin) linger() {
	if p.evil == "needs time" { // to end, from the drain on; arg: milliseconds
		signal.Ignore(syscall.SIGTERM)
		<-p.drained
		_, _ = os.Stdin.Read(make([]byte, 1))
		n, _ := strconv.Atoi(p.arg)
		time.Sleep(time.Duration(n) * time.Millisecond)
		fmt.Fprintln(os.Stderr, "ended by plan")
		os.Exit(0)
	}
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// once is a listener with one connection.
type once struct {
	conn net.Conn
	wait chan struct{}
}

func (l *once) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.wait
	return nil, net.ErrClosed
}
func (l *once) Close() error   { return nil }
func (l *once) Addr() net.Addr { return &net.UnixAddr{Name: "inherited", Net: "unix"} }

// manifest has the one tool "do".
func (p *wirePlugin) manifest() *pb.Manifest {
	m := &pb.Manifest{Role: pb.Role_ROLE_TOOLS, Sdk: "by hand", Tools: []*pb.Tool{{Id: "do", Description: "a tool of a test"}}}
	if p.evil == "huge manifest" {
		for i := range 40 {
			m.Tools = append(m.Tools, &pb.Tool{Id: fmt.Sprint("t", i), Description: strings.Repeat("x", 1<<20)})
		}
	}
	if p.evil == "many parts" { // two million tools of two bytes each
		m.ProtoReflect().SetUnknown(bytes.Repeat([]byte{4<<3 | byte(protowire.BytesType), 0}, 2_000_000))
	}
	return m
}

func (p *wirePlugin) hash() []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(p.manifest())
	if err != nil {
		panic(err)
	}
	h := sha256.Sum256(b)
	return h[:]
}

// Describe goes wrong where it is told to.
func (p *wirePlugin) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	p.at("describe")
	switch p.evil {
	case "describe hangs":
		select {} // an answer after the deadline could still be the first to arrive
	case "describe crashes": // arg: a file that each process adds a line to; after the time that the callers need to come
		if p.arg != "" {
			note(p.arg)
		}
		time.Sleep(300 * time.Millisecond)
		fmt.Fprintln(os.Stderr, "the licence has run out")
		os.Exit(9)
	case "describe once": // arg: a file; only the first process hangs
		if note(p.arg) == 1 {
			select {}
		}
	case "describe floods":
		for line := []byte(strings.Repeat("f", 32<<10)); ctx.Err() == nil; {
			os.Stdout.Write(line)
			os.Stderr.Write(line)
		}
	case "describe forks":
		for range 20 { // deaf and in a session of its own, with every descriptor
			cmd := exec.Command("sleep", fmt.Sprint("4", os.Getppid()))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Start(); err != nil {
				panic(err)
			}
		}
		<-ctx.Done()
		return nil, ctx.Err() // a manifest could be just in time
	case "spy":
		return p.spy()
	case "describe fails":
		return nil, errors.New("no tools today")
	}
	return &pb.DescribeResponse{Manifest: p.manifest()}, nil
}

// spy describes itself only if it sees nothing of the host.
func (p *wirePlugin) spy() (*pb.DescribeResponse, error) {
	if os.Getenv("SECRET_OF_THE_HOST") != "" {
		return nil, errors.New("it sees the host's environment")
	}
	if _, err := os.Open("/dev/tty"); err == nil {
		return nil, errors.New("it has a terminal")
	}
	return &pb.DescribeResponse{Manifest: p.manifest()}, nil
}

// note adds a line to a file and counts them.
func note(file string) int {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, os.Getpid())
	f.Close()
	b, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	return strings.Count(string(b), "\n")
}

// Session answers hello, pings and calls of the tool "do".
func (p *wirePlugin) Session(stream grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]) error {
	if p.evil == "session ends" {
		return nil
	}
	send := func(call uint64, bodies ...*pb.Frame) error {
		for _, f := range bodies {
			f.Call = call
		}
		return stream.Send(&pb.SessionResponse{Frames: bodies})
	}
	for {
		req, err := stream.Recv()
		if err != nil {
			return err
		}
		for _, f := range req.GetFrames() {
			if err := p.answer(f, send); err != nil {
				return err
			}
		}
	}
}

func (p *wirePlugin) answer(f *pb.Frame, send func(uint64, ...*pb.Frame) error) error {
	switch b := f.GetBody().(type) {
	case *pb.Frame_Hello:
		p.at("hello")
		if p.evil == "no welcome" {
			return nil
		}
		w := &pb.Welcome{Version: wire.Version, Sdk: "by hand", ManifestHash: p.hash()}
		if p.evil == "version" {
			w.Version = 2
		}
		return send(0, &pb.Frame{Body: &pb.Frame_Welcome{Welcome: w}})
	case *pb.Frame_Ping:
		if p.evil == "no pong" {
			return nil
		}
		return send(0, &pb.Frame{Body: &pb.Frame_Pong{Pong: &pb.Pong{Nonce: b.Ping.GetNonce()}}})
	case *pb.Frame_Drain:
		fmt.Fprintln(os.Stderr, "drain within", time.Duration(b.Drain.GetDeadlineNs()))
		select {
		case <-p.drained:
		default:
			close(p.drained)
		}
	case *pb.Frame_Open:
		return p.call(f.GetCall(), send)
	case *pb.Frame_Answer:
		p.answered = append(p.answered, fmt.Sprint(b.Answer.GetId(), " ", b.Answer.GetAction()))
		if len(p.answered) == len(strangeQuestions()) {
			slices.Sort(p.answered)
			return send(f.GetCall(), &pb.Frame{Body: &pb.Frame_Output{Output: &pb.Output{Output: fmt.Appendf(nil, "%q", strings.Join(p.answered, ", ")), Closed: true}}})
		}
	}
	return nil
}

// call is one call of "do".
func (p *wirePlugin) call(id uint64, send func(uint64, ...*pb.Frame) error) error {
	switch p.evil {
	case "announces": // arg: bytes
		n, _ := strconv.ParseUint(p.arg, 10, 64)
		return send(id, &pb.Frame{Body: &pb.Frame_Chunk{Chunk: &pb.Chunk{Size: n, Data: make([]byte, 1000)}}})
	case "sends", "hoards": // arg: bytes of a frame, all of them sent, or all but the last piece
		n, _ := strconv.Atoi(p.arg)
		for at, piece := 0, 16<<10; at < n; at += piece {
			if p.evil == "hoards" && at+piece >= n {
				break
			}
			c := &pb.Chunk{Data: make([]byte, min(piece, n-at)), Last: at+piece >= n}
			if at == 0 {
				c.Size = uint64(n)
			}
			if err := send(id, &pb.Frame{Body: &pb.Frame_Chunk{Chunk: c}}); err != nil {
				return err
			}
		}
		return nil
	case "message": // arg: bytes of one gRPC message
		n, _ := strconv.Atoi(p.arg)
		return send(id, &pb.Frame{Body: &pb.Frame_Output{Output: &pb.Output{Output: make([]byte, n), Closed: true}}})
	case "asks":
		var frames []*pb.Frame
		for i, q := range strangeQuestions() {
			q.Id = uint32(i + 1)
			frames = append(frames, &pb.Frame{Body: &pb.Frame_Question{Question: q}})
		}
		return send(id, frames...)
	case "breaks": // the connection, and lives
		return p.conn.Close()
	}
	return send(id, &pb.Frame{Body: &pb.Frame_Output{Output: &pb.Output{Output: fmt.Appendf(nil, "%d", os.Getpid()), Closed: true}}})
}

// strangeQuestions are those of a plugin that is older than kinds, newer than this host, or wrong.
func strangeQuestions() []*pb.Question {
	return []*pb.Question{
		{Message: "old"},
		{Message: "newer", Kind: 99},
		{Message: "wrong", Kind: pb.QuestionKind_QUESTION_KIND_SAMPLING, Params: []byte(`[1]`)},
		{Message: "broken", Kind: pb.QuestionKind_QUESTION_KIND_ROOTS, Params: []byte(`{"a":`)},
		{Message: "a crowd", Kind: pb.QuestionKind_QUESTION_KIND_ROOTS, Together: 1 << 31},
	}
}
