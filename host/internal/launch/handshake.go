package launch

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/proto/loopback"
	"github.com/toolhost/toolhost/proto/wire"
)

// noiseLimit is how much a plugin may print before its handshake (L1).
const noiseLimit = 1 << 20

// pluginNetwork is the network that a handshake names where the connection is there already: the
// address is not used. loopbackNetwork is the other one.
const (
	pluginNetwork   = "unix"
	loopbackNetwork = "tcp"
)

// handshakeLine is the handshake as go-plugin gets it: nothing of the plugin's line,
// which was checked, is passed through.
func handshakeLine() string {
	return fmt.Sprintf("%d|%d|%s|inherited|%s\n", plugin.CoreProtocolVersion, wire.Version, pluginNetwork, plugin.ProtocolGRPC)
}

// findHandshake looks for a handshake at the end of a line of stdout. noise is
// what stands before it, or the whole line. Something that looks like a
// handshake and is not exactly ours is an error, a *failure (H2).
func findHandshake(line string, overLoopback bool) (noise, address string, found bool, err error) {
	at := handshakeStart.FindStringSubmatchIndex(line)
	if at == nil {
		return line, "", false, nil
	}
	start := max(at[2], at[4]) // one of the two groups matched
	noise, line = line[:start], strings.TrimRight(line[start:], "\r")
	address, err = checkHandshake(line, overLoopback)
	return noise, address, true, err
}

// handshakeStart matches two numbers at the start of a line, or the full look of
// a handshake after words that lack their newline.
var handshakeStart = regexp.MustCompile(`^([0-9]+\|[0-9]+(?:\||$))|(?:^|[^0-9|])([0-9]+\|[0-9]+\|(?:unix|tcp)\|)`)

func checkHandshake(line string, overLoopback bool) (address string, err error) {
	bad := func(cause Cause, format string, args ...any) (string, error) {
		return "", &failure{cause: cause, err: fmt.Errorf("handshake: "+format, args...)}
	}
	f := strings.Split(line, "|")
	if len(f) == 6 && f[5] == "" {
		f = f[:5] // go-plugin prints the empty place of a certificate
	}
	network, usable := pluginNetwork, plainAddress
	if overLoopback {
		network, usable = loopbackNetwork, loopback.CheckAddress
	}
	switch {
	case f[0] != strconv.Itoa(plugin.CoreProtocolVersion):
		return bad(CauseHandshake, "core protocol %.20q in place of %d", f[0], plugin.CoreProtocolVersion)
	case len(f) >= 2 && f[1] != strconv.Itoa(wire.Version):
		return bad(CauseVersion, "the plugin speaks version %.20s, the host %d", f[1], wire.Version)
	case len(f) == 6:
		return bad(CauseHandshake, "a certificate that nobody asked for")
	case len(f) != 5:
		return bad(CauseHandshake, "%d fields in place of 5", len(f))
	case f[2] != network:
		return bad(CauseHandshake, "network %.20q in place of %q", f[2], network)
	case usable(f[3]) != nil:
		return bad(CauseHandshake, "%w", usable(f[3]))
	case f[4] != string(plugin.ProtocolGRPC):
		return bad(CauseHandshake, "protocol %.20q in place of %q", f[4], plugin.ProtocolGRPC)
	}
	return f[3], nil
}

// plainAddress reports whether an address that nobody uses looks like one.
func plainAddress(address string) error {
	if address == "" || len(address) > 4096 || strings.ContainsFunc(address, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
		return errors.New("an unusable address")
	}
	return nil
}
