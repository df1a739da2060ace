// Package bare is a plugin as go-plugin's own documentation makes it: one unary gRPC method, no TLS, nothing of toolhost. It
// is the yardstick for start-up and calls.
package bare

import (
	"context"
	"os/exec"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Handshake is what both sides agree on.
var Handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "BARE_PLUGIN", MagicCookieValue: "bare"}

// Name is the plugin's name in go-plugin's set.
const Name = "bare"

const method = "/bench.Bare/Call"

// Plugin is both ends. Answer is the plugin's function; the host leaves it nil.
type Plugin struct {
	plugin.NetRPCUnsupportedPlugin
	Answer func([]byte) ([]byte, error)
}

// GRPCServer registers the plugin's method.
func (p *Plugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bench.Bare",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Call", Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.BytesValue)
			if err := dec(in); err != nil {
				return nil, err
			}
			out, err := p.Answer(in.GetValue())
			return wrapperspb.Bytes(out), err
		}}},
	}, p)
	return nil
}

// GRPCClient returns a Client.
func (p *Plugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, c *grpc.ClientConn) (any, error) {
	return &Client{c}, nil
}

// Client calls a bare plugin.
type Client struct{ conn *grpc.ClientConn }

// Call makes one call.
func (c *Client) Call(ctx context.Context, in []byte) ([]byte, error) {
	out := new(wrapperspb.BytesValue)
	err := c.conn.Invoke(ctx, method, wrapperspb.Bytes(in), out)
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
