package main

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/pluginsdk"
)

// schemas are the tools whose input schemas must reach the client as they are.
func schemas() []pluginsdk.Definition {
	return []pluginsdk.Definition{
		accepts("json_schema_2020_12_tool", "Has keywords of JSON Schema 2020-12 in its input schema.", `{
			"$schema": "https://json-schema.org/draft/2020-12/schema",
			"type": "object",
			"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
			"properties": {
				"name": {"type": "string"},
				"address": {"$ref": "#/$defs/address"},
				"contactMethod": {"type": "string", "enum": ["phone", "email"]},
				"phone": {"type": "string"},
				"email": {"type": "string"}
			},
			"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
			"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
			"then": {"required": ["phone"]},
			"else": {"required": ["email"]},
			"additionalProperties": false
		}`),
		accepts("test_x_mcp_header", "Has a parameter that clients repeat in a header.", `{
			"type": "object",
			"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}
		}`),
	}
}

// accepts is a tool that says that it got an input of this schema.
func accepts(id, description, schema string) pluginsdk.Definition {
	return pluginsdk.Tool[json.RawMessage, any]{
		ID:          id,
		Description: description,
		InputSchema: json.RawMessage(schema),
		Execute: func(_ context.Context, _ *pluginsdk.Call, in json.RawMessage) (any, error) {
			return "The input was accepted: " + string(in), nil
		},
	}
}
