package rpc

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Client makes calls over one connection. It is a [grpc.ClientConnInterface] for generated stubs, and safe for concurrent use. Of the
// call options it knows grpc.MaxCallRecvMsgSize.
type Client struct{ c *conn }

const userAgent = "toolhost"

// Dial begins to speak on nc, which belongs to the client from then on, and waits until the server has answered. A message may have limit
// bytes, unless an option of its call says otherwise. The error is the cause of ctx's end, or says why there is nobody who serves; nc is closed
// then.
func Dial(ctx context.Context, nc net.Conn, limit int) (*Client, error) {
	c := newConn(nc, true, limit)
	c.start()
	select {
	case <-c.greeted:
		return &Client{c}, nil
	case <-c.done:
		c.wait()
		return nil, fmt.Errorf("rpc: %w", c.cause())
	case <-ctx.Done():
		c.close(status.FromContextError(ctx.Err()).Err())
		c.wait()
		return nil, context.Cause(ctx)
	}
}

// Done is closed when the connection is over.
func (c *Client) Done() <-chan struct{} { return c.c.done }

// Close ends the connection; calls fail. It may be called again. It does not wait for receivers: see Wait.
func (c *Client) Close() error {
	c.c.close(status.Error(codes.Canceled, "the connection was closed here"))
	return nil
}

// Wait returns when the connection is over and every receiver has had its end.
func (c *Client) Wait() { c.c.wait() }

// Invoke implements [grpc.ClientConnInterface].
func (c *Client) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	in, out, err := protoMessages(args, reply)
	if err != nil {
		return err
	}
	if err := c.c.checkSize(in); err != nil {
		return err
	}
	st, err := c.newStream(ctx, method, opts)
	if err != nil {
		return err
	}
	defer st.Close()
	if err := st.post(protoMessage{in}); err != nil {
		return err
	}
	msg, err := st.next()
	switch {
	case err == io.EOF:
		return status.Error(codes.Internal, "rpc: the response has no message")
	case err != nil:
		return err
	}
	if _, err := st.next(); err == nil {
		return status.Error(codes.Internal, "rpc: the response has more than one message")
	} else if err != io.EOF {
		return err
	}
	if Parts(msg, out.ProtoReflect().Descriptor(), maxParts) > maxParts {
		return status.Errorf(codes.ResourceExhausted, "rpc: the response has more than %d parts", maxParts)
	}
	if err := proto.Unmarshal(msg, out); err != nil {
		return status.Errorf(codes.Internal, "rpc: the response: %v", err)
	}
	return nil
}

// NewStream implements [grpc.ClientConnInterface]. What it returns is a *ClientStream.
func (c *Client) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	st, err := c.newStream(ctx, method, opts)
	if err != nil {
		return nil, err
	}
	c.c.push()
	return st, nil
}

// newStream opens a stream. Its header is not written yet.
func (c *Client) newStream(ctx context.Context, method string, opts []grpc.CallOption) (*ClientStream, error) {
	limit := c.c.limit
	for _, o := range opts {
		if size, ok := o.(grpc.MaxRecvMsgSizeCallOption); ok {
			limit = size.MaxRecvMsgSize
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	s, err := c.c.request(ctx, method, limit)
	if err != nil {
		cancel()
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { s.cancel(codeCancel, status.FromContextError(ctx.Err()).Err()) })
	s.afterwards(func() { stop(); cancel() })
	return &ClientStream{s, ctx, cancel}, nil
}

// request opens a stream and queues its header. It waits while the peer takes no more streams.
func (c *conn) request(ctx context.Context, method string, limit int) (*Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	pairs := []string{
		":method", "POST", ":scheme", "http", ":path", method, ":authority", "plugin",
		"te", "trailers", "content-type", contentType, "user-agent", userAgent,
	}
	if deadline, ok := ctx.Deadline(); ok {
		pairs = append(pairs, "grpc-timeout", formatTimeout(time.Until(deadline)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.admitted(ctx); err != nil {
		return nil, err
	}
	s := c.newStream(c.nextID)
	s.limit = limit
	s.deadline, _ = ctx.Deadline()
	c.lastID = c.nextID
	c.nextID += 2
	if c.werr == nil {
		c.control = s.appendHeader(c.control, false, pairs)
	}
	return s, nil
}

// admitted returns when a stream may be opened, or says why none may. It is called with c.mu held.
func (c *conn) admitted(ctx context.Context) error {
	var stop func() bool
	for {
		switch {
		case c.err != nil:
			return c.err
		case c.goneAway || c.nextID > maxWindow:
			return errNoMore
		case ctx.Err() != nil:
			return status.FromContextError(ctx.Err()).Err()
		case uint32(len(c.streams)) < c.most:
			return nil
		}
		if stop == nil {
			stop = context.AfterFunc(ctx, func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.room.Broadcast()
			})
			defer stop()
		}
		c.room.Wait()
	}
}

// ClientStream is a call of a client.
type ClientStream struct {
	*Stream
	ctx    context.Context
	cancel context.CancelFunc
}

// Close cancels the call if it is not over.
func (s *ClientStream) Close() error {
	s.cancel()
	return nil
}

// Context implements [grpc.ClientStream].
func (s *ClientStream) Context() context.Context { return s.ctx }

// Header implements [grpc.ClientStream]. There is no metadata.
func (s *ClientStream) Header() (metadata.MD, error) { return nil, nil }

// Trailer implements [grpc.ClientStream]. There is no metadata.
func (s *ClientStream) Trailer() metadata.MD { return nil }

// CloseSend implements [grpc.ClientStream].
func (s *ClientStream) CloseSend() error {
	s.closeSend()
	return nil
}

// SendMsg implements [grpc.ClientStream] for protobuf messages.
func (s *ClientStream) SendMsg(m any) error { return s.sendProto(m) }

// RecvMsg implements [grpc.ClientStream] for protobuf messages. It is not for a stream that has Feed.
func (s *ClientStream) RecvMsg(m any) error { return s.recvProto(m) }
