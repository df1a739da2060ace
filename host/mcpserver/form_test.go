package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

// TestForm holds what of a schema a client is asked for; "!" begins the error.
func TestForm(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{``, `{"type":"object","properties":{}}`},
		{`{"type":"object"}`, `{"type":"object","properties":{}}`},
		{ // the order stays, and numbers as they are
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,"required":["b"],"properties":{
			"b":{"type":"integer","minimum":-9007199254740993,"default":3,"exclusiveMaximum":9,"title":"B"},"a":{"type":"string","minLength":1,"format":"email","pattern":"^x","description":"An a"},
			"c":{"type":["boolean","null"],"default":true},"d":{"anyOf":[{"type":"number"},{"type":"null"}]}}}`,
			`{"type":"object","properties":{"b":{"type":"integer","title":"B","minimum":-9007199254740993,"default":3,"description":"(exclusiveMaximum 9)"},` +
				`"a":{"type":"string","minLength":1,"format":"email","description":"An a (pattern \"^x\")"},"c":{"type":"boolean","default":true},"d":{"type":"number"}},"required":["b"]}`,
		},
		{ // SEP-1330
			`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":"string","oneOf":[{"const":"v","title":"V"},{"const":"w"}]},
			"c":{"type":"string","enum":["x"],"enumNames":["The X"]},"d":{"type":"array","items":{"type":"string","enum":["x"]},"minItems":1,"uniqueItems":true},
			"e":{"type":"array","items":{"anyOf":[{"const":"v","title":"V"}]}},"f":{"enum":["p"]},"g":{"const":"q"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":"string","oneOf":[{"const":"v","title":"V"},{"const":"w","title":"w"}]},` +
				`"c":{"type":"string","enum":["x"],"enumNames":["The X"]},"d":{"type":"array","items":{"type":"string","enum":["x"]},"minItems":1},` +
				`"e":{"type":"array","items":{"anyOf":[{"const":"v","title":"V"}]}},"f":{"type":"string","enum":["p"]},"g":{"type":"string","enum":["q"]}}}`,
		},
		{`{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}},"A":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{`{"type":"number"}`, `{"type":"object","properties":{"value":{"type":"number"}},"required":["value"]}`},
		{`{"type":"string","description":"hid\u202eden"}`, `{"type":"object","properties":{"value":{"type":"string","description":"hid\\u202Eden"}},"required":["value"]}`},
		{`{"type":"object","properties":{"a":{"type":"object"}}}`, `!at /properties/a: a form cannot ask for an object within it`},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `!at /properties/a: a form cannot ask for a list`},
		{`{"type":"object","properties":{"a":{"type":["string","number"]}}}`, `!at /properties/a: a form cannot ask for one of several types`},
		{`{"type":"object","properties":{"a":{"type":"integer","enum":[1,2]}}}`, `!at /properties/a: a form cannot ask for a choice of numbers`},
		{`{"type":"object","properties":{"a":{}}}`, `!at /properties/a: a form cannot ask for something without a type`},
		{`{"type":"object","properties":{"a":true}}`, `!at /properties/a: the schema is no object`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/A"}}}`, `!`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"required":["a"]},{}]}`, `!oneOf at the root`},
		{`{"type":"object","properties":{},"required":["a"]}`, `!at /required: a is required`},
		{`{"anyOf":[{"type":"object","properties":{}},{"type":"string"}]}`, `!at the root: a form cannot ask for something without a type`},
		{`true`, `!at the root: the schema is no object`},
		{`{"type":7}`, `!its schema: `},
		{`{`, `!its schema: `},
		{`{"type":"object","properties":{` + strings.Repeat(`"a":{"type":"string"},`, 5000) + `"a":{"type":"string"}}}`, `!a schema of `},
	} {
		f, err := newForm(json.RawMessage(c.schema), false)
		if want, bad := strings.CutPrefix(c.want, "!"); bad {
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%.200s: error %v, want %q", c.schema, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%.200s: %v", c.schema, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(f.schema)); diff != "" {
			t.Errorf("%.200s: %s", c.schema, diff)
		}
	}
}

// FuzzR43_Answers holds that no schema of a plugin's and no result of a client's ends anything, that a form is JSON, and that
// what is accepted satisfies the schema.
func FuzzR43_Answers(f *testing.F) {
	f.Add(nameSchema, `{"action":"accept","content":{"name":"Ann"}}`)
	f.Add(`{"type":"number"}`, `{"action":"accept","content":{"value":1e400}}`)
	f.Add(``, `{"action":"accept","content":null}`)
	f.Add(`{"type":"array","items":{"enum":["a"]}}`, `{"action":"accept","content":{"value":["a"]}}`)
	f.Add(`{"properties":{"a":{"$ref":"#/properties/a"}}}`, `[]`)
	f.Add(`{"type":"object","properties":{"":{"anyOf":[{"type":"null"},{"const":"x"}]}}}`, `null`)
	f.Fuzz(func(t *testing.T, schema, result string) {
		form, err := newForm(json.RawMessage(schema), false)
		if err != nil {
			return
		}
		var out struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(form.schema, &out); err != nil || out.Type != "object" || out.Properties == nil {
			t.Fatalf("the form %s: %v", form.schema, err)
		}
		a, err := form.read(json.RawMessage(result))
		if err != nil {
			return
		}
		switch a.Action {
		case "accept":
			if !json.Valid(a.Content) {
				t.Errorf("accepted %q", a.Content)
			}
		case "decline", "cancel":
		default:
			t.Errorf("the action %q", a.Action)
		}
		q := &question{inquiry: elicit(form, questionKey(json.RawMessage(schema)), "m"), remark: result}
		if raw := inputRequests([]*question{q}); !json.Valid(raw) {
			t.Errorf("asked by %q", raw)
		}
	})
}

// FuzzR43_State holds that no requestState opens but one that was made here, and that no request ends anything.
func FuzzR43_State(f *testing.F) {
	s, err := newSealer(nil)
	if err != nil {
		f.Fatal(err)
	}
	to := request{name: "x", caller: host.Caller{Channel: channelHTTP, Subject: "ann"}}
	good, err := s.seal(ticket{Flight: "f", Expires: time.Now().Add(time.Hour).Unix()}, bound(to))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:len(good)-1], []byte(`{"a":1}`), []byte(`{"progressToken":"x"}`))
	f.Add("", []byte(`{`), []byte(`[]`))
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAA", []byte(`{"a":[[[[]]]]}`), []byte(`{"traceparent":7}`))
	f.Fuzz(func(t *testing.T, state string, arguments, raw []byte) {
		if got, err := s.open(state, bound(to), time.Now()); err == nil && state != good {
			t.Fatalf("%q opened as %+v", state, got)
		}
		r := to
		r.arguments = arguments
		if one, two := bound(r), bound(r); string(one) != string(two) {
			t.Fatal("one request is bound in two ways")
		}
		m := readMeta(raw)
		if tok := m.token(); tok != nil && !json.Valid(tok) {
			t.Errorf("the token %q", tok)
		}
		if c := m.context([]string{"a", "b"}); c != nil && !json.Valid(c) {
			t.Errorf("the context %q", c)
		}
		m.trace()
	})
}
