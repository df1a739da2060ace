package schema

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema is a compiled JSON Schema; safe for concurrent use. A nil Schema accepts everything and fills
// nothing.
type Schema struct {
	root     *node
	warnings []string
}

// Options say how a schema is compiled. The zero value is for a tool whose author can mend it.
type Options struct {
	// Lenient is for imported tools: a default that breaks its own schema is not filled, and a warning says so.
	// If false, it refuses the schema.
	Lenient bool
}

// CompileError says why a schema is refused.
type CompileError struct {
	Path  string // JSON Pointer into the schema, at most 512 bytes
	Cause string
}

// Error reads "at /properties/a: cause".
func (e *CompileError) Error() string {
	if e.Path == "" {
		return e.Cause
	}
	return "at " + e.Path + ": " + e.Cause
}

// Compile checks the budgets of a schema (T2 to T4), compiles it and checks its defaults. An empty text is
// nil, nil. Errors: *SyntaxError, *LimitError, *CompileError, *PanicError.
func Compile(text []byte) (*Schema, error) { return CompileWith(text, Options{}) }

// CompileWith is Compile with options.
func CompileWith(text []byte, opt Options) (s *Schema, err error) {
	if len(text) == 0 {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil {
			s, err = nil, &PanicError{Op: "compile", Value: v, Stack: debug.Stack()}
		}
	}()
	kept := &notes{order: map[string][]string{}, defaults: map[string]string{}}
	doc, err := parse(text, schemaLimits, kept)
	if err != nil {
		return nil, err
	}
	if err := checkSchema(doc.value); err != nil {
		return nil, err
	}
	b := builder{doc: doc.value, notes: kept, lenient: opt.Lenient, nodes: map[*jsonschema.Schema]*node{}}
	for _, p := range doc.Duplicates() {
		b.warn("at %s: the name comes more than once; the last one counts", p)
	}
	engine, err := compileEngine(doc.value)
	if err != nil {
		return nil, err
	}
	root, err := b.build(engine)
	if err != nil {
		return nil, err
	}
	return &Schema{root: root, warnings: b.warnings}, nil
}

// Warnings are what is odd about the schema but did not refuse it: defaults that are not filled, repeated
// names.
func (s *Schema) Warnings() []string {
	if s == nil {
		return nil
	}
	return s.warnings
}

// IsObject reports whether the schema's root admits objects only.
func (s *Schema) IsObject() bool { return s != nil && s.root.admits == typeObject }

// base is the address the engine knows the schema by; nothing is ever loaded from it.
const base = "mem:///schema.json"

// compileEngine has the engine check the schema against its meta-schema and resolve its references.
func compileEngine(v any) (*jsonschema.Schema, error) {
	var c census
	if err := c.take(v); err != nil {
		return nil, err
	}
	draft, err := dialectOf(v, c.draft7)
	if err != nil {
		return nil, err
	}
	ps := patterns{byText: map[string]*pattern{}}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(draft)
	compiler.AssertFormat()
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(ps.compile)
	if err := compiler.AddResource(base, v); err != nil {
		return nil, &CompileError{Cause: err.Error()}
	}
	s, err := compiler.Compile(base)
	if err != nil {
		return nil, explainEngine(err)
	}
	return s, nil
}

// noLoader refuses every reference out of the schema.
type noLoader struct{}

func (noLoader) Load(address string) (any, error) {
	return nil, &CompileError{Cause: "remote reference " + quoteText(address) + "; only references within the schema are followed"}
}

// explainEngine makes an error of the engine short.
func explainEngine(err error) error {
	var limit *LimitError
	if errors.As(err, &limit) {
		return limit
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		var own *CompileError
		if errors.As(load.Err, &own) {
			return own
		}
	}
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var tree *jsonschema.ValidationError
		if errors.As(invalid.Err, &tree) {
			return metaError(tree)
		}
	}
	return &CompileError{Cause: cut(strings.ReplaceAll(err.Error(), base, ""), maxPath)}
}

// metaError describes the fault that lies deepest in the schema.
func metaError(tree *jsonschema.ValidationError) error {
	leaf := tree
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 && (leaf == tree || len(e.InstanceLocation) > len(leaf.InstanceLocation)) {
			leaf = e
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(tree)
	var t trail
	for _, tok := range leaf.InstanceLocation {
		t.push(step{key: tok})
	}
	one := jsonschema.ValidationError{SchemaURL: leaf.SchemaURL, InstanceLocation: leaf.InstanceLocation, ErrorKind: leaf.ErrorKind}
	_, text, _ := strings.Cut(one.Error(), "': ")
	return &CompileError{Path: t.pointer(), Cause: "not valid JSON Schema: " + cut(text, maxPath)}
}

// builder makes the nodes of a schema from what the engine compiled and from the decoded schema beside it,
// which holds what the engine does not keep: the order of properties, annotations beside $ref, nullable,
// x-sensitive.
type builder struct {
	doc      any
	notes    *notes
	lenient  bool
	nodes    map[*jsonschema.Schema]*node
	all      []*node
	ids      int  // $id below the root
	dynamic  bool // $dynamicRef or $recursiveRef
	warnings []string
	err      error
}

func (b *builder) build(engine *jsonschema.Schema) (*node, error) {
	root := b.node(engine)
	if b.err != nil {
		return nil, b.err
	}
	if b.dynamic && b.ids > 0 {
		return nil, &CompileError{Cause: "$dynamicRef together with $id below the root is not supported"}
	}
	for _, n := range b.all {
		if err := estimate(n); err != nil {
			return nil, err
		}
	}
	for _, n := range b.all {
		n.admit()
		n.discriminate()
	}
	reach(b.all, (*node).below, func(n *node) bool { return n.sensitive }, func(n *node) { n.hasSensitive = true })
	if err := b.presets(); err != nil {
		return nil, err
	}
	for _, n := range b.all {
		n.plan()
	}
	return root, nil
}

func (b *builder) fail(path, format string, args ...any) {
	if b.err == nil {
		b.err = &CompileError{Path: cut(path, maxPath), Cause: fmt.Sprintf(format, args...)}
	}
}

func (b *builder) warn(format string, args ...any) {
	if len(b.warnings) < maxViolations {
		b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
	}
}

// raw finds the decoded schema of an engine's schema by its location, and its pointer. Remote ones, which can
// only be the built-in meta-schemas, are refused.
func (b *builder) raw(s *jsonschema.Schema) (map[string]any, string) {
	address, fragment, _ := strings.Cut(s.Location, "#")
	pointer := unescapeFragment(fragment)
	if address != base {
		b.fail("", "remote reference %s; only references within the schema are followed", quoteText(s.Location))
		return nil, ""
	}
	m, _ := lookup(b.doc, pointer).(map[string]any)
	return m, pointer
}

// reach calls set for every node from which one that has is true for can be reached over the edges, itself
// included.
func reach(all []*node, edges func(*node) []*node, has func(*node) bool, set func(*node)) {
	from := make(map[*node][]*node)
	var todo []*node
	for _, n := range all {
		for _, c := range edges(n) {
			from[c] = append(from[c], n)
		}
		if has(n) {
			todo = append(todo, n)
		}
	}
	done := make(map[*node]bool)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if done[n] {
			continue
		}
		done[n] = true
		set(n)
		todo = append(todo, from[n]...)
	}
}
