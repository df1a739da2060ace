package policy

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// maxExponent bounds what is compared, and with it arithmetic on exponents.
const maxExponent = 1_000_000

// number is a JSON number taken apart: 0.digits times ten to the power of point, with no zero at either end
// of digits. Zero has no digits and no sign. Nothing is rounded.
type number struct {
	negative bool
	digits   string
	point    int
}

// parseNumber takes a number apart. It fails if text is no JSON number or its exponent is beyond maxExponent.
func parseNumber(text json.Number) (number, bool) {
	s := string(text)
	if strings.Trim(s, "+-.0123456789eE") != "" || !json.Valid([]byte(s)) {
		return number{}, false
	}
	rest, negative := strings.CutPrefix(s, "-")
	exponent := 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		e, err := strconv.Atoi(rest[i+1:])
		if err != nil || e > maxExponent || e < -maxExponent {
			return number{}, false
		}
		exponent, rest = e, rest[:i]
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	point := len(whole) + exponent - (len(whole) + len(fraction) - len(digits))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return number{}, true
	}
	return number{negative, digits, point}, true
}

// compare returns -1, 0 or 1.
func (a number) compare(b number) int {
	if s := a.sign(); s != b.sign() || s == 0 {
		return cmp.Compare(s, b.sign())
	}
	return a.sign() * cmp.Or(cmp.Compare(a.point, b.point), strings.Compare(a.digits, b.digits))
}

func (a number) sign() int {
	switch {
	case a.digits == "":
		return 0
	case a.negative:
		return -1
	}
	return 1
}
