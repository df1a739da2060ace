// Package bare is a plugin as go-plugin's own documentation makes it: unary gRPC methods and a stream, no TLS, nothing of toolhost.
// It is the yardstick for start-up, calls, large answers and deltas.
package bare

import (
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/toolhost/toolhost/bench/large"
	"github.com/toolhost/toolhost/bench/stamp"
)

// Handshake is what both sides agree on.
var Handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BARE_PLUGIN", MagicCookieValue: "bare"}

// Name is the plugin's name in go-plugin's set.
const Name = "bare"

const service = "bench.Bare"

// Plugin is both ends. Answer is the plugin's function; the host leaves it nil.
type Plugin struct {
	plugin.NetRPCUnsupportedPlugin
	Answer func([]byte) ([]byte, error)
}

// GRPCServer registers the plugin's methods.
func (p *Plugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	var texts large.Texts
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: service,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			unary("Call", func(in []byte) (any, error) {
				out, err := p.Answer(in)
				return wrapperspb.Bytes(out), err
			}),
			unary("Echo", func(in []byte) (any, error) { return wrapperspb.Bytes(in), nil }),
			unary("Text", func(in []byte) (any, error) {
				n, err := strconv.Atoi(string(in))
				return wrapperspb.String(texts.Get(n)), err
			}),
		},
		Streams: []grpc.StreamDesc{{StreamName: "Deltas", Handler: deltas, ClientStreams: true, ServerStreams: true}},
	}, p)
	return nil
}

func unary(name string, answer func([]byte) (any, error)) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		in := new(wrapperspb.BytesValue)
		if err := dec(in); err != nil {
			return nil, err
		}
		return answer(in.GetValue())
	}}
}

// deltas takes messages until there are no more and answers with when they came.
func deltas(_ any, s grpc.ServerStream) error {
	var came stamp.Arrivals
	for {
		in := new(wrapperspb.BytesValue)
		if err := s.RecvMsg(in); err == io.EOF {
			return s.SendMsg(wrapperspb.Bytes(came.Report()))
		} else if err != nil {
			return err
		}
		came.Add(string(in.GetValue()))
	}
}

// GRPCClient returns a Client.
func (p *Plugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return &Client{c}, nil
}

// Client calls a bare plugin.
type Client struct{ conn *grpc.ClientConn }

// Call makes one call.
func (c *Client) Call(ctx context.Context, in []byte) ([]byte, error) {
	return c.invoke(ctx, "Call", in)
}

// Echo makes a call that answers what it is given.
func (c *Client) Echo(ctx context.Context, in []byte) ([]byte, error) {
	return c.invoke(ctx, "Echo", in)
}

// Text makes a call that answers with n bytes of text.
func (c *Client) Text(ctx context.Context, n int) (string, error) {
	out := new(wrapperspb.StringValue)
	err := c.conn.Invoke(ctx, "/"+service+"/Text", wrapperspb.Bytes(strconv.AppendInt(nil, int64(n), 10)), out)
	return out.GetValue(), err
}

func (c *Client) invoke(ctx context.Context, method string, in []byte) ([]byte, error) {
	out := new(wrapperspb.BytesValue)
	err := c.conn.Invoke(ctx, "/"+service+"/"+method, wrapperspb.Bytes(in), out)
	return out.GetValue(), err
}

// Deltas is a stream of small messages to the plugin.
type Deltas struct{ stream grpc.ClientStream }

// Deltas opens a stream.
func (c *Client) Deltas(ctx context.Context) (*Deltas, error) {
	s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+service+"/Deltas")
	return &Deltas{s}, err
}

// Send sends one message.
func (d *Deltas) Send(text []byte) error { return d.stream.SendMsg(wrapperspb.Bytes(text)) }

// Close ends the stream and returns the plugin's report.
func (d *Deltas) Close() (json.RawMessage, error) {
	if err := d.stream.CloseSend(); err != nil {
		return nil, err
	}
	out := new(wrapperspb.BytesValue)
	err := d.stream.RecvMsg(out)
	return out.GetValue(), err
}

// Limit is the deadline of every call.
const Limit = time.Minute

// Running is a bare plugin that runs.
type Running struct {
	*Client
	plugin *plugin.Client
}

// Start starts the plugin at path.
func Start(path string) (*Running, error) {
	c := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  Handshake,
		Plugins:          plugin.PluginSet{Name: &Plugin{}},
		Cmd:              exec.Command(path),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
	})
	rpc, err := c.Client()
	if err != nil {
		c.Kill()
		return nil, err
	}
	raw, err := rpc.Dispense(Name)
	if err != nil {
		c.Kill()
		return nil, err
	}
	return &Running{raw.(*Client), c}, nil
}

// Close ends the plugin.
func (r *Running) Close() { r.plugin.Kill() }

// PID is its process.
func (r *Running) PID() int { return r.plugin.ReattachConfig().Pid }
