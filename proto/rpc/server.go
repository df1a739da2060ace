package rpc

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Service is what a server serves.
type Service struct {
	// Desc describes it, as generated code does.
	Desc *grpc.ServiceDesc
	// Impl is the implementation that Desc's handlers get.
	Impl any
	// MaxMessage is the most bytes of a message.
	MaxMessage int
}

// Server serves one connection.
type Server struct {
	c       *conn
	service Service
	ctx     context.Context // of all calls
	cancel  context.CancelFunc
}

// Serve begins to serve nc, which belongs to the server from then on. Handlers run in goroutines of their own; a handler's
// context ends with its call or the connection.
func Serve(nc net.Conn, service Service) *Server {
	s := &Server{c: newConn(nc, false, service.MaxMessage), service: service}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.c.open = s.begin
	s.c.start()
	return s
}

// Done is closed when the connection is over.
func (s *Server) Done() <-chan struct{} { return s.c.done }

// Shutdown takes no more calls and says so, waits for the handlers, and for what they sent to be written, until ctx ends, and then ends
// the connection. It returns when no goroutine of the server is left but handlers that did not return.
func (s *Server) Shutdown(ctx context.Context) {
	c := s.c
	c.mu.Lock()
	if !c.goneAway {
		c.goneAway = true
		c.queue(appendGoAway(c.control, c.lastID, codeNone, ""))
	}
	c.mu.Unlock()
	returned := make(chan struct{})
	go func() { // ends with the last handler: at the latest some time after its context, unless it hangs
		c.drain()
		close(returned)
	}()
	select {
	case <-returned:
	case <-ctx.Done():
	}
	s.cancel()
	s.c.close(status.Error(codes.Canceled, "the server ends"))
	s.c.wait()
}

// begin begins a call. The reader calls it.
func (s *Server) begin(st *Stream, f fields) {
	st.limit = s.c.limit
	handle, err := s.route(f)
	ctx, err := s.callContext(st, f, err)
	call := &serverStream{Stream: st, ctx: ctx}
	go func() { // ends when the handler returns; Shutdown waits for it
		defer s.returned()
		if err == nil {
			err = handle(call)
		}
		call.finish(err)
	}()
}

// returned notes the end of a handler.
func (s *Server) returned() {
	s.c.mu.Lock()
	s.c.running--
	s.c.room.Broadcast()
	s.c.mu.Unlock()
}

// route finds the handler of a request.
func (s *Server) route(f fields) (func(*serverStream) error, error) {
	if f[":method"] != "POST" || !isGRPC(f["content-type"]) {
		return nil, status.Errorf(codes.Internal, "this is gRPC: method %q and content type %q are not", clip(f[":method"]), clip(f["content-type"]))
	}
	if !isIdentity(f["grpc-encoding"]) {
		return nil, status.Errorf(codes.Unimplemented, "encoding %q is not offered", clip(f["grpc-encoding"]))
	}
	name, ok := strings.CutPrefix(f[":path"], "/"+s.service.Desc.ServiceName+"/")
	if ok {
		for i := range s.service.Desc.Methods {
			if m := &s.service.Desc.Methods[i]; m.MethodName == name {
				return func(call *serverStream) error { return s.unary(call, m) }, nil
			}
		}
		for i := range s.service.Desc.Streams {
			if m := &s.service.Desc.Streams[i]; m.StreamName == name {
				return func(call *serverStream) error { return m.Handler(s.service.Impl, call) }, nil
			}
		}
	}
	return nil, status.Errorf(codes.Unimplemented, "no method %q", clip(f[":path"]))
}

// callContext is the context of a request, which ends when the call does. It passes err on. At its deadline the call is over, so
// that a handler that waits for a message learns it.
func (s *Server) callContext(st *Stream, f fields, err error) (context.Context, error) {
	text, timed := f["grpc-timeout"]
	d, ok := parseTimeout(text)
	if !timed || !ok {
		if timed && err == nil {
			err = status.Errorf(codes.Internal, "the timeout %q is none", clip(text))
		}
		ctx, cancel := context.WithCancel(s.ctx)
		st.afterwards(cancel)
		return ctx, err
	}
	ctx, cancel := context.WithTimeout(s.ctx, d)
	stop := context.AfterFunc(ctx, func() { st.cancel(codeCancel, status.FromContextError(ctx.Err()).Err()) })
	st.afterwards(func() { stop(); cancel() })
	return ctx, err
}

func (s *Server) unary(call *serverStream, m *grpc.MethodDesc) error {
	reply, err := m.Handler(s.service.Impl, call.ctx, func(req any) error {
		err := call.RecvMsg(req)
		if err == io.EOF {
			return status.Error(codes.Internal, "the request has no message")
		}
		return err
	}, nil)
	if err != nil {
		return err
	}
	return call.SendMsg(reply)
}

// serverStream is a call of a server. It implements [grpc.ServerStream].
type serverStream struct {
	*Stream
	ctx     context.Context
	headers sync.Once
	headed  bool
}

var errNoMetadata = errors.New("rpc: there is no metadata")

// Context implements [grpc.ServerStream].
func (s *serverStream) Context() context.Context { return s.ctx }

// SetHeader implements [grpc.ServerStream].
func (s *serverStream) SetHeader(md metadata.MD) error {
	if len(md) > 0 {
		return errNoMetadata
	}
	return nil
}

// SendHeader implements [grpc.ServerStream].
func (s *serverStream) SendHeader(md metadata.MD) error {
	if err := s.SetHeader(md); err != nil {
		return err
	}
	s.head()
	return nil
}

// SetTrailer implements [grpc.ServerStream].
func (s *serverStream) SetTrailer(metadata.MD) {}

// head sends the header that messages follow.
func (s *serverStream) head() {
	s.headers.Do(func() {
		s.headed = true
		s.begin(":status", "200", "content-type", contentType)
	})
}

// Send sends a message after the header.
func (s *serverStream) Send(m Message) error {
	s.head()
	return s.Stream.Send(m)
}

// TrySend sends a message after the header, if that needs no wait.
func (s *serverStream) TrySend(m Message) (bool, error) {
	s.head()
	return s.Stream.TrySend(m)
}

// SendMsg implements [grpc.ServerStream] for protobuf messages.
func (s *serverStream) SendMsg(m any) error {
	s.head()
	return s.sendProto(m)
}

// RecvMsg implements [grpc.ServerStream] for protobuf messages. It is not for a stream that has Feed.
func (s *serverStream) RecvMsg(m any) error { return s.recvProto(m) }

// finish sends the status and ends the call.
func (s *serverStream) finish(err error) {
	if err != nil {
		err = asStatus(err)
	}
	pairs := statusPairs(err)
	s.headers.Do(func() {}) // nobody sends one any more
	if !s.headed {
		pairs = append([]string{":status", "200", "content-type", contentType}, pairs...)
	}
	s.conclude(pairs...)
	s.drop(orCanceled(err))
}

// asStatus makes any error a status.
func asStatus(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	return status.FromContextError(err).Err()
}

// orCanceled is why a call is over that its handler has left.
func orCanceled(err error) error {
	if err == nil {
		return status.Error(codes.Canceled, "the handler has returned")
	}
	return err
}
