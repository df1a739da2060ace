package fetch

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// TestBI24_RefusedAddresses has at least one address of every range of section 9.2 of the research page, at
// both its ends where it is not a power of ten.
func TestBI24_RefusedAddresses(t *testing.T) {
	g := newGuard(nil, nil)
	for text, reason := range map[string]string{
		"0.0.0.0": "this machine", "0.255.255.255": "reserved", "10.0.0.0": "private", "10.255.255.255": "private",
		"100.64.0.0": "reserved", "100.127.255.255": "reserved", "100.100.100.200": "reserved", "127.0.0.1": "loopback",
		"127.255.255.255": "loopback", "169.254.0.0": "link local", "169.254.169.254": "link local", "169.254.170.2": "link local",
		"172.16.0.0": "private", "172.31.255.255": "private", "192.0.0.192": "reserved", "192.0.2.1": "reserved",
		"192.31.196.1": "reserved", "192.52.193.1": "reserved", "192.88.99.1": "reserved", "192.168.0.1": "private",
		"192.175.48.1": "reserved", "198.18.0.1": "reserved", "198.19.255.255": "reserved", "198.51.100.1": "reserved",
		"203.0.113.1": "reserved", "224.0.0.1": "multicast", "239.255.255.255": "multicast", "240.0.0.1": "reserved",
		"255.255.255.255": "reserved", "168.63.129.16": "cloud metadata",
		"::": "this machine", "::1": "loopback", "::127.0.0.1": "IPv4-compatible form of 127.0.0.1",
		"::8.8.8.8": "IPv4-compatible form of 8.8.8.8", "::ffff:127.0.0.1": "loopback", "::ffff:7f00:1": "loopback",
		"0:0:0:0:0:ffff:a9fe:a9fe": "link local", "::ffff:0:127.0.0.1": "IPv4-translated form of 127.0.0.1",
		"64:ff9b::a9fe:a9fe": "NAT64 form of 169.254.169.254", "64:ff9b::8.8.8.8": "NAT64 form of 8.8.8.8",
		"64:ff9b:1:a9fe:a9:fe00::": "NAT64 form of 169.254.169.254", "100::1": "reserved", "5f00::1": "reserved",
		"fc00::1": "private", "fd00:ec2::254": "private", "fd00:ec2::23": "private", "fd20:ce::254": "private",
		"fe80::1": "link local", "febf::1": "link local", "fec0::1": "reserved", "ff02::1": "multicast",
		"2001:0:4136:e378:8000:63bf:80ff:fffe": "Teredo form of 127.0.0.1", "2001:1ff:ffff::1": "reserved", "2001:10::1": "reserved",
		"2001:db8::1": "reserved", "2002:7f00:1::": "6to4 form of 127.0.0.1", "2002:808:808::1": "6to4 form of 8.8.8.8",
		"2620:4f:8000::1": "reserved", "3fff::1": "reserved", "3fff:fff::1": "reserved", "4000::1": "reserved",
		"2a00:1450::5efe:7f00:1": "ISATAP form of 127.0.0.1", "2a00:1450::200:5efe:a00:1": "ISATAP form of 10.0.0.1",
		"2a00:1450::5efe:168.63.129.16": "ISATAP form of 168.63.129.16",
	} {
		for _, port := range []uint16{80, 443} {
			err := g.check(netip.AddrPortFrom(netip.MustParseAddr(text), port))
			var ae *addressError
			if !errors.As(err, &ae) || ae.Port || ae.Reason != reason {
				t.Errorf("%s port %d: %v, want refused as %q", text, port, err, reason)
			}
		}
	}
	for _, text := range []string{"fe80::1%lo", "2a00:1450::1%eth0", "::ffff:8.8.8.8%1"} {
		if err := g.check(netip.AddrPortFrom(netip.MustParseAddr(text), 80)); err == nil || !strings.Contains(err.Error(), "zone") {
			t.Errorf("%s: %v, want the zone refused", text, err)
		}
	}
}

func TestBI24_PublicAddresses(t *testing.T) {
	g := newGuard(nil, nil)
	for _, text := range []string{"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "93.184.216.34", "100.63.255.255", "100.128.0.0",
		"126.255.255.255", "128.0.0.0", "168.63.129.15", "168.63.129.17", "172.15.255.255", "172.32.0.0", "223.255.255.255",
		"::ffff:8.8.8.8", "2606:2800:220:1::1", "2a00:1450:4001::200e", "2001:200::1", "2a00:1450::5efe:8.8.8.8"} {
		if err := g.check(netip.AddrPortFrom(netip.MustParseAddr(text), 443)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		var ae *addressError
		if err := g.check(netip.AddrPortFrom(netip.MustParseAddr(text), 22)); !errors.As(err, &ae) || !ae.Port {
			t.Errorf("%s port 22: %v, want the port refused", text, err)
		}
	}
}

func TestAllowIsExact(t *testing.T) {
	g := newFetcher(t, Settings{Allow: []string{"127.0.0.1:8080", "[fd00::1]:81", "[::ffff:10.0.0.1]:80"}}).dialer.guard
	for text, ok := range map[string]bool{
		"127.0.0.1:8080": true, "[::ffff:127.0.0.1]:8080": true, "[fd00::1]:81": true, "10.0.0.1:80": true,
		"127.0.0.1:80": false, "127.0.0.2:8080": false, "[fd00::1]:80": false, "[fd00::2]:81": false, "10.0.0.1:443": false, "[::127.0.0.1]:8080": false,
	} {
		if err := g.check(netip.MustParseAddrPort(text)); (err == nil) != ok {
			t.Errorf("%s: %v, want allowed %t", text, err, ok)
		}
	}
}

func TestNATPrefixesAreJudgedByTheAddressInside(t *testing.T) {
	g := newFetcher(t, Settings{NATPrefixes: []string{"64:ff9b::/96", "2a01:100::/32", "2a01:200:aa00::/40", "2a01:300:bbcc::/48",
		"2a01:400:ddee:ff00::/56", "2a01:500:1:2::/64"}}).dialer.guard
	for text, ok := range map[string]bool{
		"64:ff9b::8.8.8.8": true, "64:ff9b::127.0.0.1": false, "64:ff9b::168.63.129.16": false, "64:ff9b:1::8.8.8.8": false,
		"2a01:100:808:808::": true, "2a01:100:7f00:1::": false,
		"2a01:200:aa08:808:8::": true, "2a01:200:aa0a:0:1::": false,
		"2a01:300:bbcc:808:8:800::": true, "2a01:300:bbcc:a9fe:a9:fe00::": false,
		"2a01:400:ddee:ff08:8:808::": true, "2a01:400:ddee:ffc0:a8:1::": false,
		"2a01:500:1:2:8:808:800::": true, "2a01:500:1:2:7f:0:100::": false,
		"2a02::1": true,
	} {
		if err := g.check(netip.AddrPortFrom(netip.MustParseAddr(text), 443)); (err == nil) != ok {
			t.Errorf("%s: %v, want allowed %t", text, err, ok)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for want, s := range map[string]Settings{
		"settings: allow":       {Allow: []string{"localhost:80"}},
		"settings: allow: \"1":  {Allow: []string{"10.0.0.1"}},
		"settings: allow: \"[":  {Allow: []string{"[fe80::1%lo]:80"}},
		"settings: timeout":     {Timeout: "-1s"},
		"settings: maxBytes":    {MaxBytes: limitMaxBytes + 1},
		"settings: userAgent":   {UserAgent: "a\r\nCookie: b"},
		"settings: natPrefixes": {NATPrefixes: []string{"64:ff9b::/95"}},
	} {
		if _, err := s.Fetcher(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", s, err, want)
		}
	}
}
