package config

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/internal/near"
	"github.com/toolhost/toolhost/host/internal/schema"
)

//go:embed toolhost.schema.json
var schemaText []byte

// Schema returns the JSON Schema of toolhost.yaml: the published one, and the one that files are checked
// with.
func Schema() []byte { return slices.Clone(schemaText) }

// check checks the document with the schema in text. The error is an *Error.
func check(path string, doc *document, text []byte) error {
	compiled, err := schema.Compile(text)
	if err != nil {
		return &Error{File: path, Faults: []Fault{{Message: "the built-in schema: " + err.Error()}}}
	}
	parsed, err := schema.Parse(doc.json, schema.Limits{})
	if err != nil {
		return &Error{File: path, Faults: []Fault{{Message: err.Error()}}}
	}
	err = compiled.Validate(parsed)
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*schema.Error](err)
	if !ok {
		return &Error{File: path, Faults: []Fault{{Message: err.Error()}}}
	}
	root := new(node)
	if err := json.Unmarshal(text, root); err != nil {
		return &Error{File: path, Faults: []Fault{{Message: "the built-in schema: " + err.Error()}}}
	}
	out := &Error{File: path, More: invalid.More}
	for _, v := range invalid.Violations {
		out.Faults = append(out.Faults, root.fault(doc, v))
	}
	slices.SortStableFunc(out.Faults, func(a, b Fault) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return out
}

// fault puts a violation into words for the person who edits the file.
func (n *node) fault(doc *document, v schema.Violation) Fault {
	byKey := v.Keyword == "additionalProperties" || v.Keyword == "propertyNames"
	line, column := doc.at(v.Path, byKey)
	f := Fault{Line: line, Column: column, Path: dotted(v.Path)}
	keys := splitPointer(v.Path)
	last := ""
	if len(keys) > 0 {
		last = keys[len(keys)-1]
	}
	at := n.lookup(keys)
	switch {
	case byKey && v.Keyword == "additionalProperties":
		f.Message = "unknown key" + advise(last, n.known(keys[:len(keys)-1]))
	case v.Keyword == "required" && !doc.has(v.Path):
		f.Message = "is missing" + hint(at)
	case v.Keyword == "propertyNames":
		f.Message = "got the name " + v.Got + "; write one that is" + strings.TrimPrefix(v.Expected, "a property name that is string")
	case at != nil && hint(at) != "":
		f.Message = "got " + v.Got + hint(at)
	default:
		f.Message = strings.TrimPrefix(v.Message, "at "+v.Path+": ")
	}
	return f
}

// advise names the keys that resemble key, or all if none does.
func advise(key string, keys []string) string {
	if similar := near.Names(key, keys); len(similar) > 0 {
		return "; did you mean " + strings.Join(similar, " or ") + "?"
	}
	if len(keys) == 0 {
		return ""
	}
	return "; known are " + strings.Join(keys, ", ")
}

// node is the part of a JSON Schema that the published one uses.
type node struct {
	Ref         string           `json:"$ref"`
	Type        any              `json:"type"`
	Enum        []any            `json:"enum"`
	Description string           `json:"description"`
	Examples    json.RawMessage  `json:"examples"`
	Properties  map[string]*node `json:"properties"`
	Additional  json.RawMessage  `json:"additionalProperties"`
	Items       *node            `json:"items"`
	Defs        map[string]*node `json:"$defs"`
}

// hint says what the schema wants at n.
func hint(n *node) string {
	if n == nil {
		return ""
	}
	switch {
	case len(n.Examples) > 0:
		words := strings.NewReplacer("[", "", "]", "", `"`, "").Replace(string(n.Examples))
		return "; write it like " + words
	case len(n.Enum) > 0:
		return fmt.Sprintf("; write one of %s", strings.Trim(fmt.Sprint(n.Enum), "[]"))
	case n.Type == "string":
		return "; write a text, in quotes if it looks like a number or a truth value"
	case n.Type == "integer":
		return "; write a whole number above 0"
	case n.Type == "boolean":
		return "; write true or false"
	case n.Type == "object":
		return "; write a map of key: value"
	case n.Type == "array":
		return "; write a list"
	}
	return ""
}

// known returns the keys that the schema knows at the place keys.
func (n *node) known(keys []string) []string {
	at := n.lookup(keys)
	if at == nil {
		return nil
	}
	var names []string
	for name := range at.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// lookup returns the part of the schema, whose root is n, that governs the value at keys, or nil.
func (n *node) lookup(keys []string) *node {
	at := n
	for _, key := range keys {
		if at = child(at, key); at == nil {
			return nil
		}
		if name, ok := strings.CutPrefix(at.Ref, "#/$defs/"); ok {
			at = n.Defs[name]
		}
	}
	return at
}

func child(n *node, key string) *node {
	if p := n.Properties[key]; p != nil {
		return p
	}
	if n.Items != nil {
		return n.Items
	}
	more := new(node)
	if len(n.Additional) == 0 || json.Unmarshal(n.Additional, more) != nil {
		return nil
	}
	return more
}
