package schema

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// typeSet is a set of JSON types.
type typeSet uint8

const (
	typeNull typeSet = 1 << iota
	typeBoolean
	typeNumber
	typeInteger // only in a node's types: a value is a number
	typeString
	typeArray
	typeObject
	typeAny = typeNull | typeBoolean | typeNumber | typeString | typeArray | typeObject
)

var typeNames = map[string]typeSet{"null": typeNull, "boolean": typeBoolean, "number": typeNumber, "integer": typeInteger,
	"string": typeString, "array": typeArray, "object": typeObject}

// typeOf is the type of a decoded value.
func typeOf(v any) typeSet {
	switch v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case json.Number:
		return typeNumber
	case string:
		return typeString
	case []any:
		return typeArray
	}
	return typeObject
}

// node is one schema, ready to be walked. Absent keywords are zero. Nodes form a graph with cycles and never
// change after Compile.
type node struct {
	s         *jsonschema.Schema // plain keywords are read from here
	path      string             // JSON Pointer in the schema
	visits    int                // see estimate
	admits    typeSet            // types a valid value can have, as far as is plain; always without typeInteger
	own       typeSet            // the same from its own type, const and enum alone
	admitted  bool               // admits is computed
	always    bool               // true or {}
	never     bool               // false
	nullable  bool               // OpenAPI: null is valid whatever else is said
	sensitive bool               // x-sensitive or writeOnly

	types                   typeSet
	konst, enum             *enum
	min, max, exMin, exMax  *decimal
	multipleOf              int64 // if it is a positive integer; else s.MultipleOf counts
	pattern                 *pattern
	ref, dynRef             *node
	allOf, anyOf, oneOf     []*node
	not, cond, then, orElse *node
	anyPick, onePick        *discriminator

	order      []string // of props, as the schema's text has them
	props      map[string]*node
	patProps   []patternProperty
	extra      *node // additionalProperties
	names      *node
	needs      []need
	unevalProp *node

	prefix     []*node
	rest       *node // items after the prefix
	contains   *node
	unevalItem *node

	preset       *preset // its own default
	fillKnown    bool    // fill is computed
	fill         *preset // what fills the property if it is absent: its own default, or that of $ref or allOf
	hasDefault   bool    // a default can be filled here or below
	hasSensitive bool    // a sensitive node applies here or below

	// For skim, from plan.
	whole           bool           // a value must be decoded to be checked
	follow          *node          // the node is a reference to it and nothing else
	anyText         bool           // whatever a string says, it is as good as another
	fields          []*node        // of props, in order
	place           map[string]int // in order
	required, fills uint64         // bits of order: must be there; filled if it is absent
}

type patternProperty struct {
	re *pattern
	n  *node
}

// need is what the presence of a property asks for: dependencies, dependentRequired, dependentSchemas.
type need struct {
	prop    string
	others  []string
	n       *node
	keyword string
}

// enum are the values of an enum, or the one of a const.
type enum struct {
	values  []any
	strings map[string]struct{}
	others  []any
}

func newEnum(values []any) *enum {
	e := &enum{values: values, strings: make(map[string]struct{})}
	for _, v := range values {
		if s, ok := v.(string); ok {
			e.strings[s] = struct{}{}
		} else {
			e.others = append(e.others, v)
		}
	}
	return e
}

func (e *enum) has(v any) bool {
	if s, ok := v.(string); ok {
		_, ok := e.strings[s]
		return ok
	}
	return slices.ContainsFunc(e.others, func(o any) bool { return equal(o, v) })
}

func (e *enum) types() typeSet {
	var set typeSet
	for _, v := range e.values {
		set |= typeOf(v)
	}
	return set
}

// node makes the node of an engine's schema, and those it leads to.
func (b *builder) node(s *jsonschema.Schema) *node {
	if s == nil || b.err != nil {
		return nil
	}
	if n := b.nodes[s]; n != nil {
		return n
	}
	n := &node{s: s}
	b.nodes[s] = n
	b.all = append(b.all, n)
	raw, path := b.raw(s)
	n.path = path
	if s.Bool != nil {
		n.always, n.never = *s.Bool, !*s.Bool
		return n
	}
	n.nullable = raw["nullable"] == true
	n.sensitive = raw["x-sensitive"] == true || raw["writeOnly"] == true
	if s.ID != "" && path != "" {
		b.ids++
	}
	b.dynamic = b.dynamic || s.DynamicRef != nil || s.RecursiveRef != nil
	if s.DraftVersion < 2019 && s.Ref != nil { // all else beside $ref is ignored
		n.ref = b.node(s.Ref)
		return n
	}
	b.plain(n)
	b.applied(n)
	b.object(n)
	b.array(n)
	return n
}

// plain fills what concerns a value by itself.
func (b *builder) plain(n *node) {
	s := n.s
	if s.Types != nil {
		for _, name := range s.Types.ToStrings() {
			n.types |= typeNames[name]
		}
	}
	if s.Const != nil {
		n.konst = newEnum([]any{*s.Const})
	}
	if s.Enum != nil {
		n.enum = newEnum(s.Enum.Values)
	}
	raw, _ := b.raw(s)
	bound := func(set bool, keyword, bare string) *decimal {
		if !set {
			return nil
		}
		num, ok := raw[keyword].(json.Number)
		if !ok { // draft-04: exclusiveMinimum is a flag beside minimum
			num, _ = raw[bare].(json.Number)
		}
		d := parseDecimal(num)
		return &d
	}
	n.min = bound(s.Minimum != nil, "minimum", "")
	n.max = bound(s.Maximum != nil, "maximum", "")
	n.exMin = bound(s.ExclusiveMinimum != nil, "exclusiveMinimum", "minimum")
	n.exMax = bound(s.ExclusiveMaximum != nil, "exclusiveMaximum", "maximum")
	if s.MultipleOf != nil && s.MultipleOf.IsInt() && s.MultipleOf.Num().IsInt64() {
		n.multipleOf = s.MultipleOf.Num().Int64()
	}
	n.pattern, _ = s.Pattern.(*pattern)
}

// applied fills what applies to the same value.
func (b *builder) applied(n *node) {
	s := n.s
	n.ref = b.node(s.Ref)
	n.dynRef = b.node(s.RecursiveRef)
	if s.DynamicRef != nil {
		n.dynRef = b.node(s.DynamicRef.Ref)
	}
	n.allOf, n.anyOf, n.oneOf = b.list(s.AllOf), b.list(s.AnyOf), b.list(s.OneOf)
	n.not, n.cond, n.then, n.orElse = b.node(s.Not), b.node(s.If), b.node(s.Then), b.node(s.Else)
}

func (b *builder) list(of []*jsonschema.Schema) []*node {
	var nodes []*node
	for _, s := range of {
		nodes = append(nodes, b.node(s))
	}
	return nodes
}

// either is a node for what the engine gives as bool or schema.
func (b *builder) either(v any) *node {
	switch v := v.(type) {
	case bool:
		return &node{s: &jsonschema.Schema{}, always: v, never: !v, visits: 1, admits: typeAny, own: typeAny, admitted: true}
	case *jsonschema.Schema:
		return b.node(v)
	}
	return nil
}

func (b *builder) object(n *node) {
	s := n.s
	if len(s.Properties) > 0 {
		n.props = make(map[string]*node, len(s.Properties))
		for _, name := range b.order(n) {
			if _, again := n.props[name]; !again {
				n.order = append(n.order, name)
				n.props[name] = b.node(s.Properties[name])
			}
		}
	}
	for re, sub := range s.PatternProperties {
		p, _ := re.(*pattern)
		n.patProps = append(n.patProps, patternProperty{p, b.node(sub)})
	}
	slices.SortFunc(n.patProps, func(p, q patternProperty) int { return cmp.Compare(p.re.text, q.re.text) })
	n.extra = b.either(s.AdditionalProperties)
	n.names = b.node(s.PropertyNames)
	n.unevalProp = b.node(s.UnevaluatedProperties)
	for prop, dep := range s.Dependencies {
		others, _ := dep.([]string)
		sub, _ := dep.(*jsonschema.Schema)
		n.needs = append(n.needs, need{prop, others, b.node(sub), "dependencies"})
	}
	for prop, others := range s.DependentRequired {
		n.needs = append(n.needs, need{prop, others, nil, "dependentRequired"})
	}
	for prop, sub := range s.DependentSchemas {
		n.needs = append(n.needs, need{prop, nil, b.node(sub), "dependentSchemas"})
	}
	slices.SortFunc(n.needs, func(p, q need) int {
		return cmp.Or(cmp.Compare(p.keyword, q.keyword), cmp.Compare(p.prop, q.prop))
	})
}

// order is the order in which the schema's text has the properties.
func (b *builder) order(n *node) []string {
	names := b.notes.order[n.path+"/properties"]
	if len(names) < len(n.s.Properties) { // only where a reference leads to a place with an unusual name
		names = nil
		for name := range n.s.Properties {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	return names
}

func (b *builder) array(n *node) {
	s := n.s
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		n.rest = b.node(items)
	case []*jsonschema.Schema:
		n.prefix = b.list(items)
		n.rest = b.either(s.AdditionalItems)
	}
	if s.DraftVersion >= 2020 {
		n.prefix, n.rest = b.list(s.PrefixItems), b.node(s.Items2020)
	}
	n.contains = b.node(s.Contains)
	n.unevalItem = b.node(s.UnevaluatedItems)
}

// same are the nodes that a valid value must satisfy too, at the same place: those defaults come from.
func (n *node) same() []*node {
	var nodes []*node
	for _, c := range append([]*node{n.ref, n.dynRef}, n.allOf...) {
		if c != nil {
			nodes = append(nodes, c)
		}
	}
	return nodes
}

// inPlace are all nodes that may be looked at for the same value.
func (n *node) inPlace() []*node {
	nodes := slices.Concat(n.same(), n.anyOf, n.oneOf)
	for _, c := range []*node{n.not, n.cond, n.then, n.orElse} {
		if c != nil {
			nodes = append(nodes, c)
		}
	}
	for _, d := range n.needs {
		if d.n != nil {
			nodes = append(nodes, d.n)
		}
	}
	return nodes
}

// parts are the nodes for members and items.
func (n *node) parts() []*node {
	nodes := slices.Clone(n.prefix)
	for _, name := range n.order {
		nodes = append(nodes, n.props[name])
	}
	for _, p := range n.patProps {
		nodes = append(nodes, p.n)
	}
	for _, c := range []*node{n.extra, n.unevalProp, n.rest, n.contains, n.unevalItem} {
		if c != nil {
			nodes = append(nodes, c)
		}
	}
	return nodes
}

// below are all nodes it leads to.
func (n *node) below() []*node { return append(n.inPlace(), n.parts()...) }

// admit computes which types a valid value can have. Called after estimate, so it ends; memoised.
func (n *node) admit() typeSet {
	if n.admitted || n.never {
		return n.admits
	}
	set := typeAny
	if n.types != 0 {
		set = n.types &^ typeInteger
		if n.types&typeInteger != 0 {
			set |= typeNumber
		}
	}
	for _, e := range []*enum{n.konst, n.enum} {
		if e != nil {
			set &= e.types()
		}
	}
	n.own = set
	if n.nullable {
		n.own |= typeNull
	}
	for _, c := range n.same() {
		set &= c.admit()
	}
	for _, union := range [][]*node{n.anyOf, n.oneOf} {
		var of typeSet
		for _, c := range union {
			of |= c.admit()
		}
		if len(union) > 0 {
			set &= of
		}
	}
	if n.nullable {
		set |= typeNull
	}
	n.admits, n.admitted = set, true
	return set
}
