package scan

import (
	"strings"
	"unicode"
)

// Mention is a word that may be the name of a tool, if there is one of that name.
type Mention struct {
	Name string // tool, or plugin/tool
	Path string // where it stands first
}

// Finding is the finding that the mention is, if it names a tool of another plugin.
func (m Mention) Finding() Finding {
	return Finding{Rule: ToolName, Path: visible(m.Path, maxPath), Quote: visible(m.Name, quoteMax)}
}

// mentions keeps the words of a sentence that are written as tools are named: with _ or -, in quotes, with a capital
// or a digit within, or beside the word tool. Ordinary words, such as search, count only there.
func (s *scanner) mentions(path func() string, text string) {
	if !strings.ContainsRune(text, ' ') {
		return
	}
	last := -1 // where the word tool ended
	for i := 0; i < len(text); {
		start := i
		for i < len(text) && inName(text[i]) {
			i++
		}
		if i == start {
			i++
			continue
		}
		name := strings.Trim(text[start:i], "/-")
		quoted := start > 0 && i < len(text) && strings.IndexByte("`'\"", text[start-1]) >= 0 && text[i] == text[start-1]
		beside := last >= 0 && last == start-1 && text[last] == ' ' || isTool(nextWord(text[i:]))
		if isTool(name) {
			last = i
		}
		if len(name) > 129 || name == "" || isTool(name) || s.mentioned[name] || !quoted && !beside && !written(name) {
			continue
		}
		s.mentioned[name] = true
		s.report.Mentions = append(s.report.Mentions, Mention{name, path()})
	}
}

func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '/'
}

func isTool(w string) bool {
	return strings.EqualFold(w, "tool") || strings.EqualFold(w, "tools") || strings.EqualFold(w, "function")
}

// nextWord is the word behind one blank.
func nextWord(s string) string {
	s = strings.TrimPrefix(s, " ")
	end := 0
	for end < len(s) && inName(s[end]) {
		end++
	}
	return s[:end]
}

// written reports names that no ordinary word looks like.
func written(name string) bool {
	for i := 1; i < len(name); i++ {
		switch c := name[i]; {
		case c == '_', c == '-', c == '/', c >= '0' && c <= '9':
			return true
		case c >= 'A' && c <= 'Z' && name[i-1] >= 'a' && name[i-1] <= 'z':
			return true
		}
	}
	return false
}

// Skeletons returns what is left of a name for an eye that takes l, I and 1 for one, O and 0, rn and m, and Cyrillic
// and Greek letters for the Latin ones that they look like; and what is left without case. Two names that have one of
// the two in common look alike (T18).
func Skeletons(name string) (shape, folded string) {
	latin := strings.Map(func(r rune) rune {
		if l := latinOf(r); l != 0 {
			return l
		}
		return r
	}, name)
	folded = strings.ToLower(latin)
	shape = strings.Map(func(r rune) rune {
		switch r {
		case 'I', '1', '|':
			return 'l'
		case 'O', 'o', '0':
			return '0'
		}
		return unicode.ToLower(r)
	}, latin)
	return strings.ReplaceAll(shape, "rn", "m"), folded
}

// latinOf is the Latin letter that a Cyrillic or Greek one looks like; 0: none.
func latinOf(r rune) rune {
	if r < 0x370 || r > 0x51d {
		return 0
	}
	const (
		others = "асԁеһіјӏорԛѕԝхуАВСЕНІЈКМОРЅТХУΑΒΕΖΗΙΚΜΝΟΡΤΥΧοραικνυ"
		latin  = "acdehijlopqswxyABCEHIJKMOPSTXYABEZHIKMNOPTYXopaikvu"
	)
	at := 0
	for _, o := range others {
		if o == r {
			return rune(latin[at])
		}
		at++
	}
	return 0
}
