package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
)

// aliasTo is the property that the alias repair fills.
const aliasTo = "prompt"

// bytesPerStep is how much of a string is parsed for one step of a budget.
const bytesPerStep = 3

// retype gives a value the type that the rules want, if it is a string that spells one, or a null root.
func (r *repairer) retype(set []rule, v any, at *spot) (any, *spot) {
	if v == nil && at.up == nil {
		return r.nullRoot(at), at
	}
	text, ok := v.(string)
	if !ok {
		return v, at
	}
	wants, typed := typeAny, false
	for _, u := range set {
		wants &= u.n.own
		typed = typed || u.n.types != 0 && u.n.types&typeString == 0
	}
	if wants&typeString != 0 {
		return v, at
	}
	if num := json.Number(text); typed && wants&typeNumber != 0 && r.on(RepairNumber) && r.isNumber(text) && allHave(set, num) {
		r.add(change{at: at, kind: RepairNumber, raw: []byte(text)})
		return num, at
	}
	if typed && wants&typeBoolean != 0 && r.on(RepairBoolean) && (text == "true" || text == "false") {
		r.add(change{at: at, kind: RepairBoolean, raw: []byte(text)})
		return text == "true", at
	}
	return r.peel(text, wants, at)
}

// nullRoot takes a null for no input at all (V-7).
func (r *repairer) nullRoot(at *spot) any {
	switch admits := r.s.root.admits; {
	case admits&typeNull != 0 || !r.on(RepairNull):
	case admits&typeObject != 0:
		r.add(change{at: at, kind: RepairNull, raw: []byte(emptyObject)})
		return map[string]any{}
	case admits&typeArray != 0:
		r.add(change{at: at, kind: RepairNull, raw: []byte(emptyArray)})
		return []any{}
	}
	return nil
}

// isNumber reports whether the whole text is one JSON number within the limits.
func (r *repairer) isNumber(text string) bool {
	if text == "" || text[0] != '-' && text[0]-'0' > 9 {
		return false
	}
	s := scanner{text: text, lim: r.lim}
	s.number()
	return s.err == nil && s.pos == len(text)
}

func allHave(set []rule, v any) bool {
	for _, u := range set {
		if u.n.types != 0 && !u.n.hasType(v) {
			return false
		}
	}
	return true
}

// peel takes the string off an object or an array that the schema wants. It returns the value, and the spot that what is
// in it lies below; the string itself and the same spot if there is nothing to take off.
func (r *repairer) peel(text string, wants typeSet, at *spot) (any, *spot) {
	wants &= typeObject | typeArray
	layers := maxStringLayers - at.layers
	if at.up == nil {
		layers = min(layers, 1)
	}
	within, mended := text, false
	for n := 1; n <= layers && wants != 0; n++ {
		d, broken := r.parse(within, at.depth)
		if d == nil {
			break
		}
		mended = mended || broken
		t := typeOf(d.value)
		if t == typeString {
			within = d.value.(string)
			continue
		}
		c := change{at: at, kind: RepairStringified, peeled: n, raw: bytes.Trim(d.Bytes(), " \t\r\n"), inner: d.edits, values: d.values}
		if at.up == nil && t == typeObject {
			c.kind, c.peeled = RepairWholeArgument, 0
		}
		if t&wants == 0 || !r.on(c.kind) {
			break
		}
		r.add(c)
		if mended {
			r.add(change{at: at, kind: RepairText})
		}
		below := *at
		below.edit, below.layers = nil, at.layers+c.peeled
		return d.value, &below
	}
	return text, at
}

// parse reads the text of a string that has so many objects and arrays around it, and mends it if need be.
func (r *repairer) parse(text string, depth int) (d *Document, mended bool) {
	lim := r.lim
	lim.Depth -= depth
	lim.Values -= r.values
	if lim.Depth <= 0 || lim.Values <= 0 || !r.w.spend(len(text)/bytesPerStep) {
		return nil, false
	}
	d, err := Parse([]byte(text), lim)
	var syntax *SyntaxError
	if err == nil || !errors.As(err, &syntax) || !r.on(RepairText) || !r.w.spend(len(text)/bytesPerStep) {
		return d, false
	}
	fixed, err := mend(text, lim)
	if err != nil {
		return nil, false
	}
	if d, err = Parse(fixed, lim); err != nil {
		return nil, false
	}
	return d, true
}

// alias copies what a model called otherwise to the prompt of an agent (V-12). It is the last resort.
func (r *repairer) alias(root *spot) any {
	m, ok := r.doc.value.(map[string]any)
	set := r.expand(rule{r.s.root, true})
	declared := func(k string) bool {
		return slices.ContainsFunc(set, func(u rule) bool { return u.n.props[k] != nil })
	}
	if !ok || !r.opt.Alias || !r.on(RepairAlias) || m[aliasTo] != nil || !declared(aliasTo) || !r.required(set, aliasTo) {
		return r.doc.value
	}
	for _, k := range [...]string{"query", "message", "input"} {
		text, ok := m[k].(string)
		if !ok || declared(k) {
			continue
		}
		c := change{at: root.down(step{key: aliasTo}, true), kind: RepairAlias, raw: appendString(nil, text)}
		if !has(m, aliasTo) {
			c.name = aliasTo
		}
		m = maps.Clone(m)
		m[aliasTo] = text
		r.add(c)
		return m
	}
	return r.doc.value
}
