package main

import (
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk"
)

// FuzzR43_WhatAServerSays holds that no tool and no result of a server makes anything but a tool, a result or an error.
func FuzzR43_WhatAServerSays(f *testing.F) {
	for _, seed := range []string{
		plain("t"), `null`, `{"name":"\ud800/","inputSchema":{},"annotations":{"title":"x","title":1,"a":[]}}`,
		`{"content":[{"type":"text","text":"x","_meta":{}},{"type":"image","data":"AA==","mimeType":"i/p"},7],"structuredContent":[1e999],"_meta":{"a":1},"b":2}`,
		`{"isError":true,"content":[{"text":"x"}]}`, `{"a":1,"a":{"b":}}`, `{"a":1}{}`, `{"":`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if d, err := parseTool(raw); err == nil {
			for what, text := range map[string]json.RawMessage{"input": d.input, "output": d.output, "meta": d.mcp.Meta, "icons": d.mcp.Icons, "extra": d.mcp.Extra} {
				if text != nil && !json.Valid(text) {
					t.Errorf("%s: %s is not JSON", what, text)
				}
			}
			if id := toolIDs([]string{d.name})[d.name]; !idPattern.MatchString(id) {
				t.Errorf("name %q has the id %q", d.name, id)
			}
		}
		out, err := parseResult(raw, false)
		if err != nil {
			if e, ok := err.(*pluginsdk.Error); ok && !json.Valid(e.Data) {
				t.Errorf("data %s is not JSON", e.Data)
			}
			return
		}
		if !json.Valid(out.output) {
			t.Errorf("output %s is not JSON", out.output)
		}
		m, err := out.model()
		if err != nil || out.parts != nil && !json.Valid(m.Value) {
			t.Errorf("the form for the model: %s, %v", m.Value, err)
		}
	})
}
