package pluginsdk

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("PLUGINSDK_TEST_ROLE"); role != "" {
		runRole(role)
		return
	}
	goleak.VerifyTestMain(m)
}

const (
	testTimeout = time.Minute
	testLimit   = 1 << 20 // bytes of a frame; small, so that what is too large is quick to make
)

// host is a small host: the other end of a session.
type host struct {
	t       *testing.T
	cc      *grpc.ClientConn
	sess    *session.Session
	welcome *pb.Welcome
	changed chan struct{}

	mu   sync.Mutex
	logs []*pb.Log
}

// serveTools serves tools in this process and connects to them.
func serveTools(t *testing.T, tools ...Definition) *host {
	return serveBuild(t, static(tools), "")
}

func serveBuild(t *testing.T, build func(context.Context, *Registry) error, settings string) *host {
	t.Helper()
	cc := serveConn(t, build)
	return connect(t, cc, settings)
}

// serveConn serves build until the end of the test, when nothing of it may be left.
func serveConn(t *testing.T, build func(context.Context, *Registry) error) *grpc.ClientConn {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- ServeListenerFunc(ctx, l, build) }() // ends with ctx; joined by the cleanup
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("ServeListener: %v", err)
		}
	})
	return dial(t, func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) })
}

func dial(t *testing.T, to func(context.Context) (net.Conn, error)) *grpc.ClientConn {
	t.Helper()
	cc, err := grpc.NewClient("passthrough:plugin", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return to(ctx) }),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage+1<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cc.Close() })
	return cc
}

func connect(t *testing.T, cc *grpc.ClientConn, settings string) *host {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	t.Cleanup(cancel)
	stream, err := session.Connect(ctx, ctx, cc)
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, cc: cc, changed: make(chan struct{}, 16)}
	h.sess = session.New(stream, session.Config{
		Side:   session.Host,
		Limits: session.Limits{Message: testLimit},
		OnLog: func(_ uint64, rec *pb.Log) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.logs = append(h.logs, rec)
		},
		OnToolsChanged: func() { h.changed <- struct{}{} },
	})
	t.Cleanup(func() { h.sess.Close(); h.sess.Wait() })
	h.welcome, err = h.sess.Hello(ctx, &pb.Hello{Versions: []uint32{wire.Version}, Settings: []byte(settings)})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func describeOn(t *testing.T, cc *grpc.ClientConn, settings string) *pb.Manifest {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	res, err := pb.NewToolPluginServiceClient(cc).Describe(ctx, &pb.DescribeRequest{Settings: []byte(settings)})
	if err != nil {
		t.Fatal(err)
	}
	return res.GetManifest()
}

// logged returns the log so far as one line a record: message and attributes.
func (h *host) logged() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var lines []string
	for _, rec := range h.logs {
		lines = append(lines, rec.GetMessage()+" "+string(rec.GetAttributes()))
	}
	return lines
}

// hostCall is a call with the frames that came for it.
type hostCall struct {
	*session.Call
	t   *testing.T
	ctx context.Context
}

// open opens a call; input is nil for a call whose input follows.
func (h *host) open(tool, input string, edit ...func(*pb.Open)) *hostCall {
	h.t.Helper()
	o := &pb.Open{Tool: tool, CallId: "call-1", Run: input != ""}
	if input != "" {
		o.Input = []byte(input)
	}
	for _, e := range edit {
		e(o)
	}
	c, err := h.sess.Open(o)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	h.t.Cleanup(cancel)
	return &hostCall{c, h.t, ctx}
}

func (c *hostCall) send(body *pb.Frame) {
	c.t.Helper()
	if err := c.Send(c.ctx, body); err != nil {
		c.t.Fatal(err)
	}
}

func (c *hostCall) recv() *pb.Frame {
	c.t.Helper()
	f, err := c.Recv(c.ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	return f
}

// output is the call's output; the test fails if it has none.
func (c *hostCall) output() *pb.Output {
	c.t.Helper()
	f := c.recv()
	if f.GetOutput() == nil {
		c.t.Fatalf("got %v, want output", f)
	}
	return f.GetOutput()
}

func (c *hostCall) failed() *pb.Failed {
	c.t.Helper()
	f := c.recv()
	if f.GetFailed() == nil {
		c.t.Fatalf("got %v, want failed", f)
	}
	return f.GetFailed()
}

// closed waits for the end of the call.
func (c *hostCall) closed() {
	c.t.Helper()
	if f, err := c.Recv(c.ctx); !errors.Is(err, session.ErrClosed) {
		c.t.Fatalf("got %v, %v, want ErrClosed", f, err)
	}
}

func waitFor[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(testTimeout):
		t.Fatalf("no %s within %s", what, testTimeout)
		panic("unreachable")
	}
}

type nothing = struct{}

type city struct {
	City string `json:"city"`
}

// tool returns a valid tool around execute.
func newTool[In, Out any](id string, execute func(context.Context, *Call, In) (Out, error)) Tool[In, Out] {
	return Tool[In, Out]{ID: id, Description: "a tool of a test", Execute: execute}
}
