package host

import (
	"encoding/json"

	"github.com/toolhost/toolhost/host/internal/scan"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// ModelOutput is what a model is shown of a result. It marshals to {"type":...,"value":...}.
type ModelOutput struct {
	Type  string          `json:"type"`  // "json", "text" or "content"
	Value json.RawMessage `json:"value"` // a JSON string for text, an array of parts for content
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
