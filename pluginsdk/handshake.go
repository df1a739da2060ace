package pluginsdk

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolhost/toolhost/proto/wire"
)

// announce serves the connection to the host and announces it in go-plugin's handshake. It returns when the host can call.
//
// It speaks that handshake itself and does not call go-plugin's Serve, which would listen on a socket that
// nobody may use, swap os.Stdout and os.Stderr for pipes that lose what is printed (O4, O5), and register
// reflection and services that no host of ours calls (S10). The listener yields one connection, which is the
// host's, so nobody else can call (S6).
func announce(s *server, lis *hostListener) (*front, error) {
	f := startFront(s, lis)
	dropEnv(hostVariables()...)
	if _, err := io.WriteString(os.Stdout, handshake(lis.network, lis.address)); err != nil {
		return nil, fmt.Errorf("handshake: %w", err)
	}
	return f, nil
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
