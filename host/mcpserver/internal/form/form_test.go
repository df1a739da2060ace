package form

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		f, err := New(json.RawMessage(c.schema), false)
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
		if diff := cmp.Diff(c.want, string(f.Schema)); diff != "" {
			t.Errorf("%.200s: %s", c.schema, diff)
		}
	}
}

// FuzzR43_Answers holds that no schema of a plugin's and no result of a client's ends anything, that a form is JSON, and that
// what is accepted satisfies the schema.
func FuzzR43_Answers(f *testing.F) {
	f.Add(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`, `{"action":"accept","content":{"name":"Ann"}}`)
	f.Add(`{"type":"number"}`, `{"action":"accept","content":{"value":1e400}}`)
	f.Add(``, `{"action":"accept","content":null}`)
	f.Add(`{"type":"array","items":{"enum":["a"]}}`, `{"action":"accept","content":{"value":["a"]}}`)
	f.Add(`{"properties":{"a":{"$ref":"#/properties/a"}}}`, `[]`)
	f.Add(`{"type":"object","properties":{"":{"anyOf":[{"type":"null"},{"const":"x"}]}}}`, `null`)
	f.Fuzz(func(t *testing.T, schema, result string) {
		form, err := New(json.RawMessage(schema), false)
		if err != nil {
			return
		}
		var out struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(form.Schema, &out); err != nil || out.Type != "object" || out.Properties == nil {
			t.Fatalf("the form %s: %v", form.Schema, err)
		}
		a, err := form.Read(json.RawMessage(result))
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
	})
}

// TestT32_SecretWords holds which fields seem to ask for a secret.
func TestT32_SecretWords(t *testing.T) {
	for key, secret := range map[string]bool{
		"password": true, "dbPassword": true, "API_KEY": true, "apiKey": true, "access-token": true, "cardNumber": true, "CVV": true, "user_pin": true,
		"name": false, "spinner": false, "opinion": false, "keyboard": false, "tokens_per_second": false, "passenger": false, "card": false,
	} {
		schema := fmt.Sprintf(`{"type":"object","properties":{%q:{"type":"string"}}}`, key)
		if _, err := New(json.RawMessage(schema), false); (err != nil) != secret {
			t.Errorf("%s: %v", key, err)
		}
		if _, err := New(json.RawMessage(schema), true); err != nil {
			t.Errorf("%s, allowed: %v", key, err)
		}
	}
	for _, field := range []string{`{"type":"string","format":"password"}`, `{"type":"string","writeOnly":true}`, `{"type":"string","title":"Your secret key"}`, `{"type":"string","x-sensitive":true}`} {
		if _, err := New(json.RawMessage(`{"type":"object","properties":{"a":`+field+`}}`), false); err == nil {
			t.Errorf("%s is not refused", field)
		}
	}
}
