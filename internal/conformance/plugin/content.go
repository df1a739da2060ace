package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"

	"github.com/toolhost/toolhost/pluginsdk"
)

// contents are the tools whose results have content of one kind or several, and the one that fails.
func contents() []pluginsdk.Definition {
	text := pluginsdk.Part{Type: pluginsdk.PartText, Text: "A picture and a document:"}
	picture := pluginsdk.Part{Type: pluginsdk.PartImageData, Data: pixel(), MediaType: "image/png"}
	sound := pluginsdk.Part{Type: pluginsdk.PartFileData, Data: wav(), MediaType: "audio/wav"}
	return []pluginsdk.Definition{
		simple("test_simple_text", "Returns a text.", func(context.Context, *pluginsdk.Call) (string, error) {
			return "This is a simple text response for testing.", nil
		}),
		content("test_image_content", "Returns a picture.", picture),
		content("test_audio_content", "Returns a sound.", sound),
		content("test_embedded_resource", "Returns an embedded resource.",
			block(`{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain","text":"This is an embedded resource content."}}`)),
		content("test_multiple_content_types", "Returns a text, a picture and an embedded resource.", text, picture,
			block(`{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json","text":"{\"test\":\"data\",\"value\":123}"}}`)),
		simple("test_error_handling", "Always fails.", func(context.Context, *pluginsdk.Call) (string, error) {
			return "", errors.New("this tool intentionally returns an error for testing")
		}),
	}
}

// content is a tool without parameters whose model output has these parts.
func content(id, description string, parts ...pluginsdk.Part) pluginsdk.Definition {
	return pluginsdk.Tool[none, any]{
		ID:          id,
		Description: description,
		Execute:     func(context.Context, *pluginsdk.Call, none) (any, error) { return nil, nil },
		ToModelOutput: func(context.Context, none, any) (pluginsdk.ModelOutput, error) {
			return pluginsdk.Content(parts...)
		},
	}
}

// block is a part that is one content block of MCP as it is.
func block(mcp string) pluginsdk.Part {
	return pluginsdk.Part{Type: pluginsdk.PartCustom, ProviderOptions: json.RawMessage(`{"mcp":` + mcp + `}`)}
}

// pixel is a PNG picture of one black pixel.
func pixel() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))) // a Buffer takes everything
	return b.Bytes()
}

// wav is a sound of one silent sample.
func wav() []byte {
	return []byte("RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00data\x02\x00\x00\x00\x00\x00")
}
