package schema

import "slices"

// Bounds of repairing one input.
const (
	maxRepairs      = 10_000 // an input that needs more is refused
	maxRepairPasses = 8      // one makes way for the next
	maxStringLayers = 2      // of stringified values, on the way from the root
	stepsPerPlace   = 8      // and one for each rule
)

// repairer looks for repairs of an invalid document. It walks the document beside the set of schema nodes that apply to each
// value, and makes new values where something changes; the document itself changes when a pass is committed, so
// attempts that come to nothing leave no trace.
type repairer struct {
	s       *Schema
	doc     *Document
	lim     Limits
	opt     ReadOptions
	w       *walker         // checks, and the budget of everything
	spread  map[rule][]rule // see expand
	values  int             // in the document and in the strings that were taken off
	next    any             // the document's value with the changes
	changes []change
	made    []change // and committed
}

// rule is a node that applies to a value. If sure, defaults are filled through it.
type rule struct {
	n    *node
	sure bool
}

// spot is a place of the document.
type spot struct {
	up     *spot // nil at the root
	step   step
	known  bool // the schema declares the member's name
	depth  int  // objects and arrays around it
	layers int  // of string that were taken off around it
	edit   *edit
}

// down is the spot of a member or an item.
func (at *spot) down(st step, known bool) *spot {
	c := &spot{up: at, step: st, known: known, depth: at.depth + 1, layers: at.layers}
	if at.edit != nil {
		if c.edit = at.edit.below[st]; c.edit != nil {
			c.layers += c.edit.peeled
		}
	}
	return c
}

func (at *spot) trail() trail {
	var t trail
	for ; at.up != nil; at = at.up {
		t = append(t, frame{step: at.step, known: at.known})
	}
	slices.Reverse(t)
	return t
}

// change is one repair. If none of raw, remove and name is set, it is only reported.
type change struct {
	at     *spot
	kind   string
	raw    []byte // takes the place of the value; with name, is the value of a new member
	peeled int    // layers of string that were taken off to get raw
	remove bool   // the member goes
	name   string
	values int   // in raw
	inner  *edit // what was dropped from raw because its name came again
}

// repair repairs the document as far as it goes. What it returns beside an error was made too.
func (s *Schema) repair(d *Document, lim Limits, opt ReadOptions) (done []Repair, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = caught("repair", v)
		}
	}()
	r := repairer{s: s, doc: d, lim: lim.withDefaults(), opt: opt, w: newWalker(d), values: d.values, spread: make(map[rule][]rule)}
	ok := false
	for pass := 0; pass < maxRepairPasses && !ok && r.pass(); pass++ {
		if len(r.made)+len(r.changes) > maxRepairs {
			return r.report(), &LimitError{What: "values that need repair", Max: maxRepairs}
		}
		r.commit()
		if r.values > r.lim.Values {
			return r.report(), &LimitError{What: "values", Max: r.lim.Values}
		}
		s.FillDefaults(d)
		if ok, err = s.holds(d); err != nil {
			return r.report(), err
		}
	}
	if opt.Strict {
		if found := r.duplicates(s.masks(d)); len(found) > 0 {
			return r.report(), duplicated(found)
		}
	}
	if ok {
		return r.report(), nil
	}
	return r.report(), s.violations(d)
}

// pass looks for repairs once and reports whether there are any.
func (r *repairer) pass() bool {
	r.changes = nil
	root := &spot{edit: r.doc.edits}
	if root.edit != nil {
		root.layers = root.edit.peeled
	}
	v := r.place(r.expand(rule{r.s.root, true}), r.doc.value, root)
	if r.w.stop != nil { // too costly: what was found so far is half a pass
		return false
	}
	if len(r.changes) == 0 {
		v = r.alias(root)
	}
	if len(r.changes) == 0 {
		return false
	}
	r.next = v
	return true
}

// commit makes the changes that pass found.
func (r *repairer) commit() {
	if r.doc.edits == nil {
		r.doc.edits = &edit{}
	}
	r.doc.value, r.doc.bytes = r.next, nil
	for _, c := range r.changes {
		r.values += c.values
		if c.name != "" {
			e := r.doc.edits.at(c.at.up)
			e.add = append(e.add, member{c.name, c.raw})
			continue
		}
		switch e := r.doc.edits.at(c.at); {
		case c.raw != nil:
			*e = edit{replace: c.raw, peeled: c.peeled, open: true}
		case c.remove:
			e.remove = true
		}
	}
	r.made = append(r.made, r.changes...)
	r.doc.values = r.values
}

// at returns the edits of a spot, making them and those on the way.
func (e *edit) at(s *spot) *edit {
	if s.up == nil {
		return e
	}
	if s.edit == nil {
		s.edit = e.at(s.up).child(s.step)
	}
	return s.edit
}

// report names what was made.
func (r *repairer) report() []Repair {
	secrets := r.s.masks(r.doc)
	var done []Repair
	for _, c := range r.made {
		path, _ := c.at.trail().shown(secrets)
		done = append(done, Repair{Path: path, Kind: c.kind})
	}
	return done
}

// duplicates are the names that come more than once in repaired strings.
func (r *repairer) duplicates(secrets *edit) []string {
	var found []string
	for _, c := range r.made {
		if c.inner != nil {
			c.inner.duplicates(c.at.trail(), secrets, &found)
		}
	}
	return found
}

func (r *repairer) on(kind string) bool { return !slices.Contains(r.opt.Off, kind) }

func (r *repairer) add(c change) { r.changes = append(r.changes, c) }

// expand returns the node and all that apply with it for certain: $ref and allOf.
func (r *repairer) expand(u rule) []rule {
	if set, ok := r.spread[u]; ok {
		return set
	}
	var set []rule
	seen := make(map[*node]bool)
	var walk func(n *node)
	walk = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		set = append(set, rule{n, u.sure})
		for _, c := range n.same() {
			walk(c)
		}
	}
	walk(u.n)
	set = slices.Clip(set)
	r.spread[u] = set
	return set
}

// place repairs a value that all rules of the set apply to, and what is in it.
func (r *repairer) place(set []rule, v any, at *spot) any {
	if !r.w.spend(stepsPerPlace + len(set)) {
		return v
	}
	v, at = r.retype(set, v, at)
	set, v, at = r.widen(set, v, at)
	switch v := v.(type) {
	case map[string]any:
		return r.members(set, v, at)
	case []any:
		return r.items(set, v, at)
	}
	return v
}

// widen adds what applies depending on the value: then and else, dependent schemas, the branches of unions.
func (r *repairer) widen(set []rule, v any, at *spot) ([]rule, any, *spot) {
	for i := 0; i < len(set) && r.w.stop == nil; i++ {
		n := set[i].n
		if n.cond != nil {
			branch := n.orElse
			if r.w.quiet(n.cond, v, nil) {
				branch = n.then
			}
			if branch != nil {
				set = append(set, r.expand(rule{n: branch})...)
			}
		}
		if m, ok := v.(map[string]any); ok {
			for j := range n.needs {
				if d := &n.needs[j]; d.n != nil && has(m, d.prop) {
					set = append(set, r.expand(rule{n: d.n})...)
				}
			}
		}
		for _, u := range [2]unionOf{{n.anyOf, n.anyPick}, {n.oneOf, n.onePick}} {
			if u.branches == nil {
				continue
			}
			var branch *node
			if branch, v, at = r.branch(n, u, v, at); branch != nil {
				set = append(set, r.expand(rule{n: branch})...)
				v, at = r.retype(set, v, at)
			}
		}
	}
	return set, v, at
}
