package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// plain checks what concerns a value by itself. After a wrong type, constant or format nothing else is said
// of it.
func (w *walker) plain(n *node, v any) bool {
	if n.types != 0 && !n.hasType(v) {
		return w.fail(n, v, fault{keyword: "type"})
	}
	if n.konst != nil && !w.listed(n.konst, v) {
		return w.fail(n, v, fault{keyword: "const"})
	}
	if n.enum != nil && !w.listed(n.enum, v) {
		return w.fail(n, v, fault{keyword: "enum"})
	}
	switch v := v.(type) {
	case string:
		return w.str(n, v)
	case json.Number:
		return w.number(n, v)
	}
	return true
}

func (n *node) hasType(v any) bool {
	t := typeOf(v)
	if t != typeNumber || n.types&typeNumber != 0 || n.types&typeInteger == 0 {
		return n.types&t != 0
	}
	return isInteger(v.(json.Number))
}

func isInteger(v json.Number) bool {
	if _, ok := smallInt(v); ok {
		return true
	}
	d := parseDecimal(v)
	return d.isInteger()
}

func (w *walker) listed(e *enum, v any) bool {
	if _, ok := v.(string); !ok {
		w.spend(len(e.others))
	}
	return e.has(v)
}

func (w *walker) str(n *node, v string) bool {
	s, ok := n.s, true
	if s.Format != nil && !w.formatted(s.Format, v) {
		return w.fail(n, v, fault{keyword: "format"})
	}
	if s.MinLength != nil || s.MaxLength != nil {
		count := utf8.RuneCountInString(v)
		if s.MinLength != nil && count < *s.MinLength {
			ok = w.fail(n, v, fault{keyword: "minLength", count: count})
		}
		if s.MaxLength != nil && count > *s.MaxLength {
			ok = w.fail(n, v, fault{keyword: "maxLength", count: count})
		}
	}
	if n.pattern != nil && !w.match(n.pattern, v) {
		ok = w.fail(n, v, fault{keyword: "pattern", pattern: n.pattern})
	}
	return ok
}

// formatted checks a format. The engine's own are linear; a regex is compiled, which takes up to half a
// millisecond.
func (w *walker) formatted(f *jsonschema.Format, v string) bool {
	w.spend(len(v) / 64)
	if f.Name != "regex" {
		return f.Validate(v) == nil
	}
	w.spend(regexSteps)
	_, err := newPattern(v)
	return err == nil
}

func (w *walker) number(n *node, v json.Number) bool {
	ok := true
	if n.min != nil || n.max != nil || n.exMin != nil || n.exMax != nil {
		d := parseDecimal(v)
		if n.min != nil && d.compare(n.min) < 0 {
			ok = w.fail(n, v, fault{keyword: "minimum"})
		}
		if n.max != nil && d.compare(n.max) > 0 {
			ok = w.fail(n, v, fault{keyword: "maximum"})
		}
		if n.exMin != nil && d.compare(n.exMin) <= 0 {
			ok = w.fail(n, v, fault{keyword: "exclusiveMinimum"})
		}
		if n.exMax != nil && d.compare(n.exMax) >= 0 {
			ok = w.fail(n, v, fault{keyword: "exclusiveMaximum"})
		}
	}
	if n.s.MultipleOf != nil && !w.multiple(n, v) {
		ok = w.fail(n, v, fault{keyword: "multipleOf"})
	}
	return ok
}

func (w *walker) multiple(n *node, v json.Number) bool {
	if i, ok := smallInt(v); ok && n.multipleOf > 0 {
		return i%n.multipleOf == 0
	}
	w.spend(divisionSteps)
	return new(big.Rat).Quo(rat(v), n.s.MultipleOf).IsInt()
}

func (w *walker) object(n *node, m map[string]any, ev *evaluated) bool {
	s, ok := n.s, true
	if s.MinProperties != nil && len(m) < *s.MinProperties {
		ok = w.fail(n, m, fault{keyword: "minProperties"})
	}
	if s.MaxProperties != nil && len(m) > *s.MaxProperties {
		ok = w.fail(n, m, fault{keyword: "maxProperties"})
	}
	for _, k := range s.Required {
		if _, there := m[k]; !there {
			ok = w.missing(n, k, fault{keyword: "required"})
		}
	}
	if !ok && !w.report {
		return false
	}
	if !w.members(n, m, ev) {
		ok = false
	}
	if n.names != nil && (ok || w.report) && !w.propertyNames(n, m) {
		ok = false
	}
	for i := range n.needs {
		if d := &n.needs[i]; has(m, d.prop) && !w.need(n, d, m, ev) {
			ok = false
		}
	}
	return ok
}

func has[V any](m map[string]V, k string) bool {
	_, ok := m[k]
	return ok
}

func (w *walker) need(n *node, d *need, m map[string]any, ev *evaluated) bool {
	ok := true
	for _, k := range d.others {
		if !has(m, k) {
			ok = w.missing(n, k, fault{keyword: d.keyword, text: d.prop})
		}
	}
	if d.n != nil && !w.check(d.n, m, ev) {
		ok = false
	}
	return ok
}

// members checks the members; with report in the order of the schema and then by name.
func (w *walker) members(n *node, m map[string]any, ev *evaluated) bool {
	if n.props == nil && n.patProps == nil && n.extra == nil {
		return true
	}
	w.spend(len(m) / 4)
	if !w.report {
		for k, v := range m {
			if !w.member(n, k, v, ev) {
				return false
			}
		}
		return true
	}
	ok := true
	for _, k := range n.order {
		if v, there := m[k]; there && !w.member(n, k, v, ev) {
			ok = false
		}
	}
	for _, k := range w.names(m) {
		if !has(n.props, k) && !w.member(n, k, m[k], ev) {
			ok = false
		}
	}
	return ok
}

func (w *walker) member(n *node, k string, v any, ev *evaluated) bool {
	ok, seen := true, false
	if c := n.props[k]; c != nil {
		seen = true
		ok = w.below(c, v, step{key: k}, true)
	}
	for _, p := range n.patProps {
		if w.match(p.re, k) {
			seen = true
			ok = w.below(p.n, v, step{key: k}, false) && ok
		}
	}
	if !seen && n.extra != nil {
		seen = true
		ok = w.extra(n, n.extra, k, v, "additionalProperties")
	}
	if seen {
		ev.prop(k)
	}
	return ok
}

// extra checks a member that n does not declare against c.
func (w *walker) extra(n, c *node, k string, v any, keyword string) bool {
	if !c.never {
		return w.below(c, v, step{key: k}, false)
	}
	if !w.report {
		return false
	}
	w.trail = append(w.trail, frame{step: step{key: k}})
	w.fail(n, v, fault{keyword: keyword})
	w.trail.pop()
	return false
}

// missing reports a property that is not there, by its own path.
func (w *walker) missing(n *node, k string, f fault) bool {
	if !w.report {
		return false
	}
	if c := n.props[k]; c != nil {
		f.types = c.admits
	}
	w.trail = append(w.trail, frame{step: step{key: k}, known: true})
	w.fail(n, nil, f)
	w.trail.pop()
	return false
}

// names are the names of an object, sorted if that can be seen.
func (w *walker) names(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	if w.report {
		slices.Sort(names)
	}
	return names
}

func (w *walker) propertyNames(n *node, m map[string]any) bool {
	ok := true
	for _, k := range w.names(m) {
		if w.quiet(n.names, k, nil) {
			continue
		}
		if ok = false; !w.report {
			break
		}
		w.trail = append(w.trail, frame{step: step{key: k}})
		w.fail(n, k, fault{keyword: "propertyNames", inner: w.collect(n.names, k)})
		w.trail.pop()
	}
	return ok
}

func (w *walker) array(n *node, a []any, ev *evaluated) bool {
	s, ok := n.s, true
	if s.MinItems != nil && len(a) < *s.MinItems {
		ok = w.fail(n, a, fault{keyword: "minItems"})
	}
	if s.MaxItems != nil && len(a) > *s.MaxItems {
		ok = w.fail(n, a, fault{keyword: "maxItems"})
	}
	if s.UniqueItems && len(a) > 1 && !w.unique(n, a) {
		ok = false
	}
	if !ok && !w.report {
		return false
	}
	if !w.items(n, a, ev) {
		ok = false
	}
	if n.contains != nil && (ok || w.report) && !w.containing(n, a, ev) {
		ok = false
	}
	return ok
}

func (w *walker) items(n *node, a []any, ev *evaluated) bool {
	ok := true
	for i, item := range a {
		c := n.rest
		if i < len(n.prefix) {
			c = n.prefix[i]
		}
		if c == nil {
			break
		}
		if !w.below(c, item, step{array: true, index: i}, true) {
			if ok = false; !w.report || w.full() {
				break
			}
		}
	}
	if ev != nil {
		ev.first = max(ev.first, min(len(n.prefix), len(a)))
		ev.allItems = ev.allItems || n.rest != nil
	}
	return ok
}

func (w *walker) unique(n *node, a []any) bool {
	var h hasher
	i, j, twice := h.duplicate(a)
	w.spend(2 * h.values)
	if !twice {
		return true
	}
	return w.fail(n, a, fault{keyword: "uniqueItems", pair: [2]int{i, j}})
}

func (w *walker) containing(n *node, a []any, ev *evaluated) bool {
	s, count := n.s, 0
	for i, item := range a {
		if w.quiet(n.contains, item, nil) {
			count++
			if s.DraftVersion >= 2020 {
				ev.item(i)
			}
		}
	}
	least := 1
	if s.MinContains != nil {
		least = *s.MinContains
	}
	ok := true
	if count < least {
		ok = w.fail(n, a, fault{keyword: "contains", count: count, want: least})
	}
	if s.MaxContains != nil && count > *s.MaxContains {
		ok = w.fail(n, a, fault{keyword: "maxContains", count: count, want: *s.MaxContains})
	}
	return ok
}
