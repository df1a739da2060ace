package schema

// unionOf is an anyOf or a oneOf.
type unionOf struct {
	branches []*node
	pick     *discriminator
}

// branch finds the branch of n's union by which the value is to be repaired: the one its discriminator picks, else the only one
// that a repair satisfies. If there is none, one that is the only one of the value's type shows the furthest attempt (b17).
// nil means none, as where the value is valid already or two branches can be satisfied.
func (r *repairer) branch(n *node, u unionOf, v any, at *spot) (*node, any, *spot) {
	if b := u.picked(v); b != nil {
		return b, v, at
	}
	for _, b := range u.branches {
		if b.admits&typeOf(v) != 0 && r.w.quiet(b, v, nil) {
			return nil, v, at
		}
	}
	var satisfied, fit []*node
	for _, b := range u.branches {
		before := len(r.changes)
		tried := r.place(r.expand(rule{n: b}), v, at)
		changed := len(r.changes) > before
		r.changes = r.changes[:before]
		if b.admits&typeOf(tried) == 0 {
			continue
		}
		fit = append(fit, b)
		if changed && r.w.quiet(b, tried, nil) {
			satisfied = append(satisfied, b)
		}
	}
	switch {
	case r.w.stop != nil || len(satisfied) > 1:
		return nil, v, at
	case len(satisfied) == 1:
		return satisfied[0], v, at
	case len(fit) == 1:
		return fit[0], v, at
	}
	if text, ok := v.(string); ok && n.admits&typeString == 0 {
		if peeled, below := r.peel(text, n.admits, at); below != at {
			return u.picked(peeled), peeled, below
		}
	}
	return nil, v, at
}

// picked is the branch that the discriminator names.
func (u unionOf) picked(v any) *node {
	m, ok := v.(map[string]any)
	if !ok || u.pick == nil {
		return nil
	}
	tag, there := m[u.pick.prop]
	if !there {
		return nil
	}
	return u.pick.find(tag)
}
