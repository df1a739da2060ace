package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// maxMessage bounds a message of a server: a line, a body, an event (R24).
const maxMessage = 32 << 20

// lines reads lines and keeps none that is longer than max: of such a one, it tells the JSON-RPC id.
type lines struct {
	r   *bufio.Reader
	max int
}

// tooLong is a line over the limit, all of which was read.
type tooLong struct {
	size int64
	id   json.RawMessage // the id at its top level, if there was one
}

func (e *tooLong) Error() string { return "the line is too long" }

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line without its end. The error is a *tooLong, after which it goes on, or the reader's, possibly with a
// last line that has no end.
func (l *lines) next() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		size := len(line) + len(part)
		if err == nil {
			size-- // the newline
		}
		if size > l.max {
			return nil, l.skip(line, part, err)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// skip reads to the end of the line of which start and part are read.
func (l *lines) skip(start, part []byte, err error) error {
	var scan idScanner
	scan.write(start)
	size := int64(len(start))
	for {
		scan.write(part)
		size += int64(len(part))
		switch {
		case err == nil:
			return &tooLong{size: size - 1, id: scan.id}
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
		part, err = l.r.ReadSlice('\n')
	}
}

// idScanner finds the value of the member id of an object that comes in parts, without keeping it. It does not check that
// the object is JSON.
type idScanner struct {
	id json.RawMessage

	depth   int
	quoted  bool // inside a string
	escaped bool // after a backslash
	value   bool // after the colon of a member of the object
	word    []byte
	name    string
}

// maxIDSize bounds an id, and what is taken for a name.
const maxIDSize = 128

func (s *idScanner) write(part []byte) {
	for i := 0; i < len(part); i++ {
		if s.quoted && !s.escaped && (s.depth != 1 || len(s.word) > maxIDSize) { // text that is not kept, which is most of it
			n := bytes.IndexByte(part[i:], '"')
			if n < 0 {
				n = len(part) - i
			}
			if e := bytes.IndexByte(part[i:i+n], '\\'); e >= 0 {
				n = e
			}
			if i += n; i == len(part) {
				return
			}
		}
		s.put(part[i])
	}
}

func (s *idScanner) put(c byte) {
	if s.quoted {
		s.keep(c)
		switch {
		case s.escaped:
			s.escaped = false
		case c == '\\':
			s.escaped = true
		case c == '"':
			s.quoted = false
		}
		return
	}
	switch c {
	case '"':
		s.quoted = true
		s.keep(c)
	case '{', '[':
		s.depth++
		s.word = s.word[:0]
	case '}', ']':
		s.end()
		s.depth--
	case ':':
		if s.depth == 1 {
			s.name, s.value = string(s.word), true
			s.word = s.word[:0]
		}
	case ',':
		s.end()
	case ' ', '\t', '\r', '\n':
	default:
		s.keep(c)
	}
}

// keep gathers the bytes of a name or a plain value of the object itself.
func (s *idScanner) keep(c byte) {
	if s.depth == 1 && len(s.word) <= maxIDSize {
		s.word = append(s.word, c)
	}
}

// end is at the end of a value.
func (s *idScanner) end() {
	if s.depth != 1 {
		return
	}
	if s.value && s.name == `"id"` && len(s.word) > 0 && len(s.word) <= maxIDSize {
		s.id = append(json.RawMessage(nil), s.word...)
	}
	s.value, s.word = false, s.word[:0]
}
