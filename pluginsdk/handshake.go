package pluginsdk

import (
	"fmt"
	"io"
	"os"
	"strings"

	"google.golang.org/grpc"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// process serves the connection to the host and announces it in go-plugin's handshake.
//
// It speaks that handshake itself and does not call go-plugin's Serve, which would listen on a socket that
// nobody may use, swap os.Stdout and os.Stderr for pipes that lose what is printed (O4, O5), and register
// reflection and services that no host of ours calls (S10). The listener yields one connection, which is the
// host's, so nobody else can call (S6).
type process struct {
	lis  *hostListener
	grpc *grpc.Server
	over chan struct{} // closed when the server has returned
}

// startProcess returns when the host can call.
func startProcess(s *server, lis *hostListener) (*process, error) {
	p := &process{lis: lis, grpc: s.grpcServer(), over: make(chan struct{})}
	pb.RegisterToolPluginServiceServer(p.grpc, s)
	// Ends when the server is stopped, which serveHost's finish does; or with the process.
	go p.serve()
	dropEnv(hostVariables()...)
	if _, err := io.WriteString(os.Stdout, handshake(lis.network, lis.address)); err != nil {
		return nil, fmt.Errorf("handshake: %w", err)
	}
	return p, nil
}

func (p *process) serve() {
	defer close(p.over)
	// The error says that the server was stopped; the connection's own end closes lis.done.
	_ = p.grpc.Serve(p.lis)
}

// handshake is go-plugin's line: its core protocol version, ours, an address and the kind of RPC. The host
// checks all of it.
func handshake(network, address string) string {
	return fmt.Sprintf("1|%d|%s|%s|grpc\n", wire.Version, network, address)
}

// hostVariables are the host's words to this process, which children must not inherit (S4).
func hostVariables() []string {
	keys := []string{wire.CookieKey, wire.EnvConn, wire.EnvConnOut}
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
