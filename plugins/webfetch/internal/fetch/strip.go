package fetch

import (
	"context"
	"strings"

	"golang.org/x/net/html"
)

// stripTags is the text of markup without a tree: for pages the parser refuses (512 open elements) or that
// are over a budget. Linear in the markup; it stops early when ctx ends. Blocks end lines, pre keeps its
// blanks, entities are decoded.
func stripTags(ctx context.Context, markup string) document {
	z := html.NewTokenizer(strings.NewReader(markup))
	s := &stripper{}
	for n := 0; n%4096 != 0 || ctx.Err() == nil; n++ {
		switch z.Next() {
		case html.ErrorToken:
			return s.document()
		case html.TextToken:
			s.text(string(z.Text()))
		case html.StartTagToken:
			name, _ := z.TagName()
			s.open(string(name))
		case html.EndTagToken:
			name, _ := z.TagName()
			s.close(string(name))
		case html.SelfClosingTagToken:
			name, _ := z.TagName()
			s.line(string(name))
		}
	}
	return s.document()
}

// stripper collects text.
type stripper struct {
	out, title strings.Builder
	skip       string // the element whose content is left out
	inTitle    bool
	pre        int
	blank      bool // a blank is due
	fresh      bool // at the start of a line that a block began
}

func (s *stripper) document() document {
	return document{
		title:   strings.Join(strings.Fields(s.title.String()), " "),
		content: strings.TrimSpace(s.out.String()),
		format:  formatText,
	}
}

func (s *stripper) open(name string) {
	switch {
	case s.skip != "":
		return
	case isSkipped(name):
		s.skip = name
	case name == "title":
		s.inTitle = true
	case name == "pre":
		s.line(name)
		s.pre++
	default:
		s.line(name)
	}
}

func (s *stripper) close(name string) {
	switch {
	case s.skip == name:
		s.skip = ""
	case s.skip != "":
		return
	case name == "title":
		s.inTitle = false
	case name == "pre":
		s.pre = max(0, s.pre-1)
		s.line(name)
	default:
		s.line(name)
	}
}

// line ends the line if name is a block.
func (s *stripper) line(name string) {
	if s.skip != "" || s.fresh || !(isContainer(name) || isLeafBlock(name)) {
		if isCell(name) {
			s.blank = true
		}
		return
	}
	s.out.WriteByte('\n')
	s.fresh, s.blank = true, false
}

func (s *stripper) text(text string) {
	switch {
	case s.skip != "":
	case s.inTitle:
		s.title.WriteString(text)
	case s.pre > 0:
		s.out.WriteString(text)
		s.fresh, s.blank = strings.HasSuffix(text, "\n"), false
	default:
		s.words(text)
	}
}

func (s *stripper) words(text string) {
	fields := strings.Fields(text)
	if len(fields) == 0 {
		s.blank = s.blank || text != ""
		return
	}
	if (s.blank || isBlank(text[0])) && !s.fresh {
		s.out.WriteByte(' ')
	}
	for i, f := range fields {
		if i > 0 {
			s.out.WriteByte(' ')
		}
		s.out.WriteString(f)
	}
	s.fresh, s.blank = false, isBlank(text[len(text)-1])
}

func isBlank(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' || b == '\f' }

func isCell(name string) bool { return name == "td" || name == "th" }

// isSkipped lists elements whose content the tokenizer hands over as one text, and which is not for readers.
func isSkipped(name string) bool {
	switch name {
	case "script", "style", "noscript", "iframe", "noembed", "noframes", "textarea", "xmp":
		return true
	}
	return false
}

// isLeafBlock lists the blocks that hold text.
func isLeafBlock(name string) bool {
	switch name {
	case "p", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "hr", "br", "figcaption", "caption", "summary", "legend", "title":
		return true
	}
	return false
}
