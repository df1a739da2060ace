package scan

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The rules.
const (
	Invisible   = "invisible"    // a character that nobody sees; always an error
	Imperative  = "imperative"   // words that command the model
	RoleMarkup  = "role_markup"  // marks that set roles in a conversation, such as <system>
	ToolName    = "tool_name"    // the name of another plugin's tool
	SecretPath  = "secret_path"  // a file that holds secrets
	Placeholder = "placeholder"  // a URL with a place to fill in
	Base64      = "base64"       // a long block of what may be base64
	MixedScript = "mixed_script" // a word of Latin letters and some that only look like them
)

const (
	// MaxFindings is how many findings of one definition are kept.
	MaxFindings = 20
	// quoteMax is the longest quote, in characters.
	quoteMax = 60
	// maxPath is the longest path of a finding, in bytes.
	maxPath = 256
	// MaxScore is the highest score of a definition.
	MaxScore = 100
)

// Weight is what a finding of a rule adds to the score of a definition.
func Weight(rule string) int {
	switch rule {
	case Invisible:
		return MaxScore
	case Imperative, RoleMarkup, SecretPath, MixedScript:
		return 30
	case Placeholder, Base64:
		return 20
	}
	return 10
}

// Part is one text of a definition.
type Part struct {
	Path   string // where it stands, such as /description
	Text   []byte // may be empty
	JSON   bool   // Text is valid JSON, all strings and keys of which are scanned; else it is the text itself
	Images bool   // long base64 is nothing special here
}

// Finding is one place of a definition that a rule names.
type Finding struct {
	Rule  string
	Path  string // JSON Pointer within the definition
	Quote string // at most 60 characters of the text; what has no shape is escaped
}

// Report is what Scan found.
type Report struct {
	Hidden   *Finding  // the first character that nobody sees: the definition must be refused; nil: there is none
	Findings []Finding // without Hidden; at most 20, one a rule and string
	Mentions []Mention // what may be names of tools, each once
}

// Scan reads a definition by the fixed rules. It costs time and memory linear in the length of the texts.
func Scan(parts []Part) Report {
	s := scanner{mentioned: map[string]bool{}}
	for _, p := range parts {
		s.images = p.Images
		if !p.JSON {
			s.text(func() string { return p.Path }, string(p.Text), false)
			continue
		}
		w := walker{text: p.Text, visit: func(path func() string, text string, key bool) {
			s.text(func() string { return p.Path + path() }, text, key)
		}}
		w.value()
	}
	return s.report
}

type scanner struct {
	report    Report
	images    bool
	mentioned map[string]bool
}

// text applies every rule to one string.
func (s *scanner) text(path func() string, text string, key bool) {
	ascii := isASCII(text)
	if s.report.Hidden == nil && !ascii {
		if i := firstHidden(text); i >= 0 {
			f := finding(Invisible, path, text, lead(text, i))
			s.report.Hidden = &f
		}
	}
	lower := strings.ToLower(text)
	if !ascii { // places in one must be those in the other
		lower = asciiLower(text)
	}
	s.add(Imperative, path, text, imperative(lower))
	s.add(RoleMarkup, path, text, roleMarkup(lower))
	s.add(SecretPath, path, text, secretPath(lower))
	s.add(Placeholder, path, text, placeholder(lower))
	s.add(MixedScript, path, text, mixedScript(text))
	if !s.images {
		s.add(Base64, path, text, base64Block(text))
	}
	if !key {
		s.mentions(path, text)
	}
}

// add keeps a finding at a place of text; -1: there is none.
func (s *scanner) add(rule string, path func() string, text string, at int) {
	if at >= 0 && len(s.report.Findings) < MaxFindings {
		s.report.Findings = append(s.report.Findings, finding(rule, path, text, at))
	}
}

func finding(rule string, path func() string, text string, at int) Finding {
	p := path()
	if len(p) > maxPath {
		p = p[:maxPath] + "..."
	}
	return Finding{Rule: rule, Path: visible(p, maxPath+3), Quote: visible(text[at:], quoteMax)}
}

// Visible returns at most 60 characters that say what s begins with. What has no shape is escaped.
func Visible(s string) string { return visible(s, quoteMax) }

// lead is a place a few characters before at.
func lead(text string, at int) int {
	for range 12 {
		_, n := utf8.DecodeLastRuneInString(text[:at])
		at -= n
	}
	return at
}

// visible returns at most most characters that say what s begins with. Whatever cannot be seen is escaped.
func visible(s string, most int) string {
	var b strings.Builder
	for left := most; s != ""; {
		r, size := utf8.DecodeRuneInString(s)
		piece := s[:size]
		switch {
		case r == utf8.RuneError && size == 1:
			piece = fmt.Sprintf(`\x%02x`, s[0])
		case r == '\n':
			piece = `\n`
		case r == '\t':
			piece = `\t`
		case !strconv.IsPrint(r) || Shapeless(r):
			piece = fmt.Sprintf(`\u{%04x}`, r)
		}
		s = s[size:]
		n := utf8.RuneCountInString(piece)
		if n > left || n == left && s != "" {
			b.WriteString("…")
			break
		}
		left -= n
		b.WriteString(piece)
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
