package schema

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

// decimal is a JSON number taken apart without arithmetic: 0.d1d2d3... times ten to the power of point, where
// d1 and the last digit are not 0. The digits are head followed by tail, both parts of the number's text.
// Zero has no digits. Comparing two takes time linear in their digits, whatever their exponents (T1).
type decimal struct {
	text       json.Number
	negative   bool
	head, tail string
	point      int
}

// parseDecimal takes a valid number apart.
func parseDecimal(n json.Number) decimal {
	text := string(n)
	d := decimal{text: n}
	if text[0] == '-' {
		d.negative, text = true, text[1:]
	}
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(text[i+1:]) // the scanner bounds it
		text = text[:i]
	}
	d.head = text
	if i := strings.IndexByte(text, '.'); i >= 0 {
		d.head, d.tail = text[:i], strings.TrimRight(text[i+1:], "0")
	}
	d.head = strings.TrimLeft(d.head, "0")
	d.point = len(d.head) + exponent
	if d.head == "" {
		whole := len(d.tail)
		d.tail = strings.TrimLeft(d.tail, "0")
		d.point -= whole - len(d.tail)
	}
	if d.tail == "" {
		d.head = strings.TrimRight(d.head, "0")
	}
	if d.digits() == 0 {
		return decimal{text: n}
	}
	return d
}

// String is the number as it was spelled, cut to 100 bytes.
func (d *decimal) String() string { return cut(string(d.text), maxQuote) }

func (d *decimal) digits() int { return len(d.head) + len(d.tail) }

func (d *decimal) digit(i int) byte {
	switch {
	case i < len(d.head):
		return d.head[i]
	case i < d.digits():
		return d.tail[i-len(d.head)]
	}
	return '0'
}

func (d *decimal) isInteger() bool { return d.digits() == 0 || d.point >= d.digits() }

// compare is negative, zero or positive as d is less than, equal to or greater than e.
func (d *decimal) compare(e *decimal) int {
	if d.sign() != e.sign() || d.sign() == 0 {
		return d.sign() - e.sign()
	}
	size := d.point - e.point
	for i := 0; size == 0 && i < max(d.digits(), e.digits()); i++ {
		size = int(d.digit(i)) - int(e.digit(i))
	}
	return size * d.sign()
}

func (d *decimal) sign() int {
	switch {
	case d.digits() == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// smallInt reads an integer of at most 18 digits written without fraction and exponent.
func smallInt(n json.Number) (int64, bool) {
	if len(n) > 18 {
		return 0, false
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	return i, err == nil
}

// rat is the number as a fraction. The scanner's limits keep it under a thousand digits.
func rat(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return new(big.Rat) // cannot happen for a number the scanner accepted
	}
	return r
}
