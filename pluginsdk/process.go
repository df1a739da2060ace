package pluginsdk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// process serves the inherited connection under go-plugin's handshake.
//
// go-plugin's Serve opens a socket of its own, prints the handshake line with the
// socket's address, and then swaps os.Stdout and os.Stderr for pipes to the host, which would
// lose what is printed and never reach descriptors 1 and 2 (O4, O5). So it gets a
// pipe as os.Stdout:
//
//  1. relay reads the handshake line from the pipe and connects to the socket.
//  2. go-plugin accepts after its swap. The transport credentials of the server see a
//     connection that is not the inherited one, put the real os.Stdout and os.Stderr back, and refuse it.
//  3. relay unlinks the socket, lets the server serve the inherited connection, and only then
//     writes the line to the real stdout.
//
// Each step happens before the next, so no print and no call of the host meets a
// swapped os.Stdout, and nobody but the host can reach the server.
type process struct {
	s      *server
	conn   *hostConn
	grpc   *grpc.Server
	stdout *os.File
	stderr *os.File
	pipe   *os.File // the write end, os.Stdout during the handshake

	restore  sync.Once
	restored chan struct{} // closed when os.Stdout and os.Stderr are the real ones again
	over     chan struct{} // closed when go-plugin's Serve has returned
}

func newProcess(s *server, conn *hostConn) *process {
	p := &process{
		s: s, conn: conn, stdout: os.Stdout, stderr: os.Stderr,
		restored: make(chan struct{}), over: make(chan struct{}),
	}
	p.grpc = s.grpcServer(grpc.Creds(onlyHost{p}))
	return p
}

// handshakeTimeout bounds the steps above; they take about a millisecond.
const handshakeTimeout = 5 * time.Second

// start returns when the host can call.
func (p *process) start() error {
	dropEnv("PLUGIN_CLIENT_CERT", "PLUGIN_MULTIPLEX_GRPC") // they make go-plugin do something else
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	p.pipe = w
	os.Stdout = w
	// Ends when the server is stopped, which serveHost's finish does; or with the process.
	go p.servePlugin()
	relayed := make(chan error, 1)
	// Ends when the pipe ends: after the handshake nobody holds its write end.
	go func() { relayed <- p.relay(r) }()
	timeout := time.NewTimer(handshakeTimeout)
	defer timeout.Stop()
	select {
	case err = <-relayed:
	case <-p.over:
		err = p.whyOver()
	case <-timeout.C:
		err = errors.New("handshake: no connection to go-plugin's socket")
	}
	if err == nil {
		dropEnv(hostVariables()...)
	}
	return err
}

func (p *process) servePlugin() {
	defer close(p.over)
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{
			wire.Version: {wire.PluginName: &goPlugin{s: p.s}},
		},
		GRPCServer: func([]grpc.ServerOption) *grpc.Server { return p.grpc },
		Logger:     hclog.New(&hclog.LoggerOptions{Level: hclog.Off, Output: io.Discard}),
	})
}

// whyOver explains a Serve that returned at once. It tells nobody why, but there is one thing that it needs.
func (p *process) whyOver() error {
	dir := orElse(os.Getenv(plugin.EnvUnixSocketDir), os.TempDir())
	f, err := os.CreateTemp(dir, "plugin")
	if err != nil {
		return fmt.Errorf("handshake: no socket can be made in %s: %w (TMPDIR moves it)", dir, err)
	}
	name := f.Name()
	return errors.Join(fmt.Errorf("handshake: go-plugin made no socket in %s: the path may be longer than a socket's may be", dir), f.Close(), os.Remove(name))
}

// relay is the reading side of the handshake's pipe. What the author's goroutines print
// meanwhile goes to the real stdout, before the handshake line.
func (p *process) relay(r *os.File) error {
	defer r.Close()
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
		noise, network, address, ok := findSocket(line)
		if _, err := io.WriteString(p.stdout, noise); err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
		if !ok {
			continue
		}
		if err := p.undoSwap(network, address); err != nil {
			return err
		}
		if err := p.pipe.Close(); err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
		if _, err := io.Copy(p.stdout, in); err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
		// Ends when the server stops or the connection does; finish stops the server.
		go p.serveConn()
		if _, err := io.WriteString(p.stdout, line[len(noise):]); err != nil {
			return fmt.Errorf("handshake: %w", err)
		}
		return nil
	}
}

// undoSwap makes go-plugin accept a connection, waits until that was refused, and removes the socket.
func (p *process) undoSwap(network, address string) error {
	c, err := net.DialTimeout(network, address, handshakeTimeout)
	if err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	defer c.Close()
	select {
	case <-p.restored:
	case <-time.After(handshakeTimeout):
		return errors.New("handshake: go-plugin did not accept a connection")
	}
	if network == "unix" {
		if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("handshake: %w", err)
		}
	}
	return nil
}

func (p *process) serveConn() {
	// The error says that the server was stopped; the connection's own end closes conn.done.
	_ = p.grpc.Serve(p.conn.listener())
}

// putBack makes os.Stdout and os.Stderr the real ones.
func (p *process) putBack() {
	p.restore.Do(func() {
		os.Stdout, os.Stderr = p.stdout, p.stderr
		close(p.restored)
	})
}

// findSocket finds network and address in go-plugin's handshake line. noise is what stands
// before it, or the whole line.
func findSocket(line string) (noise, network, address string, ok bool) {
	start := strings.LastIndex(line, fmt.Sprintf("%d|%d|", plugin.CoreProtocolVersion, wire.Version))
	if start < 0 {
		return line, "", "", false
	}
	fields := strings.Split(strings.TrimSuffix(line[start:], "\n"), "|")
	if len(fields) < 5 || fields[4] != string(plugin.ProtocolGRPC) || fields[2] != "unix" && fields[2] != "tcp" {
		return line, "", "", false
	}
	return line[:start], fields[2], fields[3], true
}

// hostVariables are the host's words to this process, which children must not inherit (S4).
func hostVariables() []string {
	keys := []string{wire.CookieKey, wire.EnvConn}
	for _, pair := range os.Environ() {
		if key, _, _ := strings.Cut(pair, "="); strings.HasPrefix(key, "PLUGIN_") {
			keys = append(keys, key)
		}
	}
	return keys
}

func dropEnv(keys ...string) {
	for _, key := range keys {
		_ = os.Unsetenv(key) // it fails for malformed names only
	}
}

// onlyHost are transport credentials that accept the inherited connection and refuse every other one (S6).
type onlyHost struct{ p *process }

func (c onlyHost) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if conn == net.Conn(c.p.conn) {
		return conn, hostAuth{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, nil
	}
	c.p.putBack()
	return nil, nil, errors.Join(errors.New("this plugin serves its host only"), conn.Close())
}

func (c onlyHost) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("a plugin is no client")
}

func (c onlyHost) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "inherited"}
}
func (c onlyHost) Clone() credentials.TransportCredentials { return c }
func (c onlyHost) OverrideServerName(string) error         { return nil }

type hostAuth struct{ credentials.CommonAuthInfo }

func (hostAuth) AuthType() string { return "inherited" }

// goPlugin registers the service with go-plugin.
type goPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	s *server
}

func (g *goPlugin) GRPCServer(_ *plugin.GRPCBroker, gs *grpc.Server) error {
	pb.RegisterToolPluginServiceServer(gs, g.s)
	return nil
}

func (g *goPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plugin is no client")
}
