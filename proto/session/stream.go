package session

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/proto/rpc"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Stream moves batches of frames, in order. Send is called by one goroutine at a
// time and must not keep the slice after it has returned; the frames in it are
// not changed any more. Receive is called once: it calls receive for what arrives, one batch at a time, until
// the stream is over, and returns why; io.EOF at an orderly end. The data of a chunk may be overwritten when
// receive has returned.
//
// A Stream may be an io.Closer. Session.Close then calls Close, which must make a
// blocked Send and Receive return, and may be called more than once.
//
// A Stream may have TrySend(frames []*pb.Frame) (sent bool, err error), which is Send if that needs no wait, and else returns false. A call that
// is alone is then sent by who makes it, and no goroutine is woken for it.
//
// A Stream may have Lull(lull func(idle bool) (work func())), called before Receive: it makes lull be called after receive, before the stream waits for
// more. If idle is true, nothing else has arrived, and another goroutine receives if lull takes long.
type Stream interface {
	Send(frames []*pb.Frame) error
	Receive(receive func(frames []*pb.Frame)) error
}

// trySender is a Stream with TrySend.
type trySender interface {
	TrySend(frames []*pb.Frame) (sent bool, err error)
}

// luller is a Stream with Lull.
type luller interface {
	Lull(lull func(idle bool) (work func()))
}

// Connect opens the session RPC on cc and returns the host's end. It is an
// io.Closer: Close, or the end of ctx, ends the RPC. A plugin that takes no
// RPC is waited for until opening ends.
func Connect(ctx, opening context.Context, cc grpc.ClientConnInterface, opts ...grpc.CallOption) (Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(opening, cancel)
	st, err := pb.NewToolPluginServiceClient(cc).Session(ctx, opts...)
	if !stop() {
		err = context.Cause(opening)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	if d, ok := asDirect(st); ok {
		return &closingDirect{d, cancel}, nil
	}
	return &closingStream{&clientStream{st: st}, cancel}, nil
}

// ServerStream is the plugin's end of a gRPC stream. The stream ends when the RPC's
// handler returns, which it should do when Session.Done is closed; only then does the
// session's reader end, so Wait is for after the handler.
func ServerStream(st grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]) Stream {
	if d, ok := asDirect(st); ok {
		return d
	}
	return &serverStream{st: st}
}

type closingStream struct {
	*clientStream
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

func (c *clientStream) Receive(receive func([]*pb.Frame)) error {
	for {
		res, err := c.st.Recv()
		if err != nil {
			return err
		}
		receive(res.GetFrames())
	}
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

func (c *serverStream) Receive(receive func([]*pb.Frame)) error {
	for {
		req, err := c.st.Recv()
		if err != nil {
			return err
		}
		receive(req.GetFrames())
	}
}

// direct is a stream of package rpc: what is sent is written by the sender, and what arrives is received by the goroutine that has
// read it.
type direct interface {
	Send(rpc.Message) error
	TrySend(rpc.Message) (sent bool, err error)
	Feed(receive func(msg []byte), end func(error))
	luller
}

// asDirect finds the direct stream under a generated one.
func asDirect(st any) (*directStream, bool) {
	var under any
	switch st := st.(type) {
	case *grpc.GenericClientStream[pb.SessionRequest, pb.SessionResponse]:
		under = st.ClientStream
	case *grpc.GenericServerStream[pb.SessionRequest, pb.SessionResponse]:
		under = st.ServerStream
	}
	d, ok := under.(direct)
	return &directStream{to: d}, ok
}

type closingDirect struct {
	*directStream
	cancel context.CancelFunc
}

func (c *closingDirect) Close() error {
	c.cancel()
	return nil
}

type directStream struct {
	to    direct
	batch batchMessage
}

func (d *directStream) Send(frames []*pb.Frame) error {
	d.batch.m.Frames = frames
	err := d.to.Send(&d.batch)
	d.batch.m.Frames = nil
	return err
}

// TrySend is Send if that needs no wait, else it returns false.
func (d *directStream) TrySend(frames []*pb.Frame) (bool, error) {
	d.batch.m.Frames = frames
	sent, err := d.to.TrySend(&d.batch)
	d.batch.m.Frames = nil
	return sent, err
}

// Lull makes lull be called when what has arrived was received.
func (d *directStream) Lull(lull func(idle bool) (work func())) { d.to.Lull(lull) }

func (d *directStream) Receive(receive func([]*pb.Frame)) error {
	ended := make(chan error, 2) // what could not be decoded, and the end
	broken := false
	d.to.Feed(func(msg []byte) {
		if broken { // nothing counts after what could not be decoded
			return
		}
		frames, err := decodeBatch(msg, sharedChunks)
		if err != nil {
			broken = true
			ended <- err
			return
		}
		receive(frames)
	}, func(err error) { ended <- err })
	return <-ended
}

// batchMessage is a batch as a message, of either direction: they are encoded alike.
type batchMessage struct{ m pb.SessionRequest }

// Size implements [rpc.Message].
func (b *batchMessage) Size() int { return proto.Size(&b.m) }

// Append implements [rpc.Message].
func (b *batchMessage) Append(to []byte) ([]byte, error) {
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(to, &b.m)
}
