package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// hostileHosts are ways to write an address of this machine or its network, from public reports (research
// 9.2).
var hostileHosts = []string{
	"http://127.0.0.1/", "http://0.0.0.0/", "http://10.1.2.3/", "http://169.254.169.254/latest/meta-data/", "http://100.100.100.200/",
	"http://192.0.0.192/", "http://168.63.129.16/", "http://224.0.0.1/", "http://255.255.255.255/", "https://127.0.0.1/",
	"http://[::1]/", "http://[::]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
	"http://[::127.0.0.1]/", "http://[2002:7f00:1::]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[64:ff9b:1:a9fe:a9:fe00::]/",
	"http://[fec0::1]/", "http://[fd00:ec2::254]/", "http://[fe80::1%25lo]/", "http://[fe80::1]/", "http://[ff02::1]/",
	"http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/", "http://[2a00:1450::5efe:7f00:1]/", "http://[2a00:1450::200:5efe:127.0.0.1]/",
	"http://localhost/", "http://localhost./", "http://LOCALHOST../", "http://a.localhost/", "http://a.LocalHost./",
	"http://127.1/", "http://0/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://017700000001/", "http://0x7f.1/",
	"http://①②⑦.⓪.⓪.①/", "http://127。0。0。1/", "http://１２７.0.0.1/",
	"http://a@127.0.0.1/", "http://127.0.0.1#@example.com", "http://example.com\\@127.0.0.1/", "http://example.com@127.0.0.1/",
	"http://127.0.0.1:80\\@example.com/", "http://127.0.0.1?@example.com/", "http:127.0.0.1", "http:///127.0.0.1/", "//127.0.0.1/",
	"http://127.0.0.1:22/", "http://8.8.8.8:22/", "http://8.8.8.8:0/", "http://8.8.8.8:99999/", "http://127.0.0.1%2f@example.com/",
	"file:///etc/passwd", "gopher://127.0.0.1/", "http+unix://%2fvar%2frun%2fdocker.sock/", "unix:///run/x", "data:text/html,x", "javascript:1", "",
}

var refusals = []string{kindAddress, kindURL, kindScheme, kindPort, kindResolve}

// fetchHostile checks that none of the URLs gets as far as a connection.
func fetchHostile(t *testing.T, r Resolver) {
	f := newFetcher(t, Settings{})
	var d dials
	f.dialer.intercept, f.dialer.resolver = d.intercept, r
	for _, raw := range hostileHosts {
		_, err := f.Fetch(t.Context(), Input{URL: raw}, nil)
		wantKind(t, err, refusals...)
		if seen := d.take(); len(seen) > 0 {
			t.Errorf("%s: would have dialled %v", raw, seen)
		}
	}
}

// TestBI25_HostileHosts asks Go's own resolver, with a name server on loopback.
func TestBI25_HostileHosts(t *testing.T) {
	r := nameServer(t, map[string][]string{
		"private.test.": {"10.0.0.1"}, "mapped.test.": {"::ffff:127.0.0.1"}, "mixed.test.": {"93.184.216.34", "192.168.0.1"},
		"nat64.test.": {"64:ff9b::7f00:1"}, "public.test.": {"93.184.216.34"}, "metadata.test.": {"fd00:ec2::254"},
	})
	fetchHostile(t, r)
	f := newFetcher(t, Settings{})
	var d dials
	f.dialer.intercept, f.dialer.resolver = d.intercept, r
	_, err := f.Fetch(t.Context(), Input{URL: "http://nowhere.test/"}, nil)
	if wantKind(t, err, kindResolve); !strings.HasSuffix(err.Error(), `the host "nowhere.test" has no address: no such host; check the spelling`) {
		t.Error(err)
	}
	for host, addr := range map[string]string{"private.test": "10.0.0.1", "mapped.test": "127.0.0.1", "mixed.test": "192.168.0.1",
		"nat64.test": "64:ff9b::7f00:1", "metadata.test": "fd00:ec2::254"} {
		_, err := f.Fetch(t.Context(), Input{URL: "http://" + host + "/"}, nil)
		fe := wantKind(t, err, kindAddress)
		if fe.Addr != addr || !strings.Contains(err.Error(), privateText) || !strings.Contains(err.Error(), host+" is "+addr) || len(d.take()) > 0 {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, raw := range []string{"http://public.test/", "https://public.test/", "http://93.184.216.34:443/", "http://[::ffff:93.184.216.34]/"} {
		_, err := f.Fetch(t.Context(), Input{URL: raw}, nil)
		if seen := d.take(); !errors.Is(err, errIntercepted) || len(seen) != 1 || !strings.HasPrefix(seen[0], "93.184.216.34:") {
			t.Errorf("%s: dialled %v, %v", raw, seen, err)
		}
	}
}

// TestAllowedAddressOfAName has a name with one address that the operator allowed: only that one is dialled.
func TestAllowedAddressOfAName(t *testing.T) {
	f := newFetcher(t, Settings{Allow: []string{"127.0.0.1:8080"}})
	var d dials
	f.dialer.intercept = d.intercept
	f.dialer.resolver = &names{answers: map[string][][]string{"localhost": {{"::1", "127.0.0.1"}}, "dev.test": {{"10.0.0.1", "::ffff:127.0.0.1"}}}}
	for url, want := range map[string]string{"http://localhost:8080/": "127.0.0.1:8080", "http://dev.test:8080/": "127.0.0.1:8080", "http://localhost/": "", "http://dev.test/": ""} {
		_, err := f.Fetch(t.Context(), Input{URL: url}, nil)
		if seen := strings.Join(d.take(), " "); seen != want || errors.Is(err, errIntercepted) != (want != "") {
			t.Errorf("%s: dialled %q, %v", url, seen, err)
		}
	}
}

// TestBI25_LastGate checks the guard at the socket itself, behind the check of the looked-up addresses.
func TestBI25_LastGate(t *testing.T) {
	f := newFetcher(t, Settings{})
	var d dials
	f.dialer.intercept = d.intercept
	for _, text := range []string{"127.0.0.1:80", "[::1]:443", "8.8.8.8:22", "[fe80::1%lo]:80"} {
		if _, err := f.dialer.connect(t.Context(), netip.MustParseAddrPort(text)); err == nil || errors.Is(err, errIntercepted) || len(d.take()) > 0 {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, network := range []string{"udp4", "unix", "ip4:tcp"} {
		if err := f.dialer.control(network, "8.8.8.8:80", nil); err == nil {
			t.Errorf("network %s was accepted", network)
		}
	}
}

// TestNoProxy checks that an environment's proxy is not asked: behind one the guard would see the proxy only.
func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	t.Setenv("http_proxy", "http://127.0.0.1:9")
	f := newFetcher(t, Settings{Allow: []string{"127.0.0.1:9"}})
	var d dials
	f.dialer.intercept = d.intercept
	if _, err := f.Fetch(t.Context(), Input{URL: "http://93.184.216.34/"}, nil); !errors.Is(err, errIntercepted) {
		t.Fatal(err)
	}
	if seen := d.take(); !slices.Equal(seen, []string{"93.184.216.34:80"}) {
		t.Errorf("dialled %v", seen)
	}
}

// nameServer is a resolver of Go's own kind that asks a name server on loopback with these records.
func nameServer(t *testing.T, records map[string][]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	// Ends when the cleanup closes the socket, and is joined there.
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply, err := answer(buf[:n], records); err == nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, StrictErrors: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func answer(query []byte, records map[string][]string) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) == 0 {
		return nil, errors.Join(err, errors.New("no question"))
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{Questions: m.Questions[:1],
		Header: dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true}}
	if records[q.Name.String()] == nil {
		reply.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range records[q.Name.String()] {
		ip := netip.MustParseAddr(text)
		head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 1}
		switch {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			reply.Answers = append(reply.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
	return reply.Pack()
}
