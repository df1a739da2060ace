package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/plugintest"
)

// TestToolsAreAsTheSuiteWantsThem calls, in a host, the tools that need nobody at the other end. The suite itself is make conformance.
func TestToolsAreAsTheSuiteWantsThem(t *testing.T) {
	h := plugintest.Open(t, all(nil)...)
	for tool, want := range map[string]string{
		"test_simple_text":            `"This is a simple text response for testing."`,
		"test_image_content":          `"type":"image-data"`,
		"test_audio_content":          `"mediaType":"audio/wav"`,
		"test_embedded_resource":      `"mcp":{"type":"resource"`,
		"test_multiple_content_types": `"mcp":{"type":"resource"`,
		"test_error_handling":         "this tool intentionally returns an error for testing",
		"test_tool_with_progress":     "three times",
		"test_elicitation":            "action=decline",
		"test_sampling":               errDeclined.Error(),
		"test_x_mcp_header":           `\"region\":\"eu\"`,

		"test_input_required_result_capabilities":    "0 questions were answered",
		"test_input_required_result_multiple_inputs": errDeclined.Error(),
	} {
		input := map[string]string{"test_elicitation": `{"message":"Who?"}`, "test_sampling": `{"prompt":"Say"}`, "test_x_mcp_header": `{"region":"eu"}`}[tool]
		got := ""
		if res, err := h.Call(t.Context(), host.Call{Tool: tool, Input: json.RawMessage(input)}); err != nil {
			got = err.Error()
		} else {
			got = string(res.Model.Value)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", tool, got, want)
		}
	}
	_, err := h.Call(t.Context(), host.Call{Tool: "json_schema_2020_12_tool", Input: json.RawMessage(`{"contactMethod":"phone","email":"a"}`)})
	if code, _ := host.CodeOf(err); code != host.InvalidInput {
		t.Errorf("a call without what the schema's if and then require: got %v", err)
	}
}
