package session

import (
	"context"

	"google.golang.org/grpc"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Stream moves batches of frames, in order. Send and Recv are each called by
// one goroutine at a time. Recv returns io.EOF at an orderly end. Send must not
// keep the slice after it has returned; the frames in it are not changed any more.
// The data of a chunk that Recv returns may be overwritten by the next Recv.
//
// A Stream may be an io.Closer. Session.Close then calls Close, which must make a
// blocked Send and Recv return, and may be called more than once.
type Stream interface {
	Send(frames []*pb.Frame) error
	Recv() ([]*pb.Frame, error)
}

// Connect opens the session RPC on cc and returns the host's end. It is an
// io.Closer: Close, or the end of ctx, ends the RPC.
func Connect(ctx context.Context, cc grpc.ClientConnInterface, opts ...grpc.CallOption) (Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	st, err := pb.NewToolPluginServiceClient(cc).Session(ctx, append([]grpc.CallOption{grpc.ForceCodecV2(&codec{one: true})}, opts...)...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &closingStream{Stream: ClientStream(st), cancel: cancel}, nil
}

// ClientStream is the host's end of a gRPC stream that the caller has opened.
// Close of the session does not end it: the caller cancels its context. See
// Connect.
func ClientStream(st grpc.BidiStreamingClient[pb.SessionRequest, pb.SessionResponse]) Stream {
	return &clientStream{st: st}
}

// ServerStream is the plugin's end of a gRPC stream. The stream ends when the RPC's
// handler returns, which it should do when Session.Done is closed; only then does the
// session's reader end, so Wait is for after the handler.
func ServerStream(st grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]) Stream {
	return &serverStream{st: st}
}

type closingStream struct {
	Stream
	cancel context.CancelFunc
}

func (c *closingStream) Close() error {
	c.cancel()
	return nil
}

type clientStream struct {
	st  grpc.BidiStreamingClient[pb.SessionRequest, pb.SessionResponse]
	req pb.SessionRequest
}

// Send encodes before it returns, so one message serves all batches.
func (c *clientStream) Send(frames []*pb.Frame) error {
	c.req.Frames = frames
	err := c.st.Send(&c.req)
	c.req.Frames = nil
	return err
}

func (c *clientStream) Recv() ([]*pb.Frame, error) {
	res, err := c.st.Recv()
	return res.GetFrames(), err
}

type serverStream struct {
	st  grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]
	res pb.SessionResponse
}

func (c *serverStream) Send(frames []*pb.Frame) error {
	c.res.Frames = frames
	err := c.st.Send(&c.res)
	c.res.Frames = nil
	return err
}

func (c *serverStream) Recv() ([]*pb.Frame, error) {
	req, err := c.st.Recv()
	return req.GetFrames(), err
}
