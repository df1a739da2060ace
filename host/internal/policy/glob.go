package policy

import "strings"

// glob is a pattern in which * stands for any text. Matching takes time linear in the text. The zero value
// was not given.
type glob struct {
	text  string
	parts []string // between the stars; nil if not given
}

func newGlob(text string) glob {
	if text == "" {
		return glob{}
	}
	return glob{text, strings.Split(text, "*")}
}

func (g glob) given() bool { return g.parts != nil }

// match reports whether the whole of s matches.
func (g glob) match(s string) bool {
	last := len(g.parts) - 1
	if last == 0 {
		return s == g.text
	}
	s, ok := strings.CutPrefix(s, g.parts[0])
	if !ok {
		return false
	}
	for _, part := range g.parts[1:last] {
		if _, s, ok = strings.Cut(s, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(s, g.parts[last])
}

// known matches what may be unknown, which an empty text says: allow rules do not match it, and a pattern
// that matches any text cannot tell.
func (g glob) known(s string, action Action) verdict {
	switch {
	case !g.given():
		return yes
	case s != "":
		return truth(g.match(s))
	case action != Allow && g.match(""):
		return unknown
	}
	return no
}

// anyKnown matches one of several.
func (g glob) anyKnown(list []string, action Action) verdict {
	if len(list) == 0 {
		return g.known("", action)
	}
	one := no
	for _, s := range list {
		one = max(one, g.known(s, action))
	}
	return one
}
