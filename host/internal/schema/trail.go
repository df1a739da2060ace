package schema

import (
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
	"github.com/toolhost/toolhost/internal/runes"
)

// maxPath bounds a JSON Pointer in an error: member names may be a megabyte long.
const maxPath = 512

// step is one token of a JSON Pointer: a member's name, or an index if array is set.
type step struct {
	key   string
	index int
	array bool
}

// write writes the step with its slash.
func (s step) write(b *strings.Builder) {
	b.WriteByte('/')
	if s.array {
		b.WriteString(strconv.Itoa(s.index))
		return
	}
	b.WriteString(jsonpointer.Escape(s.key))
}

// frame is a step of a trail, with the edits of that place once there are any.
type frame struct {
	step
	edit  *edit
	known bool // the schema declares the member's name
}

// trail is the way from the root of a document to the value being looked at.
type trail []frame

func (t *trail) push(s step) { *t = append(*t, frame{step: s}) }
func (t *trail) pop()        { *t = (*t)[:len(*t)-1] }

// pointer writes the trail as a JSON Pointer of at most maxPath bytes; what is left out at its end shows as
// "...".
func (t trail) pointer() string {
	if len(t) == 0 {
		return ""
	}
	var b strings.Builder
	for i := range t {
		if b.Len() > maxPath {
			break
		}
		st := t[i].step
		st.key = cut(st.key, maxPath)
		st.write(&b)
	}
	return cut(b.String(), maxPath)
}

// shown is the JSON Pointer as an error may show it, and whether the value there is sensitive. Names within a sensitive
// value that are the document's own, not the schema's, are masked too. If secrets is nil, nothing is sensitive.
func (t trail) shown(secrets *edit) (path string, secret bool) {
	if secrets == nil {
		return t.pointer(), false
	}
	e, shown := secrets, trail(nil)
	secret = e.replace != nil
	for _, f := range t {
		if secret && !f.known {
			f.key = mask
		}
		shown = append(shown, f)
		if e != nil {
			if e = e.below[f.step]; e != nil && e.replace != nil {
				secret = true
			}
		}
	}
	return shown.pointer(), secret
}

// whole writes the trail as a JSON Pointer however long it is.
func (t trail) whole() string {
	var b strings.Builder
	for i := range t {
		t[i].write(&b)
	}
	return b.String()
}

// edits returns the edits of the place the trail leads to, making them and those on the way. A long name is
// hashed once for each frame, not once for each edit below it.
func (t trail) edits(root *edit) *edit {
	e := root
	for i := range t {
		if t[i].edit == nil {
			t[i].edit = e.child(t[i].step)
		}
		e = t[i].edit
	}
	return e
}

// cut shortens s to at most n bytes (n > 3), on a rune's edge, with "..." for what is left out.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return runes.Prefix(s, n-3) + "..."
}
