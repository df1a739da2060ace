package fetch

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

const (
	defaultTimeout  = 30 * time.Second
	maxTimeout      = 10 * time.Minute
	defaultMaxBytes = 8 << 20
	limitMaxBytes   = 32 << 20
	defaultAgent    = "toolhost-webfetch/1.0 (+https://github.com/toolhost/toolhost)"
)

// Settings are the operator's. The zero value fetches public addresses only.
type Settings struct {
	// Allow names addresses that may be fetched although they are not public or the port is not 80 or 443:
	// exact "address:port" pairs such as "127.0.0.1:8080" or "[::1]:8080". Names are not taken: the check is
	// on what is dialled.
	Allow []string `json:"allow,omitempty" jsonschema_description:"Addresses that may be fetched although they are not public: exact address:port pairs such as 127.0.0.1:8080"`
	// UserAgent is sent with every request. If empty, the plugin names itself.
	UserAgent string `json:"userAgent,omitempty" jsonschema_description:"The User-Agent header of every request"`
	// Timeout bounds one whole fetch, as a Go duration such as "30s". If empty, 30s; at most 10m.
	Timeout string `json:"timeout,omitempty" jsonschema_description:"Time limit of one whole fetch such as 30s (the default); at most 10m"`
	// MaxBytes bounds a body after decompression; what is longer is cut. If 0, 8 MiB; at most 32 MiB.
	MaxBytes int64 `json:"maxBytes,omitempty" jsonschema:"minimum=0,maximum=33554432" jsonschema_description:"Bytes of a body after decompression; a longer one is cut. Default 8388608"`
	// NATPrefixes are the NAT64 prefixes of this network (32, 40, 48, 56, 64 or 96 bits): an address in one
	// is judged by the IPv4 address inside. Without one, such an address in 2000::/3 cannot be told from any
	// other, and 64:ff9b::/96 is refused.
	NATPrefixes []string `json:"natPrefixes,omitempty" jsonschema_description:"NAT64 prefixes of this network such as 64:ff9b::/96; addresses in them are judged by the IPv4 address inside"`
}

// Fetcher is a Fetcher with these settings, or what is wrong with them.
func (s Settings) Fetcher() (*Fetcher, error) {
	f := &Fetcher{userAgent: s.UserAgent, timeout: defaultTimeout, maxBytes: s.MaxBytes, convert: newPageConverter()}
	if f.userAgent == "" {
		f.userAgent = defaultAgent
	}
	if strings.ContainsFunc(f.userAgent, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		return nil, fmt.Errorf("settings: userAgent: only printable ASCII can be sent")
	}
	if f.maxBytes == 0 {
		f.maxBytes = defaultMaxBytes
	}
	if f.maxBytes < 0 || f.maxBytes > limitMaxBytes {
		return nil, fmt.Errorf("settings: maxBytes: %d is not from 1 to %d", f.maxBytes, limitMaxBytes)
	}
	if s.Timeout != "" {
		d, err := time.ParseDuration(s.Timeout)
		if err != nil || d <= 0 || d > maxTimeout {
			return nil, fmt.Errorf("settings: timeout: %q is not a duration from 1ms to %s, such as 30s", s.Timeout, maxTimeout)
		}
		f.timeout = d
	}
	var allow []netip.AddrPort
	for _, text := range s.Allow {
		ap, err := netip.ParseAddrPort(text)
		if err != nil || ap.Port() == 0 || ap.Addr().Zone() != "" {
			return nil, fmt.Errorf("settings: allow: %q is not an address:port pair such as 127.0.0.1:8080", text)
		}
		allow = append(allow, netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()))
	}
	var nat []netip.Prefix
	for _, text := range s.NATPrefixes {
		p, err := netip.ParsePrefix(text)
		if err != nil || !p.Addr().Is6() || p.Addr().Is4In6() || !nat64Length(p.Bits()) || p.Masked() != p {
			return nil, fmt.Errorf("settings: natPrefixes: %q is not an IPv6 prefix of 32, 40, 48, 56, 64 or 96 bits such as 64:ff9b::/96", text)
		}
		nat = append(nat, p)
	}
	f.dialer = dialer{guard: newGuard(allow, nat), resolver: systemResolver()}
	return f, nil
}
