package project

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/jsonpointer"
	"github.com/toolhost/toolhost/internal/rawjson"
)

const dialect2020 = "https://json-schema.org/draft/2020-12/schema"

// drafts, from the oldest.
const (
	draft4 = iota
	draft6
	draft7
	draft2019
	draft2020
)

var draftNames = []string{"draft-04", "draft-06", "draft-07", "2019-09", "2020-12"}

// draftOf says in which draft a schema is written, as the host reads it: $schema, else array-form items, definitions or
// dependencies, which show draft-07.
func draftOf(schema json.RawMessage) (draft int, declared bool) {
	o, _ := rawjson.ParseObject(schema)
	name, ok := o.Text("$schema")
	if !ok {
		if showsDraft7(schema) {
			return draft7, false
		}
		return draft2020, false
	}
	name = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSuffix(name, "#"), "https://"), "http://")
	for draft, part := range []string{"draft-04/schema", "draft-06/schema", "draft-07/schema", "draft/2019-09/schema"} {
		if name == "json-schema.org/"+part {
			return draft, true
		}
	}
	return draft2020, true
}

// modernize makes a schema of an older draft one of 2020-12, if it uses only keywords that mean the same in both; all that
// changes is $schema (R6). Else the schema stays as it is, and why says where the first other keyword is.
func modernize(schema json.RawMessage) (out json.RawMessage, why string) {
	draft, declared := draftOf(schema)
	if draft == draft2020 {
		return schema, ""
	}
	if place := differs(schema, draft); place != "" {
		why = fmt.Sprintf("the schema is written for %s and means something else in 2020-12 at %s: clients may refuse calls or read it otherwise", draftNames[draft], place)
		if !declared {
			why = fmt.Sprintf("the schema has the form of %s at %s but no $schema: clients read it as 2020-12", draftNames[draft], place)
		}
		return schema, why
	}
	if !declared {
		return schema, ""
	}
	o, _ := rawjson.ParseObject(schema)
	o.Set("$schema", rawjson.Quote(dialect2020))
	return o.Raw(), ""
}

// differs returns the JSON Pointer of the first keyword that this draft and 2020-12 read in different ways; "" if there is
// none.
func differs(schema json.RawMessage, draft int) string {
	found := ""
	rewrite(schema, "", func(o *rawjson.Object, path string) bool {
		for _, m := range *o {
			if found == "" && keywordDiffers(*o, m, draft) {
				found = path + "/" + jsonpointer.Escape(m.Name)
			}
		}
		return false
	})
	return found
}

func keywordDiffers(o rawjson.Object, m rawjson.Member, draft int) bool {
	switch m.Name {
	case "items":
		return rawjson.Kind(m.Value) == '['
	case "additionalItems", "dependencies", "$recursiveRef", "$recursiveAnchor":
		return true
	case "prefixItems":
		return true
	case "dependentRequired", "dependentSchemas", "unevaluatedProperties", "$anchor", "minContains", "maxContains":
		return draft < draft2019
	case "$dynamicRef", "$dynamicAnchor":
		return true
	case "unevaluatedItems":
		return draft < draft2019 || o.Has("contains")
	case "if", "then", "else":
		return draft < draft7
	case "const", "contains", "propertyNames":
		return draft < draft6
	case "exclusiveMinimum", "exclusiveMaximum":
		return rawjson.Kind(m.Value) == 't' || rawjson.Kind(m.Value) == 'f'
	case "id":
		return draft == draft4
	case "$id":
		id, _ := o.Text("$id")
		return strings.Contains(id, "#")
	case "$ref":
		return draft < draft2019 && refHasRules(o)
	}
	return false
}

// refHasRules reports whether keywords that say something about values stand beside a $ref: drafts before 2019-09
// ignore them.
func refHasRules(o rawjson.Object) bool {
	for _, m := range o {
		switch m.Name {
		case "$ref", "$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "definitions", "$defs":
		default:
			if !strings.HasPrefix(m.Name, "x-") {
				return true
			}
		}
	}
	return false
}

// showsDraft7 reports whether a schema without $schema has a form that 2020-12 does not know.
func showsDraft7(schema json.RawMessage) bool {
	found := false
	rewrite(schema, "", func(o *rawjson.Object, _ string) bool {
		found = found || o.Has("definitions") || o.Has("dependencies") || rawjson.Kind(o.Get("items")) == '['
		return false
	})
	return found
}
