package launch

import (
	"bytes"
	"regexp"
	"strings"
)

const (
	// lineLimit is the longest line that is kept whole (O1).
	lineLimit = 64 << 10
	// tailLimit is how much of stderr is kept as evidence.
	tailLimit = 64 << 10
	// headLimit is how much of a panic is kept.
	headLimit = 4 << 10
)

// lineCutter cuts a stream into lines. The zero value is ready.
type lineCutter struct {
	text []byte
	lost int // bytes of the current line beyond lineLimit
}

// cut calls line with every line that data completes. The text is a copy.
func (c *lineCutter) cut(data []byte, line func(text []byte, cut int)) {
	for {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		c.add(part)
		if !whole {
			return
		}
		c.flush(line)
		data = rest
	}
}

// end calls line with an unfinished line, if there is one.
func (c *lineCutter) end(line func(text []byte, cut int)) {
	if len(c.text) > 0 {
		c.flush(line)
	}
}

func (c *lineCutter) add(part []byte) {
	keep := min(len(part), lineLimit-len(c.text))
	c.text = append(c.text, part[:keep]...)
	c.lost += len(part) - keep
}

func (c *lineCutter) flush(line func([]byte, int)) {
	text, lost := c.text, c.lost
	c.text, c.lost = nil, 0
	line(text, lost)
}

// panicStart matches the first line of what a Go runtime prints before it exits
// with status 2.
var panicStart = regexp.MustCompile(`^(?:panic: |fatal error: |SIG[A-Z]+: )`)

// tail keeps the end of stderr, and the head of the last panic in it (C5).
type tail struct {
	data []byte
	head strings.Builder
	open bool // lines still belong to the head
}

func (t *tail) write(p []byte) {
	t.data = append(t.data, p...)
	if len(t.data) > 2*tailLimit {
		t.data = append(t.data[:0], t.data[len(t.data)-tailLimit:]...)
	}
}

// line looks for a panic. It sees whole lines.
func (t *tail) line(text []byte) {
	switch {
	case panicStart.Match(text):
		t.head.Reset()
		t.open = true
	case !t.open:
		return
	default:
		t.head.WriteByte('\n')
	}
	room := headLimit - t.head.Len()
	if len(text) >= room {
		text, t.open = text[:max(room, 0)], false
	}
	t.head.Write(text)
}

// last is a copy of the last tailLimit bytes.
func (t *tail) last() []byte {
	return bytes.Clone(t.data[max(0, len(t.data)-tailLimit):])
}
