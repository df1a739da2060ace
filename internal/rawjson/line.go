package rawjson

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// Lines reads lines, each of which is a JSON text, and keeps none that is longer than a limit.
type Lines struct {
	r   *bufio.Reader
	max int
	err error // of the reader, that came with a line that was too long
}

// NewLines reads from r lines of at most limit bytes.
func NewLines(r io.Reader, limit int) *Lines {
	return &Lines{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// TooLong is the error of a line over the limit, all of which was read.
type TooLong struct {
	Size int64           // bytes
	ID   json.RawMessage // the value of its member id, if it is an object that has one; it may be no JSON
}

func (e *TooLong) Error() string { return "the line is too long" }

// Next returns the next line without its end. The error is a *TooLong, after which it goes on, or the reader's, possibly with a
// last line that has no end.
func (l *Lines) Next() ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
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
func (l *Lines) skip(start, part []byte, err error) error {
	var scan idScanner
	scan.write(start)
	size := int64(len(start) + len(part))
	scan.write(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = l.r.ReadSlice('\n')
		scan.write(part)
		size += int64(len(part))
	}
	if err == nil {
		size-- // the newline
	}
	l.err = err
	return &TooLong{Size: size, ID: scan.id}
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

// maxIDSize bounds an id, and what is taken for a name, in bytes.
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
