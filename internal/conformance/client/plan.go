package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host"
)

// plan says what to call: what the scenario's context asks for, or every tool with an input that its schema asks for.
func plan(tools []host.Tool, scenario, contextJSON string) ([]host.Call, error) {
	var wants struct {
		ToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if contextJSON != "" {
		if err := json.Unmarshal([]byte(contextJSON), &wants); err != nil {
			return nil, fmt.Errorf("MCP_CONFORMANCE_CONTEXT: %w", err)
		}
	}
	var calls []host.Call
	for _, c := range wants.ToolCalls {
		calls = append(calls, host.Call{Tool: c.Name, Input: c.Arguments})
	}
	if calls != nil {
		return calls, nil
	}
	for _, t := range tools {
		input := sample(t.InputSchema)
		if scenario == "json-schema-2020-12-preservation" {
			input = echo(tools, input)
		}
		text, err := json.Marshal(input)
		if err != nil {
			return nil, err
		}
		calls = append(calls, host.Call{Tool: t.Name, Input: text})
	}
	return calls, nil
}

// echo gives the tool that wants a schema the one that the scenario is about, as it arrived here.
func echo(tools []host.Tool, input map[string]any) map[string]any {
	for _, t := range tools {
		if _, ok := input["schema"]; ok && t.ID == "json_schema_2020_12_tool" {
			input["schema"] = t.InputSchema
		}
	}
	return input
}

// elicit accepts forms with their default values, and declines what only a model or a file system can answer.
func elicit(_ context.Context, q host.Question) (host.Answer, error) {
	if q.Kind != "" && q.Kind != host.QuestionForm {
		return host.Answer{Action: "decline"}, nil
	}
	content, err := json.Marshal(defaults(q.Schema))
	return host.Answer{Action: "accept", Content: content}, err
}

// property is what is looked at of a property's schema.
type property struct {
	Type    any             `json:"type"`
	Default json.RawMessage `json:"default"`
	Enum    []any           `json:"enum"`
}

// value is one that the property takes, as far as its type says.
func (p property) value() any {
	switch {
	case p.Default != nil:
		return p.Default
	case len(p.Enum) > 0:
		return p.Enum[0]
	}
	switch p.Type {
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{}
	case "object":
		return map[string]any{}
	case "null":
		return nil
	}
	return "test"
}

// sample is an input with what the schema requires.
func sample(schema json.RawMessage) map[string]any {
	properties, required := read(schema)
	input := map[string]any{}
	for _, name := range required {
		input[name] = properties[name].value()
	}
	return input
}

// defaults is an answer to a form: every property with its default, or what its type says.
func defaults(schema json.RawMessage) map[string]any {
	properties, _ := read(schema)
	answer := map[string]any{}
	for name, p := range properties {
		answer[name] = p.value()
	}
	return answer
}

// read returns the properties of a schema and which of them are required. What cannot be read is left out.
func read(schema json.RawMessage) (properties map[string]property, required []string) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	_ = json.Unmarshal(schema, &s) // a schema that is none of these has no properties
	properties = map[string]property{}
	for name, text := range s.Properties {
		var p property
		_ = json.Unmarshal(text, &p) // a schema that is true or false says nothing of its value
		properties[name] = p
	}
	return properties, s.Required
}
