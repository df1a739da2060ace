package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pluginsdk"
)

// definition is one tool of the server, decoded on its own: what is odd about it costs this tool at most (R5).
type definition struct {
	name        string
	title       string
	description string
	input       json.RawMessage
	output      json.RawMessage // nil: outputs are not checked
	mcp         pluginsdk.MCP
	ignored     []string // members that are left out, and why
}

// parseTool decodes a tool as the server wrote it. The error says why it cannot be served; the name may be known all the same.
// Schemas are kept byte for byte, for the host to judge. Members that MCP does not know ride along (R20).
func parseTool(raw json.RawMessage) (definition, error) {
	var d definition
	o, ok := rawjson.ParseObject(raw)
	if !ok {
		return d, errors.New("a tool that is no JSON object")
	}
	if d.name, ok = o.Text("name"); !ok || d.name == "" {
		d.name = ""
		return d, errors.New("it has no name")
	}
	if text := o.Get("description"); text != nil && rawjson.Kind(text) != 'n' {
		if d.description, ok = o.Text("description"); !ok {
			return d, errors.New("its description is no string")
		}
	}
	if d.input = o.Get("inputSchema"); d.input == nil || rawjson.Kind(d.input) == 'n' {
		return d, errors.New("it has no inputSchema")
	}
	d.title = d.readText(o, "title")
	if schema := o.Get("outputSchema"); rawjson.Kind(schema) == '{' {
		d.output = schema
	} else if schema != nil && rawjson.Kind(schema) != 'n' {
		d.ignore("outputSchema", "no JSON object")
	}
	if icons := o.Get("icons"); rawjson.Kind(icons) == '[' {
		d.mcp.Icons = icons
	} else if icons != nil {
		d.ignore("icons", "no JSON array")
	}
	if meta := o.Get("_meta"); rawjson.Kind(meta) == '{' {
		d.mcp.Meta = meta
	} else if meta != nil {
		d.ignore("_meta", "no JSON object")
	}
	extra := o.Without("name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta")
	if more := d.readAnnotations(o.Get("annotations")); len(more) > 0 {
		extra = append(extra, rawjson.Member{"annotations", more.Raw()})
	}
	if len(extra) > 0 {
		d.mcp.Extra = extra.Raw()
	}
	return d, nil
}

// readAnnotations reads the hints that MCP knows and returns the other members.
func (d *definition) readAnnotations(raw json.RawMessage) rawjson.Object {
	if raw == nil {
		return nil
	}
	o, ok := rawjson.ParseObject(raw)
	if !ok {
		d.ignore("annotations", "no JSON object")
		return nil
	}
	var a pluginsdk.Annotations
	said := false
	if title, ok := o.Text("title"); ok {
		a.Title, said = title, true
	} else if o.Get("title") != nil {
		d.ignore("annotations/title", "no string")
	}
	for _, hint := range []struct {
		name string
		to   **bool
	}{{"readOnlyHint", &a.ReadOnly}, {"destructiveHint", &a.Destructive}, {"idempotentHint", &a.Idempotent}, {"openWorldHint", &a.OpenWorld}} {
		switch text := string(o.Get(hint.name)); text {
		case "":
		case "true", "false":
			value := text == "true"
			*hint.to, said = &value, true
		default:
			d.ignore("annotations/"+hint.name, "no boolean")
		}
	}
	if said {
		d.mcp.Annotations = &a
	}
	return o.Without("title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
}

func (d *definition) readText(o rawjson.Object, name string) string {
	text, ok := o.Text(name)
	if raw := o.Get(name); !ok && raw != nil && rawjson.Kind(raw) != 'n' {
		d.ignore(name, "no string")
	}
	return text
}

// ignore notes a member that would hurt whoever lists the tool again: clients refuse a whole list for one of the wrong type.
func (d *definition) ignore(member, why string) { d.ignored = append(d.ignored, member+": "+why) }

// text is the description; a tool needs one.
func (d *definition) text() string {
	if strings.TrimSpace(d.description) != "" {
		return d.description
	}
	return fmt.Sprintf("The tool %q of an MCP server, which does not describe it.", d.name)
}
