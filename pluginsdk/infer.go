package pluginsdk

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// direction is which way the values of a type travel. It decides what absent
// and null mean: a pointer of an input is optional; a pointer, slice or map
// of an output without omitempty is written as null when it is nil.
type direction int

const (
	reads  direction = iota // input, settings: encoding/json decodes
	writes                  // output: encoding/json encodes
)

// infer returns the JSON Schema of t as encoding/json sees it. Its root is the type itself, definitions
// have names of [A-Za-z0-9_.-] and there is no $schema. Nothing panics.
func infer(t reflect.Type, dir direction) (raw json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			raw, err = nil, fmt.Errorf("type %s: %v", t, v)
		}
	}()
	if err := checkType(t, dir); err != nil {
		return nil, err
	}
	in := &inference{dir: dir, names: map[reflect.Type]string{}, taken: map[string]bool{}, adjusted: map[reflect.Type]bool{}}
	r := jsonschema.Reflector{Anonymous: true, Mapper: in.known, Namer: in.name}
	root := r.ReflectFromType(t)
	in.defs = root.Definitions
	in.adjust(deref(t), root)
	root.Version = ""
	root = in.expand(root)
	if dir == reads && root.Type != "object" {
		return nil, fmt.Errorf("type %s: an input is a JSON object, so the type must be a struct or a map with string keys", t)
	}
	return encodeSchema(root)
}

type inference struct {
	dir      direction
	names    map[reflect.Type]string
	taken    map[string]bool
	adjusted map[reflect.Type]bool
	defs     jsonschema.Definitions
}

// known is the table of types whose JSON form their structure does not show.
func (in *inference) known(t reflect.Type) *jsonschema.Schema {
	if implements[interface{ JSONSchema() *jsonschema.Schema }](t) {
		return nil
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "integer", Title: "nanoseconds"}
	case reflect.TypeFor[json.Number]():
		return &jsonschema.Schema{Type: "number"}
	case reflect.TypeFor[big.Int]():
		return &jsonschema.Schema{Type: "integer"}
	case reflect.TypeFor[json.RawMessage]():
		return &jsonschema.Schema{}
	}
	switch {
	case implements[json.Marshaler](t), implements[json.Unmarshaler](t):
		return &jsonschema.Schema{}
	case implements[encoding.TextMarshaler](t), implements[encoding.TextUnmarshaler](t):
		return &jsonschema.Schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &jsonschema.Schema{Type: "integer", Minimum: "0"}
	}
	return nil
}

// name is the definition's name of t: unique, without the package paths of type arguments.
func (in *inference) name(t reflect.Type) string {
	if name, ok := in.names[t]; ok || t.Name() == "" {
		return name
	}
	base, args, _ := strings.Cut(strings.TrimSuffix(t.Name(), "]"), "[")
	for arg := range strings.SplitSeq(args, ",") {
		if arg = arg[strings.LastIndexAny(arg, "./")+1:]; arg != "" {
			base += "_" + arg
		}
	}
	base = strings.Map(func(r rune) rune {
		if !isIDRune(r) && r != '.' {
			return '_'
		}
		return r
	}, base)
	name := base
	for n := 2; in.taken[name] || name == ""; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	in.names[t], in.taken[name] = name, true
	return name
}

// adjust gives the schema of t, and those it refers to, what the reflector does
// not know: pointers, and nil in outputs.
func (in *inference) adjust(t reflect.Type, s *jsonschema.Schema) {
	if s.Ref != "" {
		s = in.defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	}
	if s == nil || in.opaque(t) {
		return
	}
	if t.Name() != "" {
		if in.adjusted[t] {
			return
		}
		in.adjusted[t] = true
	}
	switch t.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			in.adjustField(f, s)
		}
	case reflect.Slice, reflect.Array:
		if s.Items != nil {
			s.Items = in.element(t.Elem(), s.Items)
		}
	case reflect.Map:
		if s.AdditionalProperties != nil && len(s.PatternProperties) == 0 {
			s.AdditionalProperties = in.element(t.Elem(), s.AdditionalProperties)
		}
		for pattern, p := range s.PatternProperties {
			s.PatternProperties[pattern] = in.element(t.Elem(), p)
		}
	}
}

func (in *inference) adjustField(f field, s *jsonschema.Schema) {
	p, ok := s.Properties.Get(f.name)
	if !ok {
		return
	}
	if f.maybeAbsent || in.dir == reads && f.typ.Kind() == reflect.Pointer && !f.required {
		s.Required = remove(s.Required, f.name)
	}
	if f.omits {
		in.adjust(deref(f.typ), p)
		return
	}
	s.Properties.Set(f.name, in.element(f.typ, p))
}

// element adjusts a value that is written whether it is nil or not.
func (in *inference) element(t reflect.Type, s *jsonschema.Schema) *jsonschema.Schema {
	in.adjust(deref(t), s)
	if in.dir == writes && nilIsNull(t) {
		return nullable(s)
	}
	return s
}

// opaque says that t's schema does not come from its structure.
func (in *inference) opaque(t reflect.Type) bool {
	return in.known(t) != nil || implements[interface{ JSONSchema() *jsonschema.Schema }](t) ||
		implements[interface{ JSONSchemaAlias() any }](t)
}

// expand puts the root's definition in place of the reference to it.
func (in *inference) expand(root *jsonschema.Schema) *jsonschema.Schema {
	if root.Ref == "" {
		return root
	}
	old := root.Ref
	name := strings.TrimPrefix(old, "#/$defs/")
	def := in.defs[name]
	if def == nil {
		return root
	}
	delete(in.defs, name)
	out := *def
	seen := map[*jsonschema.Schema]bool{}
	redirect(&out, old, seen)
	for _, d := range in.defs {
		redirect(d, old, seen)
	}
	for name, d := range def.Definitions { // of an author's JSONSchema method
		if in.defs[name] == nil {
			in.defs[name] = d
		}
	}
	out.Definitions = in.defs
	return &out
}

// redirect makes references to old point at the root.
func redirect(s *jsonschema.Schema, old string, seen map[*jsonschema.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if s.Ref == old {
		s.Ref = "#"
	}
	redirect(s.Items, old, seen)
	redirect(s.AdditionalProperties, old, seen)
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, sub := range list {
			redirect(sub, old, seen)
		}
	}
	for _, sub := range s.PatternProperties {
		redirect(sub, old, seen)
	}
	if s.Properties != nil {
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			redirect(pair.Value, old, seen)
		}
	}
}

// nullable allows null beside s.
func nullable(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Type != "" && s.Enum == nil && s.Const == nil:
		if s.Extras == nil {
			s.Extras = map[string]any{}
		}
		s.Extras["type"], s.Type = []string{s.Type, "null"}, ""
		return s
	case s.Ref == "" && s.Enum == nil && s.Const == nil && len(s.OneOf)+len(s.AnyOf)+len(s.AllOf) == 0:
		return s // anything goes already
	}
	out := &jsonschema.Schema{Title: s.Title, Description: s.Description, AnyOf: []*jsonschema.Schema{s, {Type: "null"}}}
	s.Title, s.Description = "", ""
	return out
}

func encodeSchema(s *jsonschema.Schema) (json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if !isObject(raw) { // the reflector writes true for "anything"
		return nil, nil
	}
	return raw, nil
}

// checkSchema says what is wrong with a schema that the author gave.
func checkSchema(raw json.RawMessage) error {
	if !json.Valid(raw) {
		var v any
		return fmt.Errorf("no JSON: %w", json.Unmarshal(raw, &v))
	}
	if !isObject(raw) {
		return errors.New("a JSON Schema is a JSON object")
	}
	return nil
}

// isObject reports whether raw is a JSON object.
func isObject(raw []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte{'{'}) && json.Valid(raw)
}
