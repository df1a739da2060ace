package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pluginsdk"
)

// outcome is what a tool returns: its output, and what the model is shown of it. It marshals to the output, so a form for
// the model can be made as long as nobody rewrote it.
type outcome struct {
	output json.RawMessage
	parts  []pluginsdk.Part // of the content; nil: the model is shown the output
}

// MarshalJSON returns the output.
func (o *outcome) MarshalJSON() ([]byte, error) { return o.output, nil }

// model is what the model is shown.
func (o *outcome) model() (pluginsdk.ModelOutput, error) {
	if o.parts == nil {
		return pluginsdk.ModelOutput{}, nil
	}
	return pluginsdk.Content(o.parts...)
}

// errNoStructured is the failure of a tool that promises structured content and has none (R19).
var errNoStructured = errors.New("the server's tool has an output schema, but its result has no structuredContent")

// parseResult reads a result as the server wrote it: structuredContent is the output, else the whole result is (MC-10). A result with
// isError is a *pluginsdk.Error (MC-9). So is one without structuredContent of a tool that must have it (R19). What else the result has,
// and that the output is a structuredContent although no schema says so, stands in one last part, for who exports it again (R20).
func parseResult(raw json.RawMessage, structured bool) (*outcome, error) {
	o, ok := rawjson.ParseObject(raw)
	if !ok {
		return nil, errors.New("the server's result is no JSON object")
	}
	if kind, ok := o.Text("resultType"); ok && kind != "complete" {
		return nil, fmt.Errorf("the server answered with a result of type %q, which is none of a call", kind)
	}
	blocks, err := contentOf(o)
	if err != nil {
		return nil, err
	}
	output := o.Get("structuredContent")
	if rawjson.Kind(output) == 'n' && !structured {
		output = nil // how some write that there is none
	}
	switch string(o.Get("isError")) {
	case "true":
		return nil, resultError(o, blocks)
	case "", "false", "null":
	default:
		return nil, fmt.Errorf("the server's result has an isError that is no boolean")
	}
	out := &outcome{output: output}
	switch {
	case output == nil && structured:
		return nil, &pluginsdk.Error{Err: errNoStructured, Data: errorData(o)}
	case output == nil:
		out.output = raw
	}
	for _, block := range blocks {
		out.parts = append(out.parts, partOf(block))
	}
	var rest rawjson.Object
	if more := resultMembers(o); len(more) > 0 {
		rest = append(rest, rawjson.Member{"result", more.Raw()})
	}
	if output != nil && !structured { // no schema tells that the output is that
		if out.parts == nil {
			out.parts = []pluginsdk.Part{{Type: pluginsdk.PartText, Text: string(output)}}
		}
		rest = append(rest, rawjson.Member{"structured", json.RawMessage("true")})
	}
	if len(rest) > 0 {
		out.parts = append(out.parts, customPart(rest.Raw()))
	}
	return out, nil
}

// contentOf returns the content blocks.
func contentOf(o rawjson.Object) ([]json.RawMessage, error) {
	content := o.Get("content")
	if content == nil || rawjson.Kind(content) == 'n' {
		if o.Get("structuredContent") == nil {
			return nil, errors.New("the server's result has neither content nor structuredContent")
		}
		return nil, nil
	}
	var blocks []json.RawMessage
	if rawjson.Kind(content) != '[' || json.Unmarshal(content, &blocks) != nil {
		return nil, errors.New("the server's result has a content that is no array")
	}
	return blocks, nil
}

// resultError is the error of a result with isError: its texts, and the blocks as they are.
func resultError(o rawjson.Object, blocks []json.RawMessage) error {
	var texts []string
	for _, raw := range blocks {
		block, _ := rawjson.ParseObject(raw)
		if text, ok := block.Text("text"); ok && text != "" {
			texts = append(texts, text)
		}
	}
	message := strings.Join(texts, "\n")
	if message == "" {
		message = "the server says that the tool failed, and no more"
	}
	return &pluginsdk.Error{Message: message, Data: errorData(o)}
}

// errorData is the data of an error: the result's content.
func errorData(o rawjson.Object) json.RawMessage {
	content := o.Get("content")
	if rawjson.Kind(content) != '[' {
		content = json.RawMessage("[]")
	}
	return rawjson.Object{{"content", content}}.Raw()
}

// resultMembers are those of a result that are neither read here nor of the transport.
func resultMembers(o rawjson.Object) rawjson.Object {
	rest := o.Without("content", "structuredContent", "isError", "resultType")
	meta := rest.Get("_meta")
	if meta == nil {
		return rest
	}
	members, ok := rawjson.ParseObject(meta)
	rest = rest.Without("_meta")
	if !ok {
		return rest
	}
	kept := slices.DeleteFunc(members.Clone(), func(m rawjson.Member) bool { return strings.HasPrefix(m.Name, metaPrefix) })
	if len(kept) > 0 || len(members) == 0 {
		rest = append(rest, rawjson.Member{"_meta", kept.Raw()})
	}
	return rest
}

// partOf makes a content block a part for the model: text, images and audio of its kind, with their further members beside them;
// everything else, and what is not as its kind should be, byte for byte as a custom part.
func partOf(raw json.RawMessage) pluginsdk.Part {
	block, ok := rawjson.ParseObject(raw)
	if !ok { // a block of no kind: shown as it is
		return pluginsdk.Part{Type: pluginsdk.PartText, Text: string(raw)}
	}
	kind, _ := block.Text("type")
	switch kind {
	case "text":
		if text, ok := block.Text("text"); ok {
			return pluginsdk.Part{Type: pluginsdk.PartText, Text: text, ProviderOptions: beside(block.Without("type", "text"))}
		}
	case "image", "audio":
		data, ok := base64Of(block)
		mediaType, named := block.Text("mimeType")
		if !ok || !named || mediaType == "" {
			break
		}
		part := pluginsdk.Part{Type: pluginsdk.PartImageData, Data: data, MediaType: mediaType}
		if kind == "audio" {
			part.Type = pluginsdk.PartFileData
		}
		part.ProviderOptions = beside(block.Without("type", "data", "mimeType"))
		return part
	}
	return customPart(raw)
}

// base64Of decodes a block's data, if encoding it again gives the same text.
func base64Of(block rawjson.Object) ([]byte, bool) {
	text, ok := block.Text("data")
	if !ok || text == "" {
		return nil, false
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	return data, err == nil && base64.StdEncoding.EncodedLen(len(data)) == len(text)
}

// beside are members that a part has no place for.
func beside(more rawjson.Object) json.RawMessage {
	if len(more) == 0 {
		return nil
	}
	return rawjson.Object{{"mcp", more.Raw()}}.Raw()
}

func customPart(block json.RawMessage) pluginsdk.Part {
	return pluginsdk.Part{Type: pluginsdk.PartCustom, ProviderOptions: rawjson.Object{{"mcp", block}}.Raw()}
}
