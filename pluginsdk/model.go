package pluginsdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// ModelOutput is what the model is shown in place of an output. Its JSON is the
// wire's form of it. [Text], [JSON] and [Content] make one; the zero value means
// the output itself, and a JSON string without a Type is a text (b38). Nothing is unwrapped: an object
// with a member "value" is shown as it is (b37).
type ModelOutput struct {
	Type  string          `json:"type"` // "text", "json" or "content"
	Value json.RawMessage `json:"value"`
}

// Text shows the model plain text.
func Text(s string) ModelOutput {
	value, _ := encode(s) // a string always has a JSON form
	return ModelOutput{Type: "text", Value: value}
}

// JSON shows the model the JSON form of v. It fails if v has none.
func JSON(v any) (ModelOutput, error) {
	value, err := encode(v)
	if err != nil {
		return ModelOutput{}, fmt.Errorf("model output: %w", err)
	}
	return ModelOutput{Type: "json", Value: value}, nil
}

// Content shows the model a list of parts. It fails if a part lacks what its type needs.
func Content(parts ...Part) (ModelOutput, error) {
	for i, p := range parts {
		if err := p.check(); err != nil {
			return ModelOutput{}, fmt.Errorf("model output: part %d: %w", i, err)
		}
	}
	if parts == nil {
		parts = []Part{}
	}
	value, err := encode(parts)
	if err != nil {
		return ModelOutput{}, fmt.Errorf("model output: %w", err)
	}
	return ModelOutput{Type: "content", Value: value}, nil
}

// PartType is a kind of content part.
type PartType string

const (
	// PartText needs Text.
	PartText PartType = "text"
	// PartImageURL needs URL.
	PartImageURL PartType = "image-url"
	// PartImageData needs Data and MediaType.
	PartImageData PartType = "image-data"
	// PartFileURL needs URL.
	PartFileURL PartType = "file-url"
	// PartFileData needs Data and MediaType; Filename is optional.
	PartFileData PartType = "file-data"
	// PartFileID needs FileID, the name of a file at a model provider.
	PartFileID PartType = "file-id"
	// PartImageFileID needs FileID.
	PartImageFileID PartType = "image-file-id"
	// PartCustom needs ProviderOptions.
	PartCustom PartType = "custom"
)

// Part is one part of a [Content] output. Type says which other fields count.
type Part struct {
	Type            PartType        `json:"type"`
	Text            string          `json:"text,omitempty"`
	URL             string          `json:"url,omitempty"`
	Data            []byte          `json:"data,omitempty"` // raw bytes; base64 on the wire
	MediaType       string          `json:"mediaType,omitempty"`
	Filename        string          `json:"filename,omitempty"`
	FileID          string          `json:"fileId,omitempty"`
	ProviderOptions json.RawMessage `json:"providerOptions,omitempty"` // a JSON object; may stand on any type
}

// MarshalJSON writes the fields that belong to the part's type.
func (p Part) MarshalJSON() ([]byte, error) {
	type plain Part
	if p.Type != PartText {
		return encode(plain(p))
	}
	return encode(struct { // an empty text is a text
		plain
		Text string `json:"text"`
	}{plain(p), p.Text})
}

func (p Part) check() error {
	missing := ""
	switch p.Type {
	case PartText:
	case PartImageURL, PartFileURL:
		missing = need(p.URL == "", "URL")
	case PartImageData, PartFileData:
		missing = need(len(p.Data) == 0, "Data") + need(p.MediaType == "", "MediaType")
	case PartFileID, PartImageFileID:
		missing = need(p.FileID == "", "FileID")
	case PartCustom:
		missing = need(len(p.ProviderOptions) == 0, "ProviderOptions")
	default:
		return fmt.Errorf("unknown type %q", p.Type)
	}
	if missing != "" {
		return fmt.Errorf("%s without%s", p.Type, missing)
	}
	if len(p.ProviderOptions) > 0 && !isObject(p.ProviderOptions) {
		return errors.New("ProviderOptions is no JSON object")
	}
	return nil
}

func need(absent bool, field string) string {
	if absent {
		return " " + field
	}
	return ""
}

// encode returns the wire form; nil for the zero value.
func (m ModelOutput) encode() ([]byte, error) {
	if m.Type == "" && len(m.Value) == 0 {
		return nil, nil
	}
	if m.Type == "" && begins(m.Value, '"') {
		m.Type = "text"
	}
	switch m.Type {
	case "text":
		if !begins(m.Value, '"') {
			return nil, errors.New("model output: a text whose value is no JSON string")
		}
	case "content":
		if err := checkParts(m.Value); err != nil {
			return nil, fmt.Errorf("model output: %w", err)
		}
	case "json":
	default:
		return nil, fmt.Errorf("model output: unknown type %q", m.Type)
	}
	if len(m.Value) == 0 {
		return nil, errors.New("model output: no value")
	}
	raw, err := encode(m) // also checks that Value is JSON
	if err != nil {
		return nil, fmt.Errorf("model output: %w", err)
	}
	return raw, nil
}

func begins(value []byte, c byte) bool {
	value = bytes.TrimLeft(value, " \t\r\n")
	return len(value) > 0 && value[0] == c
}

// checkParts checks a content that may have been written by hand.
func checkParts(value json.RawMessage) error {
	var parts []json.RawMessage
	if !begins(value, '[') || json.Unmarshal(value, &parts) != nil {
		return errors.New("a content whose value is no JSON array")
	}
	for i, raw := range parts {
		var p Part
		if err := json.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		if err := p.check(); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
	}
	return nil
}
