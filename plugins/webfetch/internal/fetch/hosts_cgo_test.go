//go:build cgo && linux

package fetch

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"testing"
)

// TestBI25_HostileHostsCResolver asks the C resolver, which reads 127.1, 0x7f000001 and the like as
// addresses. Its choice is made once a process, by the environment, so the test runs itself again. Only names
// it reads as numbers are asked, and only in a build that has it: Go's own would ask a name server.
func TestBI25_HostileHostsCResolver(t *testing.T) {
	const again = "WEBFETCH_TEST_C_RESOLVER"
	if os.Getenv(again) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestBI25_HostileHostsCResolver$", "-test.v")
		cmd.Env = append(os.Environ(), again+"=1", "GODEBUG=netdns=cgo")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	f := newFetcher(t, Settings{})
	var d dials
	f.dialer.intercept = d.intercept
	f.dialer.resolver = &net.Resolver{PreferGo: false}
	if ips, err := f.dialer.resolver.LookupNetIP(t.Context(), "ip", "127.1"); err != nil || !slices.Contains(ips, netip.MustParseAddr("127.0.0.1")) {
		t.Fatalf("127.1 is %v, %v: is this the C resolver?", ips, err)
	}
	for host, addr := range map[string]string{"127.1": "127.0.0.1", "0": "0.0.0.0", "2130706433": "127.0.0.1", "0x7f000001": "127.0.0.1",
		"0177.0.0.1": "127.0.0.1", "017700000001": "127.0.0.1", "0x7f.1": "127.0.0.1", "2852039166": "169.254.169.254", "10.1": "10.0.0.1"} {
		_, err := f.Fetch(t.Context(), Input{URL: "http://" + host + "/"}, nil)
		if fe := wantKind(t, err, kindAddress); fe.Addr != addr || len(d.take()) > 0 {
			t.Errorf("%s: %v, want %s refused", host, err, addr)
		}
	}
}
