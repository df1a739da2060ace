package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// No test may leave a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// within is a context for what ends soon unless something hangs.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// join returns both ends of a connection.
func join(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return a, b
}

// impl is what every server of these tests serves. Its channels have room for what one test sends to them.
type impl struct {
	began chan struct{} // a handler that waits has begun
	ended chan error    // why its context ended
}

func newImpl() *impl { return &impl{make(chan struct{}, 1000), make(chan error, 1000)} }

// echo returns its request, or fails as that says.
func (i *impl) echo(_ context.Context, b []byte) ([]byte, error) {
	if text, ok := strings.CutPrefix(string(b), "fail "); ok {
		return nil, status.Error(codes.NotFound, text)
	}
	return b, nil
}

// wait waits for the end of its context.
func (i *impl) wait(ctx context.Context, _ []byte) ([]byte, error) {
	i.began <- struct{}{}
	<-ctx.Done()
	i.ended <- ctx.Err()
	return nil, status.FromContextError(ctx.Err()).Err()
}

// chat echoes messages until there are no more.
func (i *impl) chat(st grpc.ServerStream) error {
	for {
		var m wrapperspb.BytesValue
		if err := st.RecvMsg(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := st.SendMsg(&m); err != nil {
			return err
		}
	}
}

// deaf ends without reading.
func (i *impl) deaf(grpc.ServerStream) error { return status.Error(codes.Aborted, "not today") }

// hang reads nothing until its context ends.
func (i *impl) hang(st grpc.ServerStream) error {
	i.began <- struct{}{}
	<-st.Context().Done()
	i.ended <- st.Context().Err()
	return nil
}

// pour sends 64 messages of 256 KiB.
func (i *impl) pour(st grpc.ServerStream) error {
	for n := range 64 {
		b := make([]byte, 256<<10)
		b[0] = byte(n)
		if err := st.SendMsg(wrapperspb.Bytes(b)); err != nil {
			return err
		}
	}
	return nil
}

const limit = 4 << 20 // of what a server takes

func service(i *impl) Service {
	unary := func(name string, f func(context.Context, []byte) ([]byte, error)) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			var m wrapperspb.BytesValue
			if err := dec(&m); err != nil {
				return nil, err
			}
			b, err := f(ctx, m.GetValue())
			if err != nil {
				return nil, err
			}
			return wrapperspb.Bytes(b), nil
		}}
	}
	stream := func(name string, f func(grpc.ServerStream) error) grpc.StreamDesc {
		return grpc.StreamDesc{StreamName: name, ServerStreams: true, ClientStreams: true, Handler: func(_ any, st grpc.ServerStream) error { return f(st) }}
	}
	return Service{
		Desc: &grpc.ServiceDesc{
			ServiceName: "test", HandlerType: (*any)(nil),
			Methods: []grpc.MethodDesc{unary("echo", i.echo), unary("wait", i.wait)},
			Streams: []grpc.StreamDesc{stream("chat", i.chat), stream("deaf", i.deaf), stream("hang", i.hang), stream("pour", i.pour)},
		},
		Impl: i, MaxMessage: limit,
	}
}

// serve serves nc until the test ends.
func serve(t testing.TB, nc net.Conn, i *impl) *Server {
	t.Helper()
	s := Serve(nc, service(i))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
		defer cancel()
		s.Shutdown(ctx)
	})
	return s
}

// dial connects a client until the test ends.
func dial(t testing.TB, nc net.Conn) *Client {
	t.Helper()
	c, err := Dial(within(t), nc, 2*limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		c.Wait()
	})
	return c
}

// do makes a unary call.
func do(ctx context.Context, cc grpc.ClientConnInterface, method string, b []byte, opts ...grpc.CallOption) ([]byte, error) {
	var m wrapperspb.BytesValue
	err := cc.Invoke(ctx, "/test/"+method, wrapperspb.Bytes(b), &m, opts...)
	return m.GetValue(), err
}

// open opens a stream.
func open(t testing.TB, ctx context.Context, cc grpc.ClientConnInterface, method string) grpc.ClientStream {
	t.Helper()
	st, err := cc.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test/"+method)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// await waits for a value of ch.
func await[T any](t testing.TB, ch <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(time.Minute):
		t.Fatalf("no %s", what)
	}
	return v
}

// wantCode checks the status of err.
func wantCode(t testing.TB, err error, code codes.Code, texts ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("got %v, want code %v", err, code)
	}
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q in it", err, text)
		}
	}
}

// stubborn is a handler that returns when hold is closed, whatever becomes of its call.
func stubborn(began chan<- struct{}, hold <-chan struct{}) grpc.StreamHandler {
	return func(any, grpc.ServerStream) error {
		began <- struct{}{}
		<-hold
		return nil
	}
}
