package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// form is a JSON Schema as MCP lets a client be asked for: a flat object of strings, numbers, booleans and choices.
type form struct {
	schema  json.RawMessage // requestedSchema
	wrapped bool            // what is asked for is no object: the form has it as its one field, value
	check   *schema.Schema  // what was asked for; nil: anything
}

// yesOnly asks for nothing but a yes.
const yesOnly = `{"type":"object","properties":{}}`

// wrapKey is the field of a form that asks for one value.
const wrapKey = "value"

// The bounds of a form.
const (
	maxForm   = 64 << 10
	maxFields = 50
)

// newForm makes a form of a schema; an empty one asks for a yes. The error says which part no form can ask for, or,
// unless secrets are allowed, which field seems to ask for one (T32).
func newForm(text json.RawMessage, secrets bool) (*form, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return &form{schema: json.RawMessage(yesOnly)}, nil
	}
	if len(text) > maxForm {
		return nil, fmt.Errorf("a schema of %d bytes is too long for a form: the limit is %d", len(text), maxForm)
	}
	check, err := schema.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("its schema: %w", err)
	}
	b := formBuilder{root: text, secrets: secrets}
	root, err := b.resolve("", text)
	if err != nil {
		return nil, err
	}
	if isFormObject(root) {
		out, err := b.object(root)
		return &form{schema: out, check: check}, err
	}
	field, err := b.named("", wrapKey, text)
	if err != nil {
		return nil, err
	}
	out := fmt.Appendf(nil, `{"type":"object","properties":{%q:%s},"required":[%[1]q]}`, wrapKey, field)
	return &form{schema: out, wrapped: true, check: check}, nil
}

func isFormObject(s fields) bool {
	typ, _ := s.typ()
	_, props := s["properties"]
	return typ == "object" || typ == "" && props
}

// read takes a client's ElicitResult. The error says, for whoever answers, what is wrong with it.
func (f *form) read(result json.RawMessage) (host.Answer, error) {
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

// fields are the members of a schema.
type fields map[string]json.RawMessage

// typ is the schema's type; null beside another one does not count. many tells that there are several.
func (s fields) typ() (typ string, many bool) {
	if json.Unmarshal(s["type"], &typ) == nil {
		return typ, false
	}
	var types []string
	if json.Unmarshal(s["type"], &types) != nil {
		return "", s["type"] != nil
	}
	types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	if len(types) == 1 {
		return types[0], false
	}
	return "", true
}

func (s fields) text(key string) string {
	var t string
	_ = json.Unmarshal(s[key], &t)
	return t
}

type formBuilder struct {
	root    json.RawMessage
	secrets bool
}

// object is the form of an object schema.
func (b formBuilder) object(root fields) (json.RawMessage, error) {
	for _, k := range []string{"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies"} {
		if root[k] != nil {
			return nil, fmt.Errorf("%s at the root is nothing that a form can ask for", k)
		}
	}
	props, ok := rawjson.ParseObject(root["properties"])
	if !ok && root["properties"] != nil {
		return nil, errors.New("at /properties: it is no object")
	}
	if len(props) > maxFields {
		return nil, fmt.Errorf("%d fields are too many for a form: the limit is %d", len(props), maxFields)
	}
	var out bytes.Buffer
	out.WriteString(`{"type":"object","properties":{`)
	for i, p := range props {
		field, err := b.named("/properties/"+p.Name, p.Name, p.Value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(rawjson.Quote(p.Name))
		out.WriteByte(':')
		out.Write(field)
	}
	out.WriteByte('}')
	var required []string
	if root["required"] != nil && json.Unmarshal(root["required"], &required) == nil && len(required) > 0 {
		for _, r := range required {
			if !slices.ContainsFunc(props, func(m rawjson.Member) bool { return m.Name == r }) {
				return nil, fmt.Errorf("at /required: %s is required, and no property says what it is", r)
			}
		}
		list, _ := json.Marshal(required) // strings marshal
		out.WriteString(`,"required":`)
		out.Write(list)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// named is one field of the form.
func (b formBuilder) named(path, key string, text json.RawMessage) (json.RawMessage, error) {
	s, err := b.resolve(path, text)
	if err != nil {
		return nil, err
	}
	if !b.secrets {
		if word := secretWord(key, s); word != "" {
			return nil, fmt.Errorf("at %s: the field seems to ask for a secret (%s), and plugins may not", pathOr(path), word)
		}
	}
	out, err := field(s)
	if err != nil {
		return nil, fmt.Errorf("at %s: %w", pathOr(path), err)
	}
	return out, nil
}

func pathOr(path string) string {
	if path == "" {
		return "the root"
	}
	return path
}

// resolve reads a schema and follows what it refers to within itself; a choice between something and null is the
// something.
func (b formBuilder) resolve(path string, text json.RawMessage) (fields, error) {
	for range 8 {
		var s fields
		if json.Unmarshal(text, &s) != nil || s == nil {
			return nil, fmt.Errorf("at %s: the schema is no object", pathOr(path))
		}
		ref := s.text("$ref")
		if ref == "" {
			inner := s.nullable()
			if inner == nil {
				return s, nil
			}
			text = inner
			continue
		}
		var err error
		if text, err = b.pointer(ref); err != nil {
			return nil, fmt.Errorf("at %s: %w", pathOr(path), err)
		}
	}
	return nil, fmt.Errorf("at %s: its references go too deep", pathOr(path))
}

// nullable is the other one of a choice between two of which one is null; nil if it is no such choice.
func (s fields) nullable() json.RawMessage {
	var of []json.RawMessage
	if json.Unmarshal(s["anyOf"], &of) != nil || len(of) != 2 {
		return nil
	}
	for i, one := range of {
		var f fields
		if json.Unmarshal(one, &f) == nil && f.text("type") == "null" {
			return of[1-i]
		}
	}
	return nil
}

// pointer follows a reference within the schema.
func (b formBuilder) pointer(ref string) (json.RawMessage, error) {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, fmt.Errorf("a form cannot follow the reference %q", ref)
	}
	at := b.root
	for token := range strings.SplitSeq(rest, "/") {
		var all fields
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if json.Unmarshal(at, &all) != nil || all[token] == nil {
			return nil, fmt.Errorf("the reference %q leads nowhere", ref)
		}
		at = all[token]
	}
	return at, nil
}

// secretWord is what makes a field look like one that asks for a secret; "" if nothing does.
func secretWord(key string, s fields) string {
	if s.text("format") == "password" {
		return "format password"
	}
	for _, k := range []string{"writeOnly", "x-sensitive"} {
		if string(s[k]) == "true" {
			return k
		}
	}
	for _, text := range []string{key, s.text("title")} {
		words := " " + strings.Join(splitWords(text), " ") + " "
		for _, w := range secretWords {
			if strings.Contains(words, " "+w+" ") {
				return w
			}
		}
	}
	return ""
}

var secretWords = []string{
	"password", "passwords", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets", "token", "apikey", "api key", "access key",
	"private key", "secret key", "credential", "credentials", "card number", "credit card", "creditcard", "cardnumber", "cvv", "cvc",
	"pin", "otp", "ssn", "social security", "security code", "recovery phrase", "seed phrase", "iban",
}

// splitWords splits a name or a title into words in lower case: at what is no letter and no digit, and before a
// capital letter that follows a small one.
func splitWords(s string) []string {
	var b strings.Builder
	small := false
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			b.WriteByte(' ')
			small = false
			continue
		case unicode.IsUpper(r) && small:
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
