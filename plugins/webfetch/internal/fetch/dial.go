package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

const (
	dialTime     = 10 * time.Second // for one address
	maxAddresses = 16               // of one name
)

// Resolver looks names up. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// dialer connects to a host if the guard accepts every address of it (BI-24), or to those that the operator
// allowed, and asks the guard again with the concrete address of the socket just before it connects (BI-25):
// a name that answers differently the second time gains nothing.
type dialer struct {
	guard    *guard
	resolver Resolver
	// intercept, if not nil, runs for an address the guard accepted, in place of nothing: an error from it
	// keeps the socket from connecting. Tests use it to see what would be dialled.
	intercept func(network, address string) error
}

func (d *dialer) dial(ctx context.Context, _, hostPort string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	ips, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	if own := d.guard.allowed(ips, uint16(port)); len(own) > 0 {
		ips = own
	}
	for _, ip := range ips {
		if err := d.guard.check(netip.AddrPortFrom(ip, uint16(port))); err != nil {
			return nil, refused(host, err)
		}
	}
	var errs []error
	for _, ip := range ips {
		conn, err := d.connect(ctx, netip.AddrPortFrom(ip.Unmap(), uint16(port)))
		if err == nil {
			return conn, nil
		}
		if errs = append(errs, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func (d *dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	ips, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(ips) == 0 {
		err = errors.New("no address")
	}
	if err != nil {
		return nil, &Error{Kind: kindResolve, Err: err, Msg: fmt.Sprintf("the host %q has no address: %s; check the spelling", host, lookupCause(err))}
	}
	if len(ips) > maxAddresses {
		ips = ips[:maxAddresses]
	}
	return ips, nil
}

// lookupCause leaves out which name server was asked: that is nobody's business outside.
func lookupCause(err error) string {
	var de *net.DNSError
	if errors.As(err, &de) {
		return cutBytes(de.Err, maxShownCause)
	}
	return cutBytes(err.Error(), maxShownCause)
}

func (d *dialer) connect(ctx context.Context, ap netip.AddrPort) (net.Conn, error) {
	nd := net.Dialer{Timeout: dialTime, KeepAlive: -1, Control: d.control}
	return nd.DialContext(ctx, "tcp", ap.String())
}

// control is the last gate: it sees what the kernel is about to connect to.
func (d *dialer) control(network, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || (network != "tcp4" && network != "tcp6") {
		return fmt.Errorf("refused to dial %s %s", network, address)
	}
	if err := d.guard.check(ap); err != nil {
		return refused(ap.Addr().String(), err)
	}
	if d.intercept != nil {
		return d.intercept(network, address)
	}
	return nil
}

// refused words the guard's refusal of host.
func refused(host string, err error) error {
	var ae *addressError
	if !errors.As(err, &ae) {
		return err
	}
	ip := ae.Addr.Addr().String()
	if ae.Port {
		return &Error{Kind: kindPort, Addr: ip, Err: err,
			Msg: fmt.Sprintf("port %d is refused; only ports 80 and 443 are fetched, others by the setting allow", ae.Addr.Port())}
	}
	what := ip
	if host != ip {
		what = host + " is " + ip
	}
	return &Error{Kind: kindAddress, Addr: ip, Err: err,
		Msg: fmt.Sprintf("%s %s (%s); only public addresses are fetched, others by the setting allow, or natPrefixes behind NAT64", privateText, what, ae.Reason)}
}
