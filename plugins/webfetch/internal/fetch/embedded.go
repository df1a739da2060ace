package fetch

import (
	"encoding/binary"
	"net/netip"
)

// embeddedIPv4 decodes an IPv6 address that carries an IPv4 address: mapped, compatible, translated, NAT64
// (well-known and local-use), 6to4, Teredo (the client) and ISATAP. It does not decide anything.
func embeddedIPv4(ip netip.Addr) (form string, inner netip.Addr, ok bool) {
	if !ip.Is6() {
		return "", netip.Addr{}, false
	}
	b := ip.As16()
	hi := binary.BigEndian.Uint64(b[:8])
	mid := binary.BigEndian.Uint32(b[8:12])
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case hi == 0 && mid == 0x0000ffff:
		return "IPv4-mapped", last, true
	case hi == 0 && mid == 0xffff0000:
		return "IPv4-translated", last, true
	case hi == 0 && mid == 0 && binary.BigEndian.Uint32(b[12:]) > 1: // :: and ::1 are no IPv4
		return "IPv4-compatible", last, true
	case hi == 0x0064ff9b_00000000 && mid == 0:
		return "NAT64", last, true
	case hi>>16 == 0x0064ff9b_0001: // 64:ff9b:1::/48
		return "NAT64", netip.AddrFrom4([4]byte{b[6], b[7], b[9], b[10]}), true
	case hi>>48 == 0x2002:
		return "6to4", netip.AddrFrom4([4]byte(b[2:6])), true
	case hi>>32 == 0x20010000:
		return "Teredo", netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	case mid == 0x00005efe || mid == 0x02005efe:
		return "ISATAP", last, true
	}
	return "", netip.Addr{}, false
}

// nat64Embedded is the IPv4 address inside an address of a NAT64 prefix of the given length (RFC 6052: 32,
// 40, 48, 56, 64 or 96 bits; byte 8 is always zero and skipped).
func nat64Embedded(ip netip.Addr, bits int) (netip.Addr, bool) {
	if !ip.Is6() || !nat64Length(bits) {
		return netip.Addr{}, false
	}
	b := ip.As16()
	var v4 [4]byte
	for i, at := 0, bits/8; i < 4; at++ {
		if at == 8 {
			continue
		}
		v4[i] = b[at]
		i++
	}
	return netip.AddrFrom4(v4), true
}

func nat64Length(bits int) bool {
	switch bits {
	case 32, 40, 48, 56, 64, 96:
		return true
	}
	return false
}
