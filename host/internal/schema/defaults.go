package schema

import (
	"errors"
	"runtime/debug"
)

// preset is a default, filled itself where its own schema has defaults.
type preset struct {
	owner *node
	text  string // as the schema spells it
	raw   []byte
	value any
	state presetState
}

type presetState int

const (
	presetNew presetState = iota
	presetBusy
	presetReady
	presetBroken // not filled; only where the compilation is lenient
)

// FillDefaults fills absent properties that have a default: in properties, items, map values, and through
// $ref and allOf; nothing under anyOf, oneOf, not and if, and no parent is invented. A property's default is
// its own, else that of its $ref or allOf. They are appended to the bytes in the order of the schema, and the
// value has them too.
func (s *Schema) FillDefaults(d *Document) {
	if s == nil || !s.root.hasDefault {
		return
	}
	f := filler{doc: d, steps: stepsFor(d)}
	defer func() {
		if recover() != nil { // Validate then refuses the document
			d.spent = true
		}
	}()
	f.value(s.root, d.Value())
}

// filler walks a document and the nodes that apply for certain.
type filler struct {
	doc    *Document
	trail  trail
	steps  int
	settle func(*preset) error // while a schema is compiled: makes a preset ready
	err    error
}

func (f *filler) value(n *node, v any) {
	if !n.hasDefault || f.doc.spent || f.err != nil {
		return
	}
	if f.steps--; f.steps < 0 {
		f.doc.spent = true
		return
	}
	switch v := v.(type) {
	case map[string]any:
		f.object(n, v)
	case []any:
		for i, item := range v {
			c := n.rest
			if i < len(n.prefix) {
				c = n.prefix[i]
			}
			if c == nil {
				break
			}
			f.part(c, item, step{array: true, index: i})
		}
	}
	for _, c := range n.asked() {
		f.value(c, v)
	}
}

func (f *filler) part(n *node, v any, st step) {
	if !n.hasDefault {
		return
	}
	f.trail.push(st)
	f.value(n, v)
	f.trail.pop()
}

func (f *filler) object(n *node, m map[string]any) {
	for _, k := range n.order {
		c := n.props[k]
		if _, there := m[k]; !there && f.ready(c.fill) {
			m[k] = clone(c.fill.value)
			e := f.doc.edit(f.trail)
			e.add = append(e.add, member{k, c.fill.raw})
		}
		if v, there := m[k]; there {
			f.part(c, v, step{key: k})
		}
	}
	if n.extra == nil && n.patProps == nil {
		return
	}
	for k, v := range m {
		f.steps--
		_, declared := n.props[k]
		for _, p := range n.patProps {
			if matched, _ := p.re.match(k); matched {
				declared = true
				f.part(p.n, v, step{key: k})
			}
		}
		if !declared && n.extra != nil {
			f.part(n.extra, v, step{key: k})
		}
	}
}

// ready reports whether the preset can be filled.
func (f *filler) ready(p *preset) bool {
	if p != nil && f.settle != nil && f.err == nil {
		f.err = f.settle(p)
	}
	return p != nil && f.err == nil && p.state == presetReady
}

// asked are the nodes defaults are filled through at the same place.
func (n *node) asked() []*node {
	if n.ref == nil && n.allOf == nil && n.dynRef == nil {
		return nil
	}
	return n.same()
}

// clone copies objects and arrays, so that a document never shares them with a schema.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, item := range v {
			m[k] = clone(item)
		}
		return m
	case []any:
		a := make([]any, len(v))
		for i, item := range v {
			a[i] = clone(item)
		}
		return a
	}
	return v
}

// presets finds the defaults of all nodes, fills them and checks each against its own schema.
func (b *builder) presets() error {
	for _, n := range b.all {
		if text, ok := b.notes.defaults[n.path]; ok && !n.always && !n.never {
			n.preset = &preset{owner: n, text: text}
		}
	}
	for _, n := range b.all {
		n.firstPreset()
	}
	filled := func(n *node) []*node { return append(n.same(), n.filledParts()...) }
	fills := func(n *node) bool {
		for _, k := range n.order {
			if n.props[k].fill != nil {
				return true
			}
		}
		return false
	}
	reach(b.all, filled, fills, func(n *node) { n.hasDefault = true })
	for _, n := range b.all {
		if n.preset == nil {
			continue
		}
		if err := b.settle(n.preset); err != nil {
			return err
		}
	}
	return nil
}

// firstPreset is the node's own default, else the first one of what applies with it; memoised. The graph has
// no cycle at one place, so it ends.
func (n *node) firstPreset() *preset {
	if n.fillKnown {
		return n.fill
	}
	n.fillKnown, n.fill = true, n.preset
	for _, c := range n.same() {
		if n.fill == nil {
			n.fill = c.firstPreset()
		}
	}
	return n.fill
}

// filledParts are the nodes of members and items that defaults are filled in.
func (n *node) filledParts() []*node {
	nodes := append([]*node(nil), n.prefix...)
	for _, k := range n.order {
		nodes = append(nodes, n.props[k])
	}
	for _, p := range n.patProps {
		nodes = append(nodes, p.n)
	}
	for _, c := range []*node{n.extra, n.rest} {
		if c != nil {
			nodes = append(nodes, c)
		}
	}
	return nodes
}

// settle makes a preset ready, after the presets that are filled into it.
func (b *builder) settle(p *preset) error {
	switch p.state {
	case presetReady, presetBroken:
		return nil
	case presetBusy:
		return &CompileError{Path: cut(p.owner.path, maxPath) + "/default", Cause: "the default fills itself, without end"}
	}
	p.state = presetBusy
	doc, err := Parse([]byte(p.text), schemaLimits)
	if err != nil {
		return err
	}
	f := filler{doc: doc, steps: stepsFor(doc), settle: b.settle}
	if f.value(p.owner, doc.value); f.err != nil {
		return f.err
	}
	err = (&Schema{root: p.owner}).Validate(doc)
	p.raw, p.value, p.state = doc.Bytes(), doc.value, presetReady
	if err == nil {
		return nil
	}
	var invalid *Error
	if !errors.As(err, &invalid) {
		return err
	}
	broken := &CompileError{Path: cut(p.owner.path, maxPath) + "/default", Cause: "the default breaks its own schema: " + invalid.Violations[0].Message}
	if !b.lenient {
		return broken
	}
	p.state = presetBroken
	b.warn("%s; it is not filled", broken.Error())
	return nil
}

func caught(op string, v any) error { return &PanicError{Op: op, Value: v, Stack: debug.Stack()} }
