package schema

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxControlToken bounds a model's control token, such as <|call|>.
const maxControlToken = 128

// maxDate bounds a bare date-time.
const maxDate = 40

// mend rewrites a text that is almost JSON as JSON, or says where it is too far from it. Mended are, and nothing else (V-16):
// a byte order mark at the start, one code fence around everything, control tokens between JSON tokens, single quotes,
// bare names, names without their first quote, commas before a closing bracket, bare ISO dates and date-times in objects and arrays,
// and raw control characters in strings. White space, numbers and strings that are JSON stay as they are.
// A text that was cut off is never completed.
// It is one pass over tokens, so its time is linear and the inside of a string is never taken for anything else.
func mend(text string, lim Limits) ([]byte, error) {
	lim = lim.withDefaults()
	m := mender{scanner: scanner{text: text, lim: lim}, out: make([]byte, 0, len(text)+64)}
	m.document()
	if m.err != nil {
		return nil, m.err
	}
	return m.out, nil
}

// mender reads with the scanner's own functions where a token must be JSON.
type mender struct {
	scanner
	out     []byte
	open    []byte // the brackets that are open
	scratch []byte
}

func (m *mender) document() {
	m.pos = len(m.text) - len(strings.TrimPrefix(m.text, "\uFEFF"))
	m.gap()
	fenced := m.fence()
	if fenced {
		for m.pos < len(m.text) && (isNamePart(rune(m.text[m.pos])) || m.text[m.pos] == '+') && m.text[m.pos] < utf8.RuneSelf {
			m.pos++
		}
		m.gap()
	}
	m.values()
	m.gap()
	if fenced && m.err == nil && !m.fence() {
		m.syntax("the end of the code fence")
		return
	}
	if m.gap(); m.err == nil && m.pos < len(m.text) {
		m.syntax("the end of the text")
	}
}

// fence passes over the three backticks of a code fence, if they are here.
func (m *mender) fence() bool {
	if !strings.HasPrefix(m.text[m.pos:], "```") {
		return false
	}
	m.pos += 3
	return true
}

// gap copies white space and leaves control tokens out.
func (m *mender) gap() {
	for {
		start := m.pos
		m.space()
		m.out = append(m.out, m.text[start:m.pos]...)
		size := controlToken(m.text[m.pos:])
		if size == 0 {
			return
		}
		m.pos += size
	}
}

// controlToken is the length of the control token that the text begins with, or 0.
func controlToken(text string) int {
	if !strings.HasPrefix(text, "<|") {
		return 0
	}
	for i := 2; i+1 < min(len(text), maxControlToken); i++ {
		switch c := text[i]; {
		case c == '|' && text[i+1] == '>' && i > 2:
			return i + 2
		case c < ' ' || strings.IndexByte(`"'<>|{}[],`, c) >= 0:
			return 0
		}
	}
	return 0
}

// values copies a value and all within it. It keeps its own stack, so a deep text costs no recursion.
func (m *mender) values() {
	for m.err == nil {
		m.gap()
		switch {
		case m.at('{') || m.at('['):
			if m.begin() {
				continue
			}
		default:
			m.scalar()
		}
		if m.err != nil || !m.next() {
			return
		}
	}
}

// begin opens an object or an array; it reports whether a value must follow.
func (m *mender) begin() bool {
	c := m.text[m.pos]
	if len(m.open) >= m.lim.Depth {
		m.limit("levels of nesting", m.lim.Depth)
		return false
	}
	m.open = append(m.open, c)
	m.copy(1)
	m.gap()
	if m.at(closing(c)) {
		m.end()
		return false
	}
	if c == '{' {
		m.name()
	}
	return true
}

// next goes on after a value: it closes what ends here and reports whether another value follows.
func (m *mender) next() bool {
	for len(m.open) > 0 {
		m.gap()
		if len(m.out) > m.lim.Bytes {
			m.limit("bytes of text", m.lim.Bytes)
			return false
		}
		top := m.open[len(m.open)-1]
		if m.at(closing(top)) {
			m.end()
			continue
		}
		if !m.at(',') {
			m.syntax("',' or '" + string(closing(top)) + "'")
			return false
		}
		comma := len(m.out)
		m.copy(1)
		m.gap()
		if m.at(closing(top)) {
			m.out = append(m.out[:comma], m.out[comma+1:]...)
			m.end()
			continue
		}
		if top == '{' {
			m.name()
		}
		return m.err == nil
	}
	return false
}

func (m *mender) end() {
	m.open = m.open[:len(m.open)-1]
	m.copy(1)
}

func closing(bracket byte) byte { return bracket + 2 } // both in ASCII: [ and ], { and }

func (m *mender) copy(n int) {
	m.out = append(m.out, m.text[m.pos:m.pos+n]...)
	m.pos += n
}

// name copies a member's name and its colon.
func (m *mender) name() {
	switch {
	case m.at('"'), m.at('\''):
		m.quoted()
	default:
		m.bare()
	}
	if m.err != nil {
		return
	}
	if m.gap(); !m.at(':') {
		m.syntax("':'")
		return
	}
	m.copy(1)
}

// bare copies a name without quotes, or without the first of them.
func (m *mender) bare() {
	start := m.pos
	for m.pos < len(m.text) {
		r, size := utf8.DecodeRuneInString(m.text[m.pos:])
		if !isNamePart(r) || m.pos == start && (unicode.IsDigit(r) || r == '-') {
			break
		}
		m.pos += size
	}
	if m.pos == start {
		m.syntax("a member name")
		return
	}
	m.out = append(append(append(m.out, '"'), m.text[start:m.pos]...), '"')
	if m.at('"') || m.at('\'') {
		m.pos++
	}
}

func isNamePart(r rune) bool {
	return r == '_' || r == '$' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

func (m *mender) scalar() {
	start := m.pos
	switch {
	case m.pos >= len(m.text):
		m.syntax("a value")
		return
	case m.at('"'), m.at('\''):
		m.quoted()
		return
	case m.at('-') || m.text[m.pos]-'0' <= 9:
		if size := isoDate(m.text[m.pos:]); size > 0 && len(m.open) > 0 {
			m.pos += size
			m.out = append(append(append(m.out, '"'), m.text[start:m.pos]...), '"')
			return
		}
		m.number()
	case m.at('t'):
		m.word("true", nil)
	case m.at('f'):
		m.word("false", nil)
	case m.at('n'):
		m.word("null", nil)
	default:
		m.syntax("a value")
	}
	if m.err == nil {
		m.out = append(m.out, m.text[start:m.pos]...)
	}
}

// quoted copies a string in either quotes.
func (m *mender) quoted() {
	text, quote := m.text, m.text[m.pos]
	m.out = append(m.out, '"')
	start := m.pos + 1 // of what is not copied yet
	for i := start; i < len(text); {
		switch c := text[i]; {
		case c == quote:
			m.out = append(append(m.out, text[start:i]...), '"')
			m.pos = i + 1
			return
		case c == '\\' && quote == '\'' && strings.HasPrefix(text[i+1:], "'"):
			m.out = append(append(m.out, text[start:i]...), '\'')
			i += 2
			start = i
		case c == '\\':
			if m.scratch, i = m.escape(m.scratch[:0], i); m.err != nil {
				return
			}
		case c == '"' || c < ' ':
			m.out = appendEscaped(append(m.out, text[start:i]...), c)
			i++
			start = i
		default:
			i++
		}
	}
	m.pos = len(text)
	m.syntax(`'` + string(quote) + `' at the end of a string`)
}

// appendEscaped appends a character that a string cannot hold as it is.
func appendEscaped(out []byte, c byte) []byte {
	quoted, err := json.Marshal(string(rune(c)))
	if err != nil {
		return out // cannot happen: a character always encodes
	}
	return append(out, quoted[1:len(quoted)-1]...)
}

// isoDate is the length of the ISO date or date-time that the text begins with; 0 if there is none or something is
// stuck to it.
func isoDate(text string) int {
	if len(text) < len(time.DateOnly) || text[4] != '-' {
		return 0
	}
	text = text[:min(len(text), maxDate)]
	if i := strings.IndexAny(text, " \t\r\n,]}<"); i >= 0 {
		text = text[:i]
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", time.RFC3339} {
		if _, err := time.Parse(layout, text); err == nil {
			return len(text)
		}
	}
	return 0
}
