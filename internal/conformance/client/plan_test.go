package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
)

func TestPlan(t *testing.T) {
	tools := []host.Tool{
		{Name: "add_numbers", ID: "add_numbers", InputSchema: json.RawMessage(`{"properties":{"a":{"type":"number"},"b":{"type":"number","default":5},"c":true},"required":["a","b"]}`)},
		{Name: "json_schema_2020_12_tool", ID: "json_schema_2020_12_tool", InputSchema: json.RawMessage(`{"$anchor":"x","properties":{"s":{"enum":["q"]}},"required":["s"]}`)},
		{Name: "echo", ID: "echo", InputSchema: json.RawMessage(`{"properties":{"schema":{"type":"object"}},"required":["schema"]}`)},
	}
	for name, tt := range map[string]struct {
		scenario, context string
		want              map[string]string
	}{
		"every tool": {"tools_call", "", map[string]string{"add_numbers": `{"a":1,"b":5}`, "json_schema_2020_12_tool": `{"s":"q"}`, "echo": `{"schema":{}}`}},
		"the context says": {"http-custom-headers", `{"name":"http-custom-headers","toolCalls":[{"name":"x","arguments":{"n":null}}]}`,
			map[string]string{"x": `{"n":null}`}},
		"a schema goes back as it came": {"json-schema-2020-12-preservation", "",
			map[string]string{"add_numbers": `{"a":1,"b":5}`, "json_schema_2020_12_tool": `{"s":"q"}`, "echo": `{"schema":{"$anchor":"x","properties":{"s":{"enum":["q"]}},"required":["s"]}}`}},
	} {
		t.Run(name, func(t *testing.T) {
			calls, err := plan(tools, tt.scenario, tt.context)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for _, c := range calls {
				got[c.Tool] = string(c.Input)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := plan(nil, "", "{"); err == nil {
		t.Error("a context that is no JSON was taken")
	}
}

func TestElicitAcceptsWithDefaults(t *testing.T) {
	a, err := elicit(t.Context(), host.Question{Schema: json.RawMessage(`{"properties":{"name":{"type":"string","default":"John Doe"},"ok":{"type":"boolean"}}}`)})
	if err != nil || a.Action != "accept" || string(a.Content) != `{"name":"John Doe","ok":true}` {
		t.Errorf("got %+v, %v", a, err)
	}
	if a, err := elicit(t.Context(), host.Question{Kind: host.QuestionSampling}); err != nil || a.Action != "decline" {
		t.Errorf("sampling: got %+v, %v", a, err)
	}
}
