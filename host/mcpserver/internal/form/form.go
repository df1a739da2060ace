// Package form makes the JSON Schema of a tool's question a form as MCP lets a client be asked by, and reads what comes back.
package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// Form is a JSON Schema as MCP lets a client be asked for: a flat object of strings, numbers, booleans and choices.
type Form struct {
	Schema json.RawMessage // requestedSchema

	wrapped bool           // what is asked for is no object: the form has it as its one field, value
	check   *schema.Schema // what was asked for; nil: anything
}

// wrapKey is the field of a form that asks for one value.
const wrapKey = "value"

// MaxSchema is how many bytes a schema may have.
const MaxSchema = 64 << 10

const maxFields = 50

// New makes a form of a schema; an empty one asks for a yes. The error says which part no form can ask for, or,
// unless secrets are allowed, which field seems to ask for one (T32).
func New(text json.RawMessage, secrets bool) (*Form, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return &Form{Schema: objectOf(nil, nil)}, nil
	}
	if len(text) > MaxSchema {
		return nil, fmt.Errorf("a schema of %d bytes is too long for a form: the limit is %d", len(text), MaxSchema)
	}
	check, err := schema.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("its schema: %w", err)
	}
	b := builder{root: text, secrets: secrets}
	root, err := b.resolve("", text)
	if err != nil {
		return nil, err
	}
	if typ, _ := typeOf(root); typ == "object" || typ == "" && root.Has("properties") {
		out, err := b.object(root)
		return &Form{Schema: out, check: check}, err
	}
	field, err := b.named("", wrapKey, text)
	if err != nil {
		return nil, err
	}
	return &Form{Schema: objectOf(rawjson.Object{{wrapKey, field}}, []string{wrapKey}), wrapped: true, check: check}, nil
}

// Read takes a client's ElicitResult. The error says, for whoever answers, what is wrong with it.
func (f *Form) Read(result json.RawMessage) (host.Answer, error) {
	var a struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(result, &a); err != nil {
		return host.Answer{}, errors.New("it is no elicitation result")
	}
	switch a.Action {
	case "decline", "cancel":
		return host.Answer{Action: a.Action}, nil
	case "accept":
	default:
		return host.Answer{}, errors.New("its action is none of accept, decline and cancel")
	}
	content := a.Content
	if len(content) == 0 || string(content) == "null" {
		content = json.RawMessage("{}")
	}
	if f.wrapped {
		var all map[string]json.RawMessage
		if json.Unmarshal(content, &all) != nil || all[wrapKey] == nil {
			return host.Answer{}, errors.New("the field value is missing")
		}
		content = all[wrapKey]
	}
	doc, err := schema.Parse(content, schema.Limits{})
	if err != nil {
		return host.Answer{}, err
	}
	if _, object := doc.Value().(map[string]any); !object && !f.wrapped {
		return host.Answer{}, errors.New("its content is no object")
	}
	if f.check != nil {
		if err := f.check.Validate(doc); err != nil {
			return host.Answer{}, err
		}
	}
	return host.Answer{Action: "accept", Content: doc.Bytes()}, nil
}

// objectOf is the schema of a form with these fields.
func objectOf(fields rawjson.Object, required []string) json.RawMessage {
	o := rawjson.Object{{"type", rawjson.Quote("object")}, {"properties", fields.Raw()}}
	if len(required) > 0 {
		o.Set("required", rawjson.Encode(required))
	}
	return o.Raw()
}

// typeOf is the type that a schema names; null beside another one does not count. many tells that there are several.
func typeOf(s rawjson.Object) (typ string, many bool) {
	raw := s.Get("type")
	if json.Unmarshal(raw, &typ) == nil {
		return typ, false
	}
	var types []string
	if json.Unmarshal(raw, &types) != nil {
		return "", raw != nil
	}
	types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	if len(types) == 1 {
		return types[0], false
	}
	return "", true
}

// builder makes the fields of a form.
type builder struct {
	root    json.RawMessage
	secrets bool
}

// object is the form of an object schema.
func (b builder) object(root rawjson.Object) (json.RawMessage, error) {
	for _, k := range []string{"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies"} {
		if root.Has(k) {
			return nil, fmt.Errorf("%s at the root is nothing that a form can ask for", k)
		}
	}
	props, ok := rawjson.ParseObject(root.Get("properties"))
	if !ok && root.Has("properties") {
		return nil, errors.New("at /properties: it is no object")
	}
	if len(props) > maxFields {
		return nil, fmt.Errorf("%d fields are too many for a form: the limit is %d", len(props), maxFields)
	}
	var fields rawjson.Object
	for _, p := range props {
		field, err := b.named("/properties/"+p.Name, p.Name, p.Value)
		if err != nil {
			return nil, err
		}
		fields.Set(p.Name, field)
	}
	var required []string
	_ = json.Unmarshal(root.Get("required"), &required) // the schema compiled: it is a list of names, or there is none
	for _, r := range required {
		if !props.Has(r) {
			return nil, fmt.Errorf("at /required: %s is required, and no property says what it is", r)
		}
	}
	return objectOf(fields, required), nil
}

// named is one field of the form.
func (b builder) named(path, key string, text json.RawMessage) (json.RawMessage, error) {
	s, err := b.resolve(path, text)
	if err != nil {
		return nil, err
	}
	if !b.secrets {
		if word := secretWord(key, s); word != "" {
			return nil, fmt.Errorf("at %s: the field seems to ask for a secret (%s), and plugins may not", place(path), word)
		}
	}
	out, err := fieldOf(s)
	if err != nil {
		return nil, fmt.Errorf("at %s: %w", place(path), err)
	}
	return out, nil
}

// place names a path for people.
func place(path string) string {
	if path == "" {
		return "the root"
	}
	return path
}

// resolve reads a schema and follows what it refers to within itself; a choice between something and null is the
// something.
func (b builder) resolve(path string, text json.RawMessage) (rawjson.Object, error) {
	for range 8 {
		s, ok := rawjson.ParseObject(text)
		if !ok {
			return nil, fmt.Errorf("at %s: the schema is no object", place(path))
		}
		if ref, _ := s.Text("$ref"); ref != "" {
			if text = rawjson.Resolve(b.root, ref); text == nil {
				return nil, fmt.Errorf("at %s: a form cannot follow the reference %q", place(path), ref)
			}
			continue
		}
		if text = beside(s); text == nil {
			return s, nil
		}
	}
	return nil, fmt.Errorf("at %s: its references go too deep", place(path))
}

// beside is the other one of a choice between two of which one is null; nil if it is no such choice.
func beside(s rawjson.Object) json.RawMessage {
	of, _ := rawjson.ParseArray(s.Get("anyOf"))
	if len(of) != 2 {
		return nil
	}
	for i, one := range of {
		o, _ := rawjson.ParseObject(one)
		if typ, _ := o.Text("type"); typ == "null" {
			return of[1-i]
		}
	}
	return nil
}
