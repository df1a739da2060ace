package schema

import "slices"

// mask stands for a sensitive value.
const mask = "***"

// Sensitive reports whether the schema marks anything as x-sensitive or writeOnly (b15).
func (s *Schema) Sensitive() bool { return s != nil && s.root.hasSensitive }

// Mask returns the document's bytes with "***" in the place of every sensitive value, everything else byte
// for byte. A value is sensitive if any part of the schema that may apply to it, whichever branch of a union
// is taken, says so. If finding out goes wrong or costs too much, the whole text is masked. The document
// stays as it is.
func (s *Schema) Mask(d *Document) []byte {
	if !s.Sensitive() {
		return d.Bytes()
	}
	return s.secrets(d, false).apply(d.Bytes())
}

// SensitivePaths are the JSON Pointers of the sensitive values of a document, sorted. A value within one that
// is listed is not listed again.
func (s *Schema) SensitivePaths(d *Document) []string {
	if !s.Sensitive() {
		return nil
	}
	var paths []string
	eachSecret(s.secrets(d, false), d.Value(), nil, func(t trail, _ any) { paths = append(paths, t.whole()) })
	slices.Sort(paths)
	return paths
}

// SensitiveStrings are the strings of at least min bytes within the sensitive values of a document, each
// once, sorted.
func (s *Schema) SensitiveStrings(d *Document, min int) []string {
	if !s.Sensitive() {
		return nil
	}
	var found []string
	eachSecret(s.secrets(d, false), d.Value(), nil, func(_ trail, v any) { found = stringsIn(found, v, min) })
	slices.Sort(found)
	return slices.Compact(found)
}

func stringsIn(found []string, v any, min int) []string {
	switch v := v.(type) {
	case string:
		if len(v) >= min {
			found = append(found, v)
		}
	case []any:
		for _, item := range v {
			found = stringsIn(found, item, min)
		}
	case map[string]any:
		for _, item := range v {
			found = stringsIn(found, item, min)
		}
	}
	return found
}

// eachSecret calls f for every masked place and its value.
func eachSecret(e *edit, v any, t trail, f func(trail, any)) {
	if e.replace != nil {
		f(t, v)
		return
	}
	for st, c := range e.below {
		switch v := v.(type) {
		case map[string]any:
			eachSecret(c, v[st.key], append(t, frame{step: st}), f)
		case []any:
			eachSecret(c, v[st.index], append(t, frame{step: st}), f)
		}
	}
}

// secrets returns the edits that mask a document. A string that stands where an object with secrets should may hold them:
// it is masked too, and with texts also where the schema admits a string.
func (s *Schema) secrets(d *Document, texts bool) (root *edit) {
	m := marker{root: &edit{}, steps: stepsFor(d), texts: texts}
	defer func() {
		if recover() != nil {
			root = &edit{replace: []byte(`"` + mask + `"`)}
		}
	}()
	if m.value(s.root, d.Value()); m.steps < 0 {
		return &edit{replace: []byte(`"` + mask + `"`)}
	}
	return m.root
}

// marker walks a document and all nodes that may apply to it.
type marker struct {
	root  *edit
	trail trail
	steps int
	texts bool
}

func (m *marker) value(n *node, v any) {
	if m.steps--; !n.hasSensitive || m.steps < 0 {
		return
	}
	_, text := v.(string)
	if n.sensitive || text && (m.texts || n.admits&typeString == 0) {
		m.trail.edits(m.root).replace = []byte(`"` + mask + `"`)
		return
	}
	for _, c := range n.inPlace() {
		if c != n.not {
			m.value(c, v)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for k, item := range v {
			m.member(n, k, item)
		}
	case []any:
		for i, item := range v {
			for _, c := range n.itemNodes(i) {
				m.part(c, item, step{array: true, index: i})
			}
		}
	}
}

// member marks a member under every node that may apply to it. A pattern that cannot be checked may apply.
func (m *marker) member(n *node, k string, v any) {
	st := step{key: k}
	if c := n.props[k]; c != nil {
		m.part(c, v, st)
	}
	for _, p := range n.patProps {
		m.steps -= p.re.cost(k) / stepsPerPattern
		if matched, affordable := p.re.match(k); matched || !affordable {
			m.part(p.n, v, st)
		}
	}
	for _, c := range []*node{n.extra, n.unevalProp} {
		if c != nil && n.props[k] == nil {
			m.part(c, v, st)
		}
	}
}

func (m *marker) part(n *node, v any, st step) {
	if !n.hasSensitive {
		return
	}
	m.trail.push(st)
	m.value(n, v)
	m.trail.pop()
}

// itemNodes are the nodes that may apply to an item.
func (n *node) itemNodes(i int) []*node {
	var nodes []*node
	if i < len(n.prefix) {
		nodes = append(nodes, n.prefix[i])
	} else if n.rest != nil {
		nodes = append(nodes, n.rest)
	}
	for _, c := range []*node{n.contains, n.unevalItem} {
		if c != nil {
			nodes = append(nodes, c)
		}
	}
	return nodes
}
