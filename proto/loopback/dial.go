package loopback

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"github.com/toolhost/toolhost/proto/wire"
)

// Dialer is the host's end, for one process. It may be used by several goroutines at once.
type Dialer struct {
	id    *identity
	token [tokenSize]byte
}

// NewDialer makes the key, the certificate and the token.
func NewDialer() (*Dialer, error) {
	id, err := newIdentity()
	if err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}
	d := &Dialer{id: id}
	_, _ = rand.Read(d.token[:]) // never fails
	return d, nil
}

// Line is what the lifeline must begin with, its newline included. It is a secret,
// and short enough for an empty pipe to take it at once.
func (d *Dialer) Line() []byte {
	return fmt.Appendf(nil, "%s %x %s\n", wire.CookieValue, d.token, d.id.hash)
}

// Dial connects to the address that the plugin announced. It returns when the plugin has
// taken the connection and has shown the token, or when ctx ends. The error says
// whether somebody else was at the address.
func (d *Dialer) Dial(ctx context.Context, address string) (net.Conn, error) {
	at, peer, err := parseAddress(address)
	if err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp4", at.String())
	if err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}
	c := conn{tls.Client(raw, d.id.config(peer)), raw}
	if err := d.greet(ctx, c); err != nil {
		raw.Close()
		return nil, fmt.Errorf("loopback: %s: %w", at, err)
	}
	return c, nil
}

// greet does the handshake and reads the token.
func (d *Dialer) greet(ctx context.Context, c conn) error {
	stop := context.AfterFunc(ctx, func() { c.raw.Close() })
	defer stop()
	err := c.HandshakeContext(ctx)
	if err == nil {
		var got [tokenSize]byte
		if _, err = io.ReadFull(c, got[:]); err == nil && subtle.ConstantTimeCompare(got[:], d.token[:]) != 1 {
			err = errors.New("the other side does not know the token")
		}
	}
	if !stop() {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the other side has closed the connection")
	}
	return err
}

// CheckAddress reports whether a plugin may announce the address.
func CheckAddress(address string) error {
	_, _, err := parseAddress(address)
	return err
}

// parseAddress takes 127.0.0.1:PORT#HASH apart.
func parseAddress(address string) (at netip.AddrPort, peer hash, err error) {
	where, sum, _ := strings.Cut(address, "#")
	at, err = netip.ParseAddrPort(where)
	if err != nil || at.Addr() != home || at.Port() == 0 || at.String() != where || !peer.parse(sum) {
		return at, peer, errors.New("the address is not 127.0.0.1:PORT#HASH")
	}
	return at, peer, nil
}

// home is the only address on which a plugin listens.
var home = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// parseLine takes the line of the lifeline apart.
func parseLine(line string) (token [tokenSize]byte, peer hash, err error) {
	f := strings.Split(line, " ")
	if len(f) != 3 || f[0] != wire.CookieValue || len(f[1]) != 2*tokenSize || !peer.parse(f[2]) {
		return token, peer, errors.New("the lifeline does not begin with the host's token")
	}
	if _, err := hex.Decode(token[:], []byte(f[1])); err != nil {
		return token, peer, errors.New("the token is not hexadecimal")
	}
	return token, peer, nil
}

var _ net.Conn = conn{Conn: (*tls.Conn)(nil)}
