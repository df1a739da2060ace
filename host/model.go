package host

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolhost/toolhost/host/internal/scan"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// ModelOutput is what a model is shown of a result. It marshals to {"type":...,"value":...}.
type ModelOutput struct {
	Type  string          `json:"type"`  // "json", "text" or "content"; of Error.Model "error-text"
	Value json.RawMessage `json:"value"` // a JSON string for text and error-text, an array of parts for content
}

// Text is the output as one text, for the APIs of models that take nothing else: that of a text, of content the texts of its parts, each
// on a line of its own, with the JSON of those that are none, and of anything else its JSON.
func (m ModelOutput) Text() string {
	var s string
	if len(m.Value) > 0 && m.Value[0] == '"' && json.Unmarshal(m.Value, &s) == nil {
		return s
	}
	var parts []json.RawMessage
	if m.Type != "content" || json.Unmarshal(m.Value, &parts) != nil {
		return string(m.Value)
	}
	lines := make([]string, 0, len(parts))
	for _, raw := range parts {
		var part struct{ Type, Text string }
		if json.Unmarshal(raw, &part) == nil && part.Type == "text" {
			lines = append(lines, part.Text)
		} else {
			lines = append(lines, string(raw))
		}
	}
	return strings.Join(lines, "\n")
}

// visible returns the form without characters that nobody sees, and how many there were (T17). Nothing else changes:
// the raw output keeps them.
func (m ModelOutput) visible() (ModelOutput, int) {
	text, n := scan.StripJSON(m.Value)
	return ModelOutput{Type: m.Type, Value: text}, n
}

// modelOutput is the form that the tool made, else the raw output: a string as text, anything else as data.
func modelOutput(raw json.RawMessage, d *pb.Derived) ModelOutput {
	if made := d.GetModel(); len(made) > 0 {
		var m ModelOutput
		if json.Unmarshal(made, &m) == nil && m.Type != "" {
			return m
		}
	}
	switch {
	case len(raw) == 0:
		return ModelOutput{Type: "text", Value: json.RawMessage(`""`)}
	case raw[0] == '"':
		return ModelOutput{Type: "text", Value: raw}
	}
	return ModelOutput{Type: "json", Value: raw}
}

// Model is what a model is shown of an error: one fixed envelope with the status and the code, which it
// cannot take for a result (b7).
func (e *Error) Model() ModelOutput {
	status := "error"
	switch e.Code {
	case Denied:
		status = "denied"
	case Suspended:
		status = "waiting"
	}
	envelope := struct {
		Status     string          `json:"status"`
		Code       Code            `json:"code"`
		Message    string          `json:"message"`
		Violations []Violation     `json:"violations,omitempty"`
		Data       json.RawMessage `json:"data,omitempty"`
	}{Status: status, Code: e.Code, Message: e.Error()}
	if s, ok := errors.AsType[*SchemaError](e.Err); ok {
		envelope.Violations = s.Violations
	}
	if t, ok := errors.AsType[*ToolError](e.Err); ok {
		envelope.Data = t.Data
	}
	text, err := json.Marshal(envelope)
	if err == nil {
		text, _ = scan.StripJSON(text)
		text, err = json.Marshal(string(text))
	}
	if err != nil {
		return ModelOutput{Type: "error-text", Value: json.RawMessage(`"{\"status\":\"error\"}"`)}
	}
	return ModelOutput{Type: "error-text", Value: text}
}
