package schema

import (
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
)

// Budgets of what the engine takes more than linear time for.
const (
	maxSchemas   = 1_500  // subschemas
	maxAddresses = 200    // $id and anchors
	maxOdd       = 60_000 // references to places under no keyword, such as #/components/x, times subschemas
)

// Keywords that hold one schema, a list of schemas, and schemas by name.
var (
	oneSchema = []string{"additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
		"propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"}
	listOfSchemas = []string{"allOf", "anyOf", "items", "oneOf", "prefixItems"}
	namedSchemas  = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)

// census goes through the places where schemas stand, so a property that is called "definitions" is none of
// the keyword's.
type census struct {
	root      any
	places    map[string]struct{} // pointers of schemas
	odd       map[string]struct{} // references to other places
	refs      []string
	addresses int
	draft7    bool // array-form items, definitions or dependencies were seen
}

// take counts the schemas of a document, those that references make of other places too. Errors: *LimitError.
func (c *census) take(root any) error {
	c.root, c.places, c.odd = root, map[string]struct{}{}, map[string]struct{}{}
	c.schema(root, "")
	for len(c.refs) > 0 {
		ref := c.refs[len(c.refs)-1]
		c.refs = c.refs[:len(c.refs)-1]
		if _, known := c.places[ref]; known {
			continue
		}
		if c.odd[ref] = struct{}{}; len(c.odd)*len(c.places) > maxOdd {
			break
		}
		c.schema(lookup(root, ref), ref)
	}
	switch {
	case len(c.places) > maxSchemas:
		return &LimitError{What: "subschemas", Max: maxSchemas}
	case c.addresses > maxAddresses:
		return &LimitError{What: "ids and anchors in a schema", Max: maxAddresses}
	case len(c.odd)*len(c.places) > maxOdd:
		return &LimitError{What: "references to places outside of $defs and other keywords", Max: maxOdd / len(c.places)}
	}
	return nil
}

func (c *census) schema(v any, at string) {
	s, ok := v.(map[string]any)
	if _, seen := c.places[at]; seen || len(c.places) > maxSchemas {
		return
	}
	c.places[at] = struct{}{}
	if !ok {
		return
	}
	c.facts(s)
	for _, k := range oneSchema {
		if sub, ok := s[k]; ok {
			c.schema(sub, at+"/"+k)
		}
	}
	for _, k := range listOfSchemas {
		list, _ := s[k].([]any)
		for i, sub := range list {
			c.schema(sub, at+"/"+k+"/"+strconv.Itoa(i))
		}
	}
	for _, k := range namedSchemas {
		byName, _ := s[k].(map[string]any)
		for name, sub := range byName {
			c.schema(sub, at+"/"+k+"/"+jsonpointer.Escape(name))
		}
	}
}

// facts notes what one schema says of itself.
func (c *census) facts(s map[string]any) {
	for _, k := range []string{"definitions", "dependencies"} {
		_, ok := s[k].(map[string]any)
		c.draft7 = c.draft7 || ok
	}
	_, ok := s["items"].([]any)
	c.draft7 = c.draft7 || ok
	for _, k := range []string{"$id", "id", "$anchor", "$dynamicAnchor"} {
		if _, ok := s[k].(string); ok {
			c.addresses++
		}
	}
	for _, k := range []string{"$ref", "$dynamicRef"} {
		ref, _ := s[k].(string)
		address, pointer, _ := strings.Cut(ref, "#")
		if !strings.HasPrefix(pointer, "/") {
			continue
		}
		if address != "" { // within another resource: it would take the engine to say which place that is
			c.odd[ref] = struct{}{}
			continue
		}
		c.refs = append(c.refs, unescapeFragment(pointer))
	}
}
