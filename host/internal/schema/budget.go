package schema

import "unicode/utf8"

// Budgets of a schema (T2, T3).
const (
	maxSchemaBytes  = 256 << 10
	maxSchemaDepth  = 64
	maxSchemaNodes  = 10_000
	maxSchemaRefs   = 1_000
	maxEnum         = 500
	maxSchemaText   = 4 << 10 // of one string or name
	maxDescription  = 8 << 10 // of descriptions and comments
	maxVisits       = 100_000 // of nodes, for one place of a document
	maxPointerBytes = 4 << 20 // of the JSON Pointers of all values together: the engine makes every one of them
)

var schemaLimits = Limits{Bytes: maxSchemaBytes, Depth: maxSchemaDepth, Values: maxSchemaNodes, Key: maxSchemaText}

// budget walks a decoded schema before the engine sees it.
type budget struct {
	refs     int
	pointers int
	trail    trail
	err      error
}

// checkSchema returns a *LimitError for what the schema has too much of.
func checkSchema(v any) error {
	b := budget{}
	b.value(v, 0)
	return b.err
}

func (b *budget) over(what string, limit int) {
	if b.err == nil {
		b.err = &LimitError{What: what, Max: limit, Path: b.trail.pointer()}
	}
}

// value checks a value whose pointer has the given length.
func (b *budget) value(v any, pointer int) {
	if b.err != nil {
		return
	}
	if b.pointers += pointer; b.pointers > maxPointerBytes {
		b.over("bytes in the paths of a schema", maxPointerBytes)
		return
	}
	switch v := v.(type) {
	case string:
		if len(v) > maxSchemaText {
			b.over("bytes in a string of a schema", maxSchemaText)
		}
	case []any:
		for i, item := range v {
			b.trail.push(step{array: true, index: i})
			b.value(item, pointer+5)
			b.trail.pop()
		}
	case map[string]any:
		for k, item := range v {
			b.trail.push(step{key: k})
			if !b.keyword(k, item) {
				b.value(item, pointer+len(k)+1)
			}
			b.trail.pop()
		}
	}
}

// keyword checks what is bounded by its name; it reports whether the value needs no other check.
func (b *budget) keyword(k string, v any) bool {
	switch k {
	case "$ref", "$dynamicRef", "$recursiveRef":
		if _, ok := v.(string); ok {
			if b.refs++; b.refs > maxSchemaRefs {
				b.over("references in a schema", maxSchemaRefs)
			}
		}
	case "enum":
		if list, ok := v.([]any); ok && len(list) > maxEnum {
			b.over("values in an enum", maxEnum)
		}
	case "pattern":
		if s, ok := v.(string); ok && len(s) > maxPatternText {
			b.over("bytes in a pattern", maxPatternText)
		}
	case "description", "markdownDescription", "$comment":
		if s, ok := v.(string); ok {
			if len(s) > maxDescription {
				b.over("bytes in a description", maxDescription)
			}
			return true
		}
	}
	return false
}

// estimate computes how many nodes are looked at for one place of a document, at worst: the node itself and
// all that apply at the same place ($ref, allOf, anyOf and so on), each as often as it is reached (T2).
// Memoised, so it is linear. A node that reaches itself at the same place would never end.
func estimate(n *node) error {
	switch {
	case n.visits > 0:
		return nil
	case n.visits < 0:
		return &CompileError{Path: n.path, Cause: "the schema refers to itself at the same place, without end"}
	}
	n.visits = -1
	total := 1
	for _, c := range n.inPlace() {
		if err := estimate(c); err != nil {
			return err
		}
		if total += c.visits; total > maxVisits {
			return &LimitError{What: "schema nodes apply at one place", Max: maxVisits, Path: n.path}
		}
	}
	n.visits = total
	return nil
}

// quoteText is s in double quotes, at most maxQuote bytes of it.
func quoteText(s string) string {
	s = cut(s, maxQuote)
	if !utf8.ValidString(s) {
		s = "?"
	}
	return string(appendString(nil, s))
}
