package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestB15_Mask(t *testing.T) {
	for _, c := range []struct{ name, schema, input, want string }{
		{"x-sensitive", `{"properties":{"k":{"x-sensitive":true}}}`, `{ "k" : "s3cret" , "n":1.0 }`, `{ "k" : "***" , "n":1.0 }`},
		{"writeOnly, an object", `{"properties":{"k":{"writeOnly":true}}}`, `{"k":{"a":[1]},"b":2}`, `{"k":"***","b":2}`},
		{"false does not mark", `{"properties":{"k":{"x-sensitive":false,"writeOnly":false},"l":{"x-sensitive":true}}}`, `{"k":1}`, `{"k":1}`},
		{"root", `{"x-sensitive":true}`, ` [1] `, ` "***" `},
		{"items", `{"items":{"x-sensitive":true}}`, `[1, "a",[]]`, `["***", "***","***"]`},
		{"prefix items", `{"prefixItems":[{},{"x-sensitive":true}]}`, `[1,2,3]`, `[1,"***",3]`},
		{"map values", `{"additionalProperties":{"x-sensitive":true},"properties":{"a":{}}}`, `{"a":1,"b":2}`, `{"a":1,"b":"***"}`},
		{"pattern values", `{"patternProperties":{"^s":{"x-sensitive":true}}}`, `{"s1":1,"b":2}`, `{"s1":"***","b":2}`},
		{"$ref, beside and behind", `{"$defs":{"s":{"x-sensitive":true}},"properties":{"a":{"$ref":"#/$defs/s"},"b":{"$ref":"#/$defs/t","x-sensitive":true}},"$defs2":0,"$comment":""}`, `{"a":1}`, ``},
		{"any branch, also one that is not taken", `{"anyOf":[{"type":"null"},{"type":"object","properties":{"k":{"x-sensitive":true}},"required":["z"]}]}`, `{"k":1}`, `{"k":"***"}`},
		{"if and then", `{"if":{"required":["a"]},"then":{"properties":{"k":{"writeOnly":true}}}}`, `{"k":1}`, `{"k":"***"}`},
		{"recursive", `{"properties":{"k":{"x-sensitive":true},"n":{"$ref":"#"}}}`, `{"n":{"n":{"k":1}},"k":2}`, `{"n":{"n":{"k":"***"}},"k":"***"}`},
		{"a filled default", `{"properties":{"k":{"x-sensitive":true,"default":"d"}}}`, `{}`, `{"k":"***"}`},
		{"repeated names", `{"properties":{"k":{"x-sensitive":true}}}`, `{"k":"one","k":"two"}`, `{"k":"***"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.want == "" {
				c.schema = `{"$defs":{"s":{"x-sensitive":true},"t":{}},"properties":{"a":{"$ref":"#/$defs/s"},"b":{"$ref":"#/$defs/t","x-sensitive":true}}}`
				c.input, c.want = `{"a":1,"b":2}`, `{"a":"***","b":"***"}`
			}
			s, d := mustCompile(t, c.schema), mustParse(t, c.input)
			s.FillDefaults(d)
			before := string(d.Bytes())
			if got := string(s.Mask(d)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if !s.Sensitive() {
				t.Error("Sensitive says no")
			}
			if string(d.Bytes()) != before {
				t.Error("the document changed")
			}
		})
	}
}

func TestB15_PathsAndStrings(t *testing.T) {
	s := mustCompile(t, `{"properties":{"k":{"x-sensitive":true},"l":{"items":{"properties":{"a/b":{"writeOnly":true}}}}}}`)
	d := mustParse(t, `{"k":{"u":"alpha","p":["short","longer text"]},"l":[{},{"a/b":"longer text"}],"o":"open text"}`)
	if diff := cmp.Diff([]string{"/k", "/l/1/a~1b"}, s.SensitivePaths(d)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"longer text"}, s.SensitiveStrings(d, 6)); diff != "" {
		t.Error(diff)
	}
	if mustCompile(t, smallSchema).Sensitive() {
		t.Error("the small schema has nothing sensitive")
	}
}

// No message quotes a sensitive value, whichever keyword fails and whichever part of the schema notices.
func TestB15_MessagesHideSensitiveValues(t *testing.T) {
	const secret = "hunter2hunter2"
	for _, keyword := range []string{`"type":"integer"`, `"const":"x"`, `"enum":["x","y"]`, `"pattern":"^x$"`, `"maxLength":3`, `"minLength":99`, `"format":"date"`,
		`"not":{"type":"string"}`, `"anyOf":[{"maxLength":1},{"maxLength":2}]`, `"oneOf":[{"type":"string"},{"minLength":1}]`, `"pattern":"^(?!h)"`} {
		for _, schema := range []string{
			`{"properties":{"k":{"x-sensitive":true,` + keyword + `}}}`,
			`{"allOf":[{"properties":{"k":{"writeOnly":true}}},{"properties":{"k":{` + keyword + `}}}]}`,
		} {
			got := messages(t, mustCompile(t, schema), `{"k":"`+secret+`"}`)
			if len(got) == 0 {
				t.Errorf("%s: valid", schema)
			}
			if all := strings.Join(got, "\n"); strings.Contains(all, secret[:4]) || strings.Contains(all, "14") {
				t.Errorf("%s: %s", schema, all)
			}
		}
	}
	s := mustCompile(t, `{"properties":{"k":{"x-sensitive":true,"additionalProperties":{"type":"string"},"required":["user"],"propertyNames":{"maxLength":5}}}}`)
	want := []string{`/k/user: missing required property`, `/k/***: expected string, got number ***`, `/k/***: expected a property name that is string of at most 5 characters, got ***`}
	if diff := cmp.Diff(want, messages(t, s, `{"k":{"`+secret+`":12345}}`)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
