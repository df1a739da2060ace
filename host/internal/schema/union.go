package schema

import "strconv"

// maxNearest bounds the violations listed for the nearest branch of a union.
const maxNearest = 10

// discriminator is a property whose value tells which branch of a union is meant: in every branch that admits
// an object it is a const or an enum, and no value stands in two of them.
type discriminator struct {
	prop   string
	values []any
	branch []*node // of each value
}

func (d *discriminator) find(v any) *node {
	for i := range d.values {
		if equal(d.values[i], v) {
			return d.branch[i]
		}
	}
	return nil
}

// discriminate finds the discriminators of the node's unions.
func (n *node) discriminate() {
	n.anyPick = newDiscriminator(n.anyOf)
	n.onePick = newDiscriminator(n.oneOf)
}

// maxCandidates bounds the properties that are tried as a discriminator.
const maxCandidates = 16

func newDiscriminator(branches []*node) *discriminator {
	var objects []*node
	for _, b := range branches {
		if b.admits&typeObject != 0 {
			objects = append(objects, b)
		}
	}
	if len(objects) < 2 {
		return nil
	}
	for _, prop := range objects[0].tagged(nil) {
		if d := tryDiscriminator(prop, objects); d != nil {
			return d
		}
	}
	return nil
}

func tryDiscriminator(prop string, branches []*node) *discriminator {
	d := &discriminator{prop: prop}
	seen := make(map[string]bool)
	for _, b := range branches {
		values := b.tagValues(prop)
		if len(values) == 0 {
			return nil
		}
		for _, v := range values {
			key := strconv.Itoa(int(typeOf(v))) + quoteValue(v, maxSchemaText)
			if seen[key] {
				return nil
			}
			seen[key] = true
			d.values = append(d.values, v)
			d.branch = append(d.branch, b)
		}
	}
	return d
}

// tagged are the properties with a const or an enum, its own and those of $ref and allOf, at most
// maxCandidates.
func (n *node) tagged(found []string) []string {
	for _, k := range n.order {
		if len(found) < maxCandidates && len(n.props[k].values()) > 0 {
			found = append(found, k)
		}
	}
	for _, c := range n.asked() {
		if len(found) < maxCandidates {
			found = c.tagged(found)
		}
	}
	return found
}

// tagValues are the values that the branch allows for the property.
func (n *node) tagValues(prop string) []any {
	if c := n.props[prop]; c != nil {
		if values := c.values(); values != nil {
			return values
		}
	}
	for _, c := range n.asked() {
		if values := c.tagValues(prop); values != nil {
			return values
		}
	}
	return nil
}

// values are those of a const or an enum, its own or that of $ref.
func (n *node) values() []any {
	switch {
	case n.konst != nil:
		return n.konst.values
	case n.enum != nil:
		return n.enum.values
	case n.ref != nil:
		return n.ref.values()
	}
	return nil
}

func (w *walker) anyOf(n *node, v any, ev *evaluated) bool {
	matched := false
	for _, c := range n.anyOf {
		var own *evaluated
		if ev != nil {
			own = &evaluated{}
		}
		if !w.quiet(c, v, own) {
			continue
		}
		if matched = true; ev == nil {
			break
		}
		ev.merge(own)
	}
	if !matched && w.report {
		w.noBranch(n, v, n.anyOf, n.anyPick, "anyOf")
	}
	return matched
}

func (w *walker) oneOf(n *node, v any, ev *evaluated) bool {
	matched := -1
	for i, c := range n.oneOf {
		var own *evaluated
		if ev != nil {
			own = &evaluated{}
		}
		if !w.quiet(c, v, own) {
			continue
		}
		if matched >= 0 {
			return w.fail(n, v, fault{keyword: "oneOf", pair: [2]int{matched, i}})
		}
		matched = i
		ev.merge(own)
	}
	if matched < 0 && w.report {
		w.noBranch(n, v, n.oneOf, n.onePick, "oneOf")
	}
	return matched >= 0
}

// noBranch says why no branch of a union is valid: by the branch its discriminator picks, else by the only
// branch of the value's type, else by the nearest one.
func (w *walker) noBranch(n *node, v any, branches []*node, pick *discriminator, keyword string) {
	if m, ok := v.(map[string]any); ok && pick != nil {
		w.discriminated(n, m, pick)
		return
	}
	var fit []*node
	var admits typeSet
	for _, b := range branches {
		admits |= b.admits
		if b.admits&typeOf(v) != 0 {
			fit = append(fit, b)
		}
	}
	switch len(fit) {
	case 0:
		w.fail(n, v, fault{keyword: "type", types: admits})
		return
	case 1:
		w.check(fit[0], v, nil)
		return
	}
	var nearest []Violation
	for i, b := range fit {
		if found := w.collect(b, v); i == 0 || len(found) < len(nearest) {
			nearest = found
		}
	}
	w.fail(n, v, fault{keyword: keyword, count: len(branches)})
	for _, violation := range nearest {
		w.add(violation)
	}
}

func (w *walker) discriminated(n *node, m map[string]any, pick *discriminator) {
	v, there := m[pick.prop]
	if !there {
		w.missing(n, pick.prop, fault{keyword: "required", values: pick.values})
		return
	}
	if b := pick.find(v); b != nil {
		w.check(b, m, nil)
		return
	}
	w.trail = append(w.trail, frame{step: step{key: pick.prop}, known: true})
	w.fail(n, v, fault{keyword: "enum", values: pick.values})
	w.trail.pop()
}

// collect gathers the violations of one branch apart, at most maxNearest.
func (w *walker) collect(n *node, v any) []Violation {
	found, size, limit, more := w.found, w.size, w.max, w.more
	w.found, w.size, w.max, w.more = nil, 0, maxNearest, 0
	w.check(n, v, nil)
	found, w.found = w.found, found
	w.size, w.max, w.more = size, limit, more
	return found
}
