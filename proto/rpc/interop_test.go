package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// oneListener yields one connection.
type oneListener struct {
	nc   chan net.Conn
	addr net.Addr
	once sync.Once
	done chan struct{}
}

func listenOne(nc net.Conn) *oneListener {
	l := &oneListener{nc: make(chan net.Conn, 1), addr: nc.LocalAddr(), done: make(chan struct{})}
	l.nc <- nc
	return l
}

func (l *oneListener) Accept() (net.Conn, error) {
	select {
	case nc := <-l.nc:
		return nc, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *oneListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *oneListener) Addr() net.Addr { return l.addr }

// serveGRPC serves nc with grpc-go until the test ends.
func serveGRPC(t testing.TB, nc net.Conn, i *impl, opts ...grpc.ServerOption) *grpc.Server {
	t.Helper()
	s := grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(limit))...)
	s.RegisterService(service(i).Desc, i)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listenOne(nc)) }() // ends with Stop; joined by the cleanup
	t.Cleanup(func() { s.Stop(); <-served })
	return s
}

// dialGRPC connects grpc-go's client until the test ends.
func dialGRPC(t testing.TB, nc net.Conn) *grpc.ClientConn {
	t.Helper()
	first := make(chan net.Conn, 1)
	first <- nc
	cc, err := grpc.NewClient("passthrough:///peer", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			select {
			case nc := <-first:
				return nc, nil
			default:
				return nil, errors.New("there is one connection only")
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cc.Close() })
	return cc
}

// pairing is who speaks with whom.
type pairing struct {
	name  string
	start func(t *testing.T, client, server net.Conn, i *impl) grpc.ClientConnInterface
}

var pairings = []pairing{
	{"ours with ours", func(t *testing.T, client, server net.Conn, i *impl) grpc.ClientConnInterface {
		serve(t, server, i)
		return dial(t, client)
	}},
	{"client with grpc-go", func(t *testing.T, client, server net.Conn, i *impl) grpc.ClientConnInterface {
		serveGRPC(t, server, i)
		return dial(t, client)
	}},
	{"server with grpc-go", func(t *testing.T, client, server net.Conn, i *impl) grpc.ClientConnInterface {
		serve(t, server, i)
		return dialGRPC(t, client)
	}},
}

// TestInterop: both ends do with grpc-go what they do with each other, and the connection outlives every call.
func TestInterop(t *testing.T) {
	for _, p := range pairings {
		t.Run(p.name, func(t *testing.T) {
			client, server := join(t)
			i := newImpl()
			interop(t, p.start(t, client, server, i), i)
		})
	}
}

func interop(t *testing.T, cc grpc.ClientConnInterface, i *impl) {
	for name, f := range map[string]func(*testing.T, grpc.ClientConnInterface, *impl){
		"sizes": sizes, "status": statuses, "M1 limits": limits, "bidi": bidi, "pour": pour, "deadline": deadline,
		"cancel": cancel, "early end": earlyEnd, "many": many,
	} {
		t.Run(name, func(t *testing.T) {
			f(t, cc, i)
			if got, err := do(within(t), cc, "echo", []byte("still there")); err != nil || string(got) != "still there" {
				t.Errorf("afterwards: %q, %v", got, err)
			}
		})
	}
}

func filled(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

// sizes: messages of no bytes, and about and far over frames and windows.
func sizes(t *testing.T, cc grpc.ClientConnInterface, _ *impl) {
	for _, n := range []int{0, 1, 127, 16384 - 5, 16384, 65535 - 5, 65536, 256 << 10, 1<<20 + 1, limit - 10} {
		if got, err := do(within(t), cc, "echo", filled(n), grpc.MaxCallRecvMsgSize(limit)); err != nil || !bytes.Equal(got, filled(n)) {
			t.Errorf("%d bytes: got %d, %v", n, len(got), err)
		}
	}
}

func statuses(t *testing.T, cc grpc.ClientConnInterface, _ *impl) {
	for _, text := range []string{"plain", "läuft nicht: 100 % ☃\n\ttab", "%41%", ""} {
		_, err := do(within(t), cc, "echo", []byte("fail "+text))
		wantCode(t, err, codes.NotFound)
		if want := "rpc error: code = NotFound desc = " + text; err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	_, err := do(within(t), cc, "nothing", nil)
	wantCode(t, err, codes.Unimplemented)
}

// limits: what is too large is refused by whoever is asked to take it, and says so.
func limits(t *testing.T, cc grpc.ClientConnInterface, _ *impl) {
	_, err := do(within(t), cc, "echo", filled(limit+1))
	wantCode(t, err, codes.ResourceExhausted, fmt.Sprint(limit))
	_, err = do(within(t), cc, "echo", filled(1001), grpc.MaxCallRecvMsgSize(1000))
	wantCode(t, err, codes.ResourceExhausted, "1000")
	st := open(t, within(t), cc, "chat")
	_ = st.SendMsg(wrapperspb.Bytes(filled(limit + 1))) // the status says it
	wantCode(t, st.RecvMsg(&wrapperspb.BytesValue{}), codes.ResourceExhausted)
}

func bidi(t *testing.T, cc grpc.ClientConnInterface, _ *impl) {
	st := open(t, within(t), cc, "chat")
	var m wrapperspb.BytesValue
	for n := range 100 {
		b := filled(n * n * 10)
		if err := st.SendMsg(wrapperspb.Bytes(b)); err != nil {
			t.Fatal(err)
		}
		if err := st.RecvMsg(&m); err != nil || !bytes.Equal(m.GetValue(), b) {
			t.Fatalf("message %d: got %d bytes of %d, %v", n, len(m.GetValue()), len(b), err)
		}
	}
	if err := st.CloseSend(); err != nil {
		t.Error(err)
	}
	if err := st.RecvMsg(&m); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// pour: many messages that nobody takes at first wait for the windows.
func pour(t *testing.T, cc grpc.ClientConnInterface, _ *impl) {
	st := open(t, within(t), cc, "pour")
	if _, err := do(within(t), cc, "echo", []byte("beside")); err != nil {
		t.Error(err)
	}
	var m wrapperspb.BytesValue
	for n := range 64 {
		if err := st.RecvMsg(&m); err != nil || len(m.GetValue()) != 256<<10 || m.GetValue()[0] != byte(n) {
			t.Fatalf("message %d: %d bytes, %v", n, len(m.GetValue()), err)
		}
	}
	if err := st.RecvMsg(&m); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func deadline(t *testing.T, cc grpc.ClientConnInterface, i *impl) {
	ctx, cancel := context.WithTimeout(within(t), time.Second) // enough for the handler to begin
	defer cancel()
	_, err := do(ctx, cc, "wait", nil)
	wantCode(t, err, codes.DeadlineExceeded)
	<-i.began
	if err := await(t, i.ended, "end of the handler"); err == nil { // by whichever of both clocks
		t.Error("its context did not end")
	}
}

func cancel(t *testing.T, cc grpc.ClientConnInterface, i *impl) {
	ctx, cancel := context.WithCancel(within(t))
	failed := make(chan error, 1)
	go func() { _, err := do(ctx, cc, "wait", nil); failed <- err }() // ends with ctx; joined below
	await(t, i.began, "handler")
	cancel()
	wantCode(t, await(t, failed, "end of the call"), codes.Canceled)
	if err := await(t, i.ended, "end of the handler"); !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context: %v", err)
	}
	ctx, cancel = context.WithCancel(within(t))
	st := open(t, ctx, cc, "hang")
	await(t, i.began, "handler")
	cancel()
	wantCode(t, st.RecvMsg(&wrapperspb.BytesValue{}), codes.Canceled)
	await(t, i.ended, "end of the handler")
}

// earlyEnd: a handler that ends before its requests do ends their sender's wait, for room too.
func earlyEnd(t *testing.T, cc grpc.ClientConnInterface, i *impl) {
	st := open(t, within(t), cc, "deaf")
	for n := 0; ; n++ {
		if err := st.SendMsg(wrapperspb.Bytes(filled(64 << 10))); err == io.EOF {
			break
		} else if err != nil || n > 1000 {
			t.Fatalf("message %d: %v", n, err)
		}
	}
	wantCode(t, st.RecvMsg(&wrapperspb.BytesValue{}), codes.Aborted, "not today")
}

// many: more calls than one connection takes at once.
func many(t *testing.T, cc grpc.ClientConnInterface, i *impl) {
	ctx := within(t)
	var group sync.WaitGroup
	for n := range 300 {
		group.Go(func() {
			b := filled(n * 100)
			if got, err := do(ctx, cc, "echo", b); err != nil || !bytes.Equal(got, b) {
				t.Errorf("call %d: %d bytes, %v", n, len(got), err)
			}
		})
	}
	group.Wait()
}

// TestGracefulStop: calls in flight at a server's goodbye have their answer, new ones are not begun, and the client learns of the end.
func TestGracefulStop(t *testing.T) {
	for _, p := range pairings[:2] {
		t.Run(p.name, func(t *testing.T) {
			client, server := join(t)
			i := newImpl()
			var stop func()
			if p.name == pairings[0].name {
				s := serve(t, server, i)
				stop = func() { s.Shutdown(within(t)) }
			} else {
				stop = serveGRPC(t, server, i).GracefulStop
			}
			c := dial(t, client)
			st := open(t, within(t), c, "chat")
			if err := st.SendMsg(wrapperspb.Bytes([]byte("before"))); err != nil {
				t.Fatal(err)
			}
			var m wrapperspb.BytesValue
			if err := st.RecvMsg(&m); err != nil {
				t.Fatal(err)
			}
			stopped := make(chan struct{})
			go func() { stop(); close(stopped) }() // ends when the stream does; joined below
			for {                                  // until the goodbye is there
				_, err := do(within(t), c, "echo", nil)
				if err != nil {
					wantCode(t, err, codes.Unavailable)
					break
				}
			}
			if err := st.SendMsg(wrapperspb.Bytes([]byte("after"))); err != nil {
				t.Error(err)
			}
			if err := st.RecvMsg(&m); err != nil || string(m.GetValue()) != "after" {
				t.Errorf("after the goodbye: %q, %v", m.GetValue(), err)
			}
			_ = st.CloseSend()
			if err := st.RecvMsg(&m); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
			await(t, stopped, "end of the server")
			await(t, c.Done(), "end of the connection")
		})
	}
}

// TestShutdownWithGRPC: the same with grpc-go's client, which gets an answer that is written while the server ends.
func TestShutdownWithGRPC(t *testing.T) {
	client, server := join(t)
	i := newImpl()
	s := serve(t, server, i)
	cc := dialGRPC(t, client)
	st := open(t, within(t), cc, "chat")
	if err := st.SendMsg(wrapperspb.Bytes(filled(1 << 20))); err != nil {
		t.Fatal(err)
	}
	if err := st.CloseSend(); err != nil {
		t.Fatal(err)
	}
	var m wrapperspb.BytesValue
	err := st.RecvMsg(&m)
	s.Shutdown(within(t))
	if err != nil || len(m.GetValue()) != 1<<20 {
		t.Errorf("got %d bytes, %v", len(m.GetValue()), err)
	}
	if err := st.RecvMsg(&m); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	await(t, s.Done(), "end of the connection")
}

// TestM6_Keepalive: a server's pings are answered while nothing else happens, so the connection lives.
func TestM6_Keepalive(t *testing.T) {
	t.Parallel()
	client, server := join(t)
	serveGRPC(t, server, newImpl(), grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Second, Timeout: 5 * time.Second}))
	c := dial(t, client)
	select {
	case <-c.Done():
		t.Error("the connection ended")
	case <-time.After(8 * time.Second): // more than Time and Timeout
	}
	if _, err := do(within(t), c, "echo", nil); err != nil {
		t.Error(err)
	}
}
