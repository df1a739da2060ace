package schema

import "encoding/json"

// plan notes what skim wants to know of the node. Its defaults are ready.
func (n *node) plan() {
	s := n.s
	n.whole = n.ref != nil || n.dynRef != nil || n.allOf != nil || n.anyOf != nil || n.oneOf != nil || n.not != nil || n.cond != nil ||
		n.patProps != nil || n.names != nil || n.needs != nil || n.unevalProp != nil || n.unevalItem != nil || n.contains != nil ||
		s.UniqueItems || n.pattern != nil && n.pattern.back != nil || n.konst.structured() || n.enum.structured() || len(n.order) > 64
	if n.whole {
		if n.bare() {
			n.follow, n.whole = n.ref, false
		}
		return
	}
	n.anyText = n.konst == nil && n.enum == nil && n.pattern == nil && s.Format == nil && s.MinLength == nil && s.MaxLength == nil
	n.place = make(map[string]int, len(n.order))
	for i, name := range n.order {
		c := n.props[name]
		n.place[name] = i
		n.fields = append(n.fields, c)
		if c.fill != nil && c.fill.state == presetReady {
			n.fills |= 1 << i
		}
	}
	for _, name := range s.Required {
		i, declared := n.place[name]
		if !declared {
			n.whole = true
			return
		}
		n.required |= 1 << i
	}
}

// bare reports whether the node is a reference and nothing else.
func (n *node) bare() bool {
	s := n.s
	return n.ref != nil && n.dynRef == nil && n.allOf == nil && n.anyOf == nil && n.oneOf == nil && n.not == nil && n.cond == nil &&
		n.patProps == nil && n.names == nil && n.needs == nil && n.unevalProp == nil && n.unevalItem == nil && n.contains == nil &&
		n.props == nil && n.extra == nil && n.prefix == nil && n.rest == nil && n.types == 0 && n.konst == nil && n.enum == nil &&
		!n.nullable && n.pattern == nil && n.min == nil && n.max == nil && n.exMin == nil && n.exMax == nil && n.preset == nil &&
		s.Format == nil && s.MinLength == nil && s.MaxLength == nil && s.MultipleOf == nil && s.MinProperties == nil &&
		s.MaxProperties == nil && s.Required == nil && s.MinItems == nil && s.MaxItems == nil && !s.UniqueItems
}

// find is the place of a declared member; -1: it is not declared. Most come in the schema's order.
func (n *node) find(name string, expected int) int {
	if expected < len(n.order) && n.order[expected] == name {
		return expected
	}
	if i, declared := n.place[name]; declared {
		return i
	}
	return -1
}

func (n *node) mayBe(t typeSet) bool { return n.types == 0 || n.types&t != 0 }

func (n *node) mayBeNumber(v json.Number) bool {
	if n.mayBe(typeNumber) {
		return true
	}
	return n.types&typeInteger != 0 && isInteger(v)
}

func (n *node) counts(members int) bool {
	s := n.s
	return (s.MinProperties == nil || members >= *s.MinProperties) && (s.MaxProperties == nil || members <= *s.MaxProperties)
}

func (e *enum) hasString(s string) bool {
	if e == nil {
		return true
	}
	_, ok := e.strings[s]
	return ok
}

// structured reports whether a value is an object or an array.
func (e *enum) structured() bool { return e != nil && e.types()&(typeObject|typeArray) != 0 }
