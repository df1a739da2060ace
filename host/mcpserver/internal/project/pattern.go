package project

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Two things can be odd about a pattern that the host enforces. With look-around or a back reference, engines without
// backtracking refuse it; and what is not valid in JavaScript with the u flag makes TypeScript clients refuse the schema,
// of an output even the whole list (R7).

// lookAround reports whether a pattern has look-around or a back reference.
func lookAround(pattern string) bool {
	p := patternReader{rest: pattern}
	return p.read() && p.looks
}

// portable reports whether a pattern is valid in JavaScript with the u flag. It may say no to what is valid, not yes to what is
// not: property names beyond general categories and scripts, and modifiers, count as invalid.
func portable(pattern string) bool {
	p := patternReader{rest: pattern}
	return p.read()
}

// patternReader checks the syntax of a pattern.
type patternReader struct {
	rest   string
	depth  int
	groups int
	names  []string // of groups
	refs   []string // to named groups
	ref    int      // the greatest back reference by number
	looks  bool
}

func (p *patternReader) read() bool {
	if !utf8.ValidString(p.rest) || !p.alternatives() || p.rest != "" || p.ref > p.groups {
		return false
	}
	seen := map[string]bool{}
	for _, n := range p.names {
		if seen[n] {
			return false
		}
		seen[n] = true
	}
	return all(p.refs, func(n string) bool { return seen[n] })
}

// take consumes a prefix.
func (p *patternReader) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *patternReader) next() rune {
	r, n := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[n:]
	return r
}

func (p *patternReader) alternatives() bool {
	if p.depth++; p.depth > 100 {
		return false
	}
	defer func() { p.depth-- }()
	for p.rest != "" && p.rest[0] != ')' {
		if p.take("|") {
			continue
		}
		repeats, ok := p.term()
		if !ok || !p.quantifier(repeats) {
			return false
		}
	}
	return true
}

// term reads an atom or an assertion; repeats says whether a quantifier may follow.
func (p *patternReader) term() (repeats, ok bool) {
	switch p.next() {
	case '^', '$':
		return false, true
	case '.':
		return true, true
	case '(':
		return p.group()
	case '[':
		return true, p.class()
	case '\\':
		if p.take("b") || p.take("B") {
			return false, true
		}
		_, ok := p.escape(false)
		return true, ok
	case '*', '+', '?', '{', '}', ']', ')':
		return false, false
	}
	return true, true
}

func (p *patternReader) group() (repeats, ok bool) {
	repeats = true
	switch {
	case p.take("?:"):
	case p.take("?="), p.take("?!"), p.take("?<="), p.take("?<!"):
		repeats, p.looks = false, true
	case p.take("?<"):
		name, rest, found := strings.Cut(p.rest, ">")
		if !found || !isWord(name) {
			return false, false
		}
		p.rest = rest
		p.names = append(p.names, name)
		p.groups++
	case strings.HasPrefix(p.rest, "?"):
		return false, false
	default:
		p.groups++
	}
	return repeats, p.alternatives() && p.take(")")
}

func isWord(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") == ""
}

// quantifier reads what may follow an atom.
func (p *patternReader) quantifier(allowed bool) bool {
	switch {
	case p.take("*"), p.take("+"), p.take("?"):
	case strings.HasPrefix(p.rest, "{"):
		bounds, rest, found := strings.Cut(p.rest[1:], "}")
		least, most, isRange := strings.Cut(bounds, ",")
		if !found || !isNumber(least) || isRange && most != "" && (!isNumber(most) || number(most) < number(least)) {
			return false
		}
		p.rest = rest
	default:
		return true
	}
	p.take("?")
	return allowed
}

func isNumber(s string) bool { return s != "" && len(s) < 10 && strings.Trim(s, "0123456789") == "" }

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// class reads a character class behind its bracket.
func (p *patternReader) class() bool {
	p.take("^")
	for p.rest != "" {
		if p.take("]") {
			return true
		}
		from, ok := p.classAtom()
		if !ok {
			return false
		}
		if strings.HasPrefix(p.rest, "-") && !strings.HasPrefix(p.rest, "-]") {
			p.take("-")
			to, ok := p.classAtom()
			if !ok || from < 0 || to < from {
				return false
			}
		}
	}
	return false
}

// classAtom reads one character; -1 for a set such as \d.
func (p *patternReader) classAtom() (rune, bool) {
	switch r := p.next(); {
	case r == '\\' && p.take("b"):
		return '\b', true
	case r == '\\' && p.take("-"):
		return '-', true
	case r == '\\':
		return p.escape(true)
	default:
		return r, true
	}
}

// escape reads what stands behind a backslash: the character that it means, or -1 for a set or a reference.
func (p *patternReader) escape(inClass bool) (rune, bool) {
	if p.rest == "" {
		return 0, false
	}
	switch r := p.next(); {
	case strings.ContainsRune("dDwWsS", r):
		return -1, true
	case r == 'p' || r == 'P':
		return -1, p.property()
	case strings.ContainsRune(`^$\.*+?()[]{}|/`, r):
		return r, true
	case strings.ContainsRune("tnvfr", r):
		return map[rune]rune{'t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r'}[r], true
	case r == '0':
		return 0, p.rest == "" || p.rest[0] < '0' || p.rest[0] > '9'
	case r == 'c':
		c := p.next()
		return c & 31, c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	case r == 'x':
		return p.hex(2)
	case r == 'u' && p.take("{"):
		digits, rest, found := strings.Cut(p.rest, "}")
		v, err := strconv.ParseUint(digits, 16, 32)
		p.rest = rest
		return rune(v), found && err == nil && v <= utf8.MaxRune
	case r == 'u':
		return p.hex(4)
	case r == 'k' && !inClass && p.take("<"):
		name, rest, found := strings.Cut(p.rest, ">")
		p.rest, p.looks = rest, true
		p.refs = append(p.refs, name)
		return -1, found
	case r >= '1' && r <= '9' && !inClass:
		digits := string(r)
		for p.rest != "" && p.rest[0] >= '0' && p.rest[0] <= '9' && len(digits) < 6 {
			digits += string(p.next())
		}
		p.ref, p.looks = max(p.ref, number(digits)), true
		return -1, true
	}
	return 0, false
}

func (p *patternReader) hex(n int) (rune, bool) {
	if len(p.rest) < n {
		return 0, false
	}
	v, err := strconv.ParseUint(p.rest[:n], 16, 32)
	p.rest = p.rest[n:]
	return rune(v), err == nil
}

// property reads the braces of \p.
func (p *patternReader) property() bool {
	if !p.take("{") {
		return false
	}
	name, rest, found := strings.Cut(p.rest, "}")
	p.rest = rest
	return found && knownProperty(name)
}

func knownProperty(name string) bool {
	for _, before := range []string{"Script=", "sc=", "Script_Extensions=", "scx="} {
		if script, ok := strings.CutPrefix(name, before); ok {
			return knownScript(script)
		}
	}
	for _, before := range []string{"General_Category=", "gc="} {
		name = strings.TrimPrefix(name, before)
	}
	known := " L Lu Ll Lt LC Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co Cn " +
		"Letter Number Punctuation Symbol Mark Separator Uppercase_Letter Lowercase_Letter Decimal_Number "
	return !strings.Contains(name, " ") && name != "" && strings.Contains(known, " "+name+" ")
}

func knownScript(name string) bool {
	known := " Latin Greek Cyrillic Han Hiragana Katakana Hangul Arabic Hebrew Thai Devanagari "
	return !strings.Contains(name, " ") && name != "" && strings.Contains(known, " "+name+" ")
}
