package view

import (
	"fmt"
	"strconv"
)

// walker writes the view of one value.
//
// A rule has one bit in a set. At each place of the value the walker knows which rules' paths end there
// and which go on below, so that it decides without looking ahead. A mask or a replacement splits the rules in
// two: those before it say whether the place still exists, those after it see the
// value that was put there.
type walker struct {
	view   *View
	out    []byte
	states []*node // a stack: for every open place, the nodes that lead to it
	added  int     // bytes of masks and replacements so far
}

// span is a part of walker.states.
type span struct{ from, to int }

// place is where the walker is.
type place struct {
	states  span
	covered set  // keep rules with a path to here or above
	rules   set  // those that apply
	root    bool // the whole value
}

// value writes the view of the next value of s and reports whether any of it was kept. If not,
// nothing was written.
func (w *walker) value(s *scanner, at place) (kept bool, err error) {
	var ends, below set
	for _, n := range w.states[at.states.from:at.states.to] {
		ends |= n.ends
		below |= n.below
	}
	at.covered |= ends & w.view.keeps
	if consts := ends & w.view.consts & at.rules; consts != 0 {
		return w.constant(s, at, consts.last())
	}
	open := w.view.keeps & at.rules &^ at.covered // keep rules that name neither this place nor one above
	below &= at.rules &^ (at.covered & w.view.keeps)
	s.space()
	switch container := s.at('{') || s.at('['); {
	case open&^below != 0, open != 0 && !container: // below this place nothing is named either
		return false, s.skip()
	case below == 0 || !container:
		start := s.pos
		err := s.skip()
		w.out = append(w.out, s.text[start:s.pos]...)
		return true, err
	case s.at('{'):
		kept, err = w.object(s, at)
	default:
		kept, err = w.array(s, at)
	}
	return kept || open == 0 || at.root, err
}

// constant puts the value of rule i in place of the next value of s, if that exists at that point.
func (w *walker) constant(s *scanner, at place, i int) (bool, error) {
	start := len(w.out)
	earlier, later := at, at
	earlier.rules &= before(i)
	later.rules &= after(i)
	exists, err := w.value(s, earlier)
	w.out = w.out[:start]
	if err != nil || !exists {
		return false, err
	}
	text := w.view.values[i]
	if w.added += len(text); w.added > MaxAdded {
		return false, fmt.Errorf("masks and replacements add more than the limit of %d bytes", MaxAdded)
	}
	kept, err := w.value(&scanner{text: text, depth: s.depth}, later)
	if !kept {
		w.out = w.out[:start]
	}
	return kept, err
}

func (w *walker) object(s *scanner, at place) (kept bool, err error) {
	start := len(w.out)
	w.out = append(w.out, '{')
	err = s.members(func(name []byte) error {
		undo := w.element(kept)
		w.out = append(append(w.out, name...), ':')
		return w.child(s, at, nameOf(name), undo, &kept)
	})
	return w.close('}', start, kept, at, err)
}

func (w *walker) array(s *scanner, at place) (kept bool, err error) {
	start := len(w.out)
	w.out = append(w.out, '[')
	var number [20]byte
	err = s.elements(func(i int) error {
		return w.child(s, at, strconv.AppendInt(number[:0], int64(i), 10), w.element(kept), &kept)
	})
	return w.close(']', start, kept, at, err)
}

// element begins the next member or element and returns what to go back to if it is dropped.
func (w *walker) element(follows bool) (undo int) {
	undo = len(w.out)
	if follows {
		w.out = append(w.out, ',')
	}
	return undo
}

// child writes the value of one step below at, or goes back to undo.
func (w *walker) child(s *scanner, at place, step []byte, undo int, kept *bool) error {
	from := len(w.states)
	for _, n := range w.states[at.states.from:at.states.to] {
		if c := n.members[string(step)]; c != nil {
			w.states = append(w.states, c)
		}
		if n.every != nil {
			w.states = append(w.states, n.every)
		}
	}
	below := place{states: span{from, len(w.states)}, covered: at.covered, rules: at.rules}
	ok, err := w.value(s, below)
	w.states = w.states[:from]
	if !ok {
		w.out = w.out[:undo]
	}
	*kept = *kept || ok
	return err
}

// close ends a container. One that is to be dropped leaves nothing.
func (w *walker) close(bracket byte, start int, kept bool, at place, err error) (bool, error) {
	w.out = append(w.out, bracket)
	if open := w.view.keeps & at.rules &^ at.covered; open != 0 && !kept && !at.root {
		w.out = w.out[:start]
	}
	return kept, err
}

// errorAt is a fault of the text.
func errorAt(pos int, what string) error { return fmt.Errorf("at byte %d: %s", pos, what) }
