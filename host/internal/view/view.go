// Package view makes the form of a JSON value that a person may see, from rules
// that are data: keep, mask and replace by JSON Pointer. It runs no code of an
// author's, so it works for a plugin that is not running, and knows nothing of
// tools, phases and audiences.
//
// # Paths
//
// A path is a JSON Pointer. "*" as a whole step stands for every member or element of one
// level; the empty path is the whole value. A path that leads to nothing does nothing. Numbers
// of elements are those of the value as it was given, whatever rules before have dropped.
//
// # Rules
//
// They apply in order, each to what the one before left. Keep leaves the values at its
// paths, inside the containers that lead to them; a container that holds no kept
// value is dropped, except the whole value, which stays as an empty object or array. Mask puts the
// string "***" in place of the values at its paths, Replace a value of its own.
// Neither adds anything where there was nothing.
package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/toolhost/toolhost/proto/wire"
)

// Action is what a rule does to the values at its paths.
type Action int

const (
	// Keep leaves only these values.
	Keep Action = iota + 1
	// Mask puts the string "***" in their place.
	Mask
	// Replace puts Rule.Value in their place.
	Replace
)

// Rule is one step of a view.
type Rule struct {
	// Action is what to do.
	Action Action
	// Paths are JSON Pointers, at least one.
	Paths []string
	// Value is the JSON value of Replace; nil for the others.
	Value []byte
}

const (
	// MaxSize is the most bytes of a value.
	MaxSize = wire.MaxMessage
	// MaxAdded is the most bytes of all that masks and replacements put into one value.
	MaxAdded = 8 << 20
	// MaxDepth is how many containers may stand within each other, in a value and in its view.
	MaxDepth = 200
)

// ErrNothing is the error for a scalar of which the rules keep nothing.
var ErrNothing = errors.New("view: the rules keep nothing of the value")

// View is a compiled list of rules. It is never changed, so it may be used concurrently.
type View struct {
	root   *node
	keeps  set
	consts set      // mask and replace
	values [][]byte // of consts, by rule
}

// Compile checks rules and makes them a view. The error names the rule, counted from 0, and
// the path. No rules are an error: a view that does nothing is no view. The limits are those of
// proto/wire.
func Compile(rules []Rule) (*View, error) {
	switch {
	case len(rules) == 0:
		return nil, errors.New("view: no rules")
	case len(rules) > wire.MaxViewRules:
		return nil, fmt.Errorf("view: %d rules, the limit is %d", len(rules), wire.MaxViewRules)
	}
	v := &View{root: &node{}, values: make([][]byte, len(rules))}
	paths := 0
	for i, r := range rules {
		if paths += len(r.Paths); paths > wire.MaxViewPaths {
			return nil, fmt.Errorf("view: more than %d paths", wire.MaxViewPaths)
		}
		if err := v.add(i, r); err != nil {
			return nil, fmt.Errorf("view: rule %d: %w", i, err)
		}
	}
	return v, nil
}

// Apply returns the view of value, which is one JSON value in UTF-8. It reads the text once. The order of
// members, the spelling of numbers and every kept text stay as they are; value itself is not
// changed, and the result shares no memory with it. The error is ErrNothing, or says where value is no JSON or
// which limit it breaks; it quotes nothing of value.
func (v *View) Apply(value []byte) ([]byte, error) {
	if len(value) > MaxSize {
		return nil, fmt.Errorf("view: %d bytes, the limit is %d", len(value), MaxSize)
	}
	if !utf8.Valid(value) {
		return nil, errors.New("view: the value is not UTF-8")
	}
	w := &walker{view: v, states: []*node{v.root}}
	s := &scanner{text: value}
	at := place{states: span{0, 1}, rules: all, root: true}
	kept, err := w.value(s, at)
	if err == nil {
		err = s.end()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("view: %w", err)
	case !kept:
		return nil, ErrNothing
	}
	return w.out, nil
}

// mask is what stands for a masked value.
var mask = []byte(`"***"`)

// add puts rule number i into the tree.
func (v *View) add(i int, r Rule) error {
	if len(r.Paths) == 0 {
		return errors.New("no paths")
	}
	switch r.Action {
	case Keep:
		v.keeps |= one(i)
	case Mask:
		v.consts |= one(i)
		v.values[i] = mask
	case Replace:
		if err := checkValue(r.Value); err != nil {
			return fmt.Errorf("path %q: %w", r.Paths[0], err)
		}
		v.consts |= one(i)
		v.values[i] = append([]byte(nil), r.Value...)
	default:
		return fmt.Errorf("path %q: unknown action %d", r.Paths[0], r.Action)
	}
	if r.Action != Replace && r.Value != nil {
		return fmt.Errorf("path %q: a value that nothing is replaced by", r.Paths[0])
	}
	for _, path := range r.Paths {
		steps, err := parse(path)
		if err != nil {
			return fmt.Errorf("path %q: %w", path, err)
		}
		v.root.insert(steps, one(i))
	}
	return nil
}

func checkValue(value []byte) error {
	switch {
	case len(value) > wire.MaxViewValue:
		return fmt.Errorf("a replacement of %d bytes, the limit is %d", len(value), wire.MaxViewValue)
	case !utf8.Valid(value) || !json.Valid(value):
		return errors.New("the replacement is no JSON")
	}
	s := &scanner{text: value}
	return s.skip() // for its depth
}

// set is a set of rules by their numbers.
type set uint64

const all = ^set(0)

func one(i int) set { return 1 << i }

// last is the highest number in s, which is not empty.
func (s set) last() int { return bits.Len64(uint64(s)) - 1 }

// before are the numbers below i, and after those above it.
func before(i int) set { return one(i) - 1 }
func after(i int) set  { return ^(before(i) | one(i)) }
