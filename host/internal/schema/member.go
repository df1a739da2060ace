package schema

import (
	"maps"
	"slices"
)

// members repairs the members of an object.
func (r *repairer) members(set []rule, m map[string]any, at *spot) any {
	r.w.spend(len(m) / 4)
	var names []string
	for k, v := range m {
		if v == nil || repairable(v) {
			names = append(names, k)
		}
	}
	slices.Sort(names)
	out, copied := m, false
	for _, k := range names {
		before := len(r.changes)
		v, kept := r.member(set, k, m[k], at)
		if r.w.stop != nil {
			break
		}
		if len(r.changes) == before {
			continue
		}
		if !copied {
			out, copied = maps.Clone(m), true
		}
		if out[k] = v; !kept {
			delete(out, k)
		}
	}
	return out
}

// repairable reports whether a value can be or hold something to repair; nulls are the matter of the object around them.
func repairable(v any) bool { return typeOf(v)&(typeString|typeArray|typeObject) != 0 }

// member repairs one member; kept is false if it goes.
func (r *repairer) member(set []rule, k string, v any, at *spot) (repaired any, kept bool) {
	a := r.apply(set, k)
	at = at.down(step{key: k}, a.known)
	if v != nil {
		if len(a.rules) == 0 {
			return v, true
		}
		return r.place(a.rules, v, at), true
	}
	if !r.on(RepairNull) || !a.forbidden && !slices.ContainsFunc(a.rules, func(u rule) bool { return !r.w.quiet(u.n, nil, nil) }) {
		return nil, true
	}
	p := defaultOf(set, k)
	if p != nil && p.value == nil { // it would come back
		return nil, true
	}
	if p != nil {
		r.add(change{at: at, kind: RepairNull, raw: p.raw})
		return clone(p.value), true
	}
	if r.required(set, k) {
		return nil, true
	}
	r.add(change{at: at, kind: RepairNull, remove: true})
	return nil, false
}

// applying is what applies to a member.
type applying struct {
	rules     []rule
	known     bool // it is declared
	forbidden bool
}

func (a *applying) with(set []rule) {
	if a.rules == nil {
		a.rules = set // clipped: what is appended makes a new one
		return
	}
	a.rules = append(a.rules, set...)
}

// apply finds what the rules say of a member of the name.
func (r *repairer) apply(set []rule, k string) applying {
	var a applying
	for _, u := range set {
		n, seen := u.n, false
		if c := n.props[k]; c != nil {
			seen, a.known = true, true
			a.with(r.expand(rule{c, u.sure}))
		}
		for _, p := range n.patProps {
			if r.w.match(p.re, k) {
				seen = true
				a.with(r.expand(rule{p.n, u.sure}))
			}
		}
		extra := rule{n.extra, u.sure}
		if extra.n == nil && n.unevalProp != nil && !r.mentions(n, k) {
			extra = rule{n: n.unevalProp}
		}
		if extra.n != nil && !seen {
			a.forbidden = a.forbidden || extra.n.never
			a.with(r.expand(extra))
		}
		if n.names != nil && !r.w.quiet(n.names, k, nil) {
			a.forbidden = true
		}
	}
	return a
}

// mentions reports whether any schema that may apply beside n looks at a member of the name.
func (r *repairer) mentions(n *node, k string) bool {
	return slices.ContainsFunc(n.inPlace(), func(c *node) bool {
		if !r.w.spend(1) || c == n.not {
			return false
		}
		return c.props[k] != nil || c.extra != nil || r.mentions(c, k) ||
			slices.ContainsFunc(c.patProps, func(p patternProperty) bool { return r.w.match(p.re, k) })
	})
}

// defaultOf is what fills a property if it is absent, as FillDefaults does.
func defaultOf(set []rule, k string) *preset {
	for _, u := range set {
		if c := u.n.props[k]; u.sure && c != nil && c.fill != nil && c.fill.state == presetReady {
			return c.fill
		}
	}
	return nil
}

func (r *repairer) required(set []rule, k string) bool {
	return slices.ContainsFunc(set, func(u rule) bool {
		r.w.spend(len(u.n.s.Required) / 4)
		return slices.Contains(u.n.s.Required, k)
	})
}

// items repairs the items of an array. Nulls in it stay.
func (r *repairer) items(set []rule, a []any, at *spot) any {
	prefix := 0
	for _, u := range set {
		prefix = max(prefix, len(u.n.prefix))
	}
	rest := itemRules(r, set, prefix)
	out, copied := a, false
	for i, v := range a {
		rules := rest
		if i < prefix {
			rules = itemRules(r, set, i)
		}
		if len(rules) == 0 || !repairable(v) {
			continue
		}
		before := len(r.changes)
		v = r.place(rules, v, at.down(step{array: true, index: i}, true))
		if r.w.stop != nil {
			break
		}
		if len(r.changes) == before {
			continue
		}
		if !copied {
			out, copied = slices.Clone(a), true
		}
		out[i] = v
	}
	return out
}

// itemRules are what applies to an item.
func itemRules(r *repairer, set []rule, i int) []rule {
	var a applying
	for _, u := range set {
		n := u.n
		switch {
		case i < len(n.prefix):
			a.with(r.expand(rule{n.prefix[i], u.sure}))
		case n.rest != nil:
			a.with(r.expand(rule{n.rest, u.sure}))
		case n.unevalItem != nil && n.contains == nil && !slices.ContainsFunc(n.inPlace(), seesItems):
			a.with(r.expand(rule{n: n.unevalItem}))
		}
	}
	return a.rules
}

// seesItems reports whether a schema, or one that applies with it, looks at items.
func seesItems(n *node) bool {
	return n.prefix != nil || n.rest != nil || n.contains != nil || n.unevalItem != nil || slices.ContainsFunc(n.inPlace(), seesItems)
}
