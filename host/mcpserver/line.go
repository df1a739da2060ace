package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
)

// oversize is a line that was longer than it may be.
type oversize struct {
	size int             // bytes
	id   json.RawMessage // of the message; nil: it was not found
}

// readLine reads one line without its end. Of one with more than limit bytes it keeps nothing but the id. The last line
// may come with an error.
func readLine(r *bufio.Reader, limit int) (line []byte, over *oversize, err error) {
	var find idFinder
	for {
		part, err := r.ReadSlice('\n')
		if over == nil && len(line)+len(part) <= limit+1 {
			line = append(line, part...)
		} else {
			if over == nil {
				over = &oversize{size: len(line)}
				find.feed(line)
				line = nil
			}
			over.size += len(part)
			find.feed(part)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if over != nil {
			over.id = find.found()
			return nil, over, err
		}
		return bytes.TrimSpace(line), nil, err
	}
}

// idFinder finds the id of a message without keeping the message: the value of the member id of the root object.
type idFinder struct {
	depth   int
	text    bool // within a string
	escaped bool
	key     bool // the next string at the root is a key
	take    bool // the value of id is being read
	token   []byte
	last    []byte // the string that was read last at the root
	id      []byte
}

// feed looks at the next bytes.
func (f *idFinder) feed(data []byte) {
	for _, b := range data {
		f.step(b)
	}
}

func (f *idFinder) step(b byte) {
	if f.text {
		f.collect(b)
		switch {
		case f.escaped:
			f.escaped = false
		case b == '\\':
			f.escaped = true
		case b == '"':
			f.text = false
			f.last = append(f.last[:0], f.token...)
		}
		return
	}
	switch b {
	case '"':
		f.text = true
		f.token = f.token[:0]
		f.collect(b)
	case '{', '[':
		f.depth++
		f.key, f.take = f.depth == 1 && b == '{', false
		f.token = f.token[:0]
	case '}', ']':
		f.end()
		f.depth--
	case ',':
		f.end()
		f.key = f.depth == 1
	case ':':
		f.take = f.depth == 1 && f.key && string(f.last) == `"id"`
		f.key = false
		f.token = f.token[:0]
	case ' ', '\t', '\r', '\n':
	default:
		f.collect(b)
	}
}

// collect keeps what may be the id or a key of the root.
func (f *idFinder) collect(b byte) {
	if f.depth == 1 && len(f.token) < 256 {
		f.token = append(f.token, b)
	}
}

// end ends a value of the root.
func (f *idFinder) end() {
	if f.depth == 1 && f.take {
		f.id = append([]byte{}, f.token...)
	}
	f.take = false
	f.token = f.token[:0]
}

// found returns the id, if it is one that a request may have.
func (f *idFinder) found() json.RawMessage {
	if json.Valid(f.id) && validID(f.id) {
		return f.id
	}
	return nil
}
