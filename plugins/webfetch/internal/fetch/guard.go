package fetch

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"code.dny.dev/ssrf"
)

// guard decides which concrete addresses may be dialled: public ones on ports 80 and 443, and what the
// operator allowed by exact address and port. It is never changed after newGuard and safe for concurrent use.
type guard struct {
	allow  []netip.AddrPort // exact, unmapped
	nat    []netip.Prefix   // the network's NAT64 prefixes: judged by the IPv4 address inside
	public *ssrf.Guardian
}

// addressError says that the guard refused an address, and why.
type addressError struct {
	Addr   netip.AddrPort
	Port   bool // the port was refused, not the address
	Reason string
}

func (e *addressError) Error() string { return fmt.Sprintf("%s is refused: %s", e.Addr, e.Reason) }

func newGuard(allow []netip.AddrPort, nat []netip.Prefix) *guard {
	return &guard{allow: allow, nat: nat, public: ssrf.New(
		ssrf.WithPorts(defaultPorts[:]...),
		ssrf.WithDeniedV4Prefixes(netip.PrefixFrom(azureWireServer, 32)),
	)}
}

// defaultPorts are what a fetch may reach without being allowed by address.
var defaultPorts = [...]uint16{80, 443}

// azureWireServer serves metadata and credentials to virtual machines from a public address.
var azureWireServer = netip.AddrFrom4([4]byte{168, 63, 129, 16})

// check is nil if ap may be dialled, else an *addressError.
//
// Order: zones are refused; a mapped IPv4 address is taken as IPv4 (netip's prefix tests are false for it
// otherwise); the allow list; NAT64 prefixes of this network by the IPv4 address inside; ISATAP tails by the
// IPv4 address inside; the public ranges.
func (g *guard) check(ap netip.AddrPort) error {
	ip := ap.Addr()
	if ip.Zone() != "" {
		return &addressError{Addr: ap, Reason: "an address with a zone is of this machine's own links"}
	}
	ip = ip.Unmap()
	ap = netip.AddrPortFrom(ip, ap.Port())
	if slices.Contains(g.allow, ap) {
		return nil
	}
	for _, p := range g.nat {
		if !p.Contains(ip) {
			continue
		}
		inner, ok := nat64Embedded(ip, p.Bits())
		if !ok {
			return &addressError{Addr: ap, Reason: "NAT64 without an IPv4 address inside"}
		}
		if err := g.public.SafeAddrPort(netip.AddrPortFrom(inner, ap.Port())); err != nil {
			return refusal(ap, err)
		}
		return nil
	}
	if form, inner, ok := embeddedIPv4(ip); ok && form == "ISATAP" && g.public.SafeAddr(inner) != nil {
		return &addressError{Addr: ap, Reason: describe(ip)}
	}
	if err := g.public.SafeAddrPort(ap); err != nil {
		return refusal(ap, err)
	}
	return nil
}

// allowed are those of ips that the operator allowed on port.
func (g *guard) allowed(ips []netip.Addr, port uint16) []netip.Addr {
	var own []netip.Addr
	for _, ip := range ips {
		if slices.Contains(g.allow, netip.AddrPortFrom(ip.Unmap(), port)) {
			own = append(own, ip)
		}
	}
	return own
}

// allowsPort tells whether any address could be dialled on port, so that a URL can be refused before a name
// is looked up.
func (g *guard) allowsPort(port uint16) bool {
	return slices.Contains(defaultPorts[:], port) ||
		slices.ContainsFunc(g.allow, func(ap netip.AddrPort) bool { return ap.Port() == port })
}

// allowsLoopback tells whether the operator allowed this machine itself on port.
func (g *guard) allowsLoopback(port uint16) bool {
	return slices.ContainsFunc(g.allow, func(ap netip.AddrPort) bool { return ap.Port() == port && ap.Addr().IsLoopback() })
}

func refusal(ap netip.AddrPort, err error) *addressError {
	if errors.Is(err, ssrf.ErrProhibitedPort) {
		return &addressError{Addr: ap, Port: true, Reason: "only ports 80 and 443 are fetched"}
	}
	return &addressError{Addr: ap, Reason: describe(ap.Addr())}
}

// describe says in words what range a refused address belongs to.
func describe(ip netip.Addr) string {
	if form, inner, ok := embeddedIPv4(ip); ok {
		return fmt.Sprintf("%s form of %s", form, inner)
	}
	switch {
	case ip == azureWireServer:
		return "cloud metadata"
	case ip.IsLoopback():
		return "loopback"
	case ip.IsUnspecified():
		return "this machine"
	case ip.IsPrivate():
		return "private"
	case ip.IsLinkLocalUnicast():
		return "link local"
	case ip.IsMulticast():
		return "multicast"
	}
	return "reserved"
}
