package project

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// contentOf turns what a model is shown into the content of a result, and what an imported tool brought beside it: the further
// members of the result, and whether its output is a structuredContent although the tool has no output schema. Every block is one that clients of both eras can read: a part that would make none becomes the text of its
// JSON.
func contentOf(m host.ModelOutput) (blocks []json.RawMessage, further rawjson.Object, structured bool) {
	if m.Type != "content" {
		var s string
		if rawjson.Kind(m.Value) == '"' && json.Unmarshal(m.Value, &s) == nil {
			return []json.RawMessage{textBlock(s)}, nil, false
		}
		return []json.RawMessage{textBlock(strings.TrimSpace(string(m.Value)))}, nil, false
	}
	parts, ok := rawjson.ParseArray(m.Value)
	if !ok {
		return []json.RawMessage{textBlock(string(m.Value))}, nil, false
	}
	for i, raw := range parts {
		part, ok := rawjson.ParseObject(raw)
		if !ok {
			blocks = append(blocks, textBlock(string(raw)))
			continue
		}
		options, _ := rawjson.ParseObject(part.Get("providerOptions"))
		theirs, _ := rawjson.ParseObject(options.Get("mcp"))
		if typ, _ := part.Text("type"); typ == "custom" && theirs != nil {
			flag := string(theirs.Get("structured")) == "true"
			if result, ok := rawjson.ParseObject(theirs.Get("result")); (ok || flag) && !theirs.Has("type") {
				further, structured = result, flag
				continue
			}
			blocks = append(blocks, validBlock(options.Get("mcp")))
			continue
		}
		b := blockOf(part, i)
		if !all(b, func(m rawjson.Member) bool { return m.Value != nil }) {
			b = nil
		}
		if b == nil {
			blocks = append(blocks, textBlock(string(rawjson.Compact(raw))))
			continue
		}
		for _, m := range theirs {
			if !b.Has(m.Name) {
				b = append(b, m)
			}
		}
		blocks = append(blocks, validBlock(b.Raw()))
	}
	return blocks, further, structured
}

// blockOf is the block of a part; nil: MCP has none like it.
func blockOf(part rawjson.Object, i int) rawjson.Object {
	typ, _ := part.Text("type")
	media, _ := part.Text("mediaType")
	switch typ {
	case "text":
		return rawjson.Object{{"type", rawjson.Quote("text")}, {"text", part.Get("text")}}
	case "image-data", "file-data":
		inline := "resource"
		switch {
		case typ == "image-data" || strings.HasPrefix(media, "image/"):
			inline = "image"
		case strings.HasPrefix(media, "audio/"):
			inline = "audio"
		}
		if inline != "resource" {
			return rawjson.Object{{"type", rawjson.Quote(inline)}, {"data", part.Get("data")}, {"mimeType", rawjson.Quote(media)}}
		}
		name, ok := part.Text("filename")
		if !ok || name == "" {
			name = "file-" + strconv.Itoa(i+1)
		}
		uri := "attachment:///" + escapePath(name)
		return rawjson.Object{{"type", rawjson.Quote("resource")}, {"resource", rawjson.Object{{"uri", rawjson.Quote(uri)}, {"mimeType", rawjson.Quote(media)}, {"blob", part.Get("data")}}.Raw()}}
	case "image-url", "file-url":
		address, _ := part.Text("url")
		b := rawjson.Object{{"type", rawjson.Quote("resource_link")}, {"uri", rawjson.Quote(address)}, {"name", rawjson.Quote(linkName(part, address))}}
		if media != "" {
			b.Set("mimeType", rawjson.Quote(media))
		}
		return b
	}
	return nil
}

// linkName is a name for what is behind an address.
func linkName(part rawjson.Object, address string) string {
	if name, _ := part.Text("filename"); name != "" {
		return name
	}
	if strings.HasPrefix(address, "data:") {
		return "data"
	}
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	if base := path.Base(strings.TrimRight(address, "/")); base != "." && base != "/" {
		return base
	}
	return "link"
}

func escapePath(name string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c > ' ' && c < 0x7f && !strings.ContainsRune(`%/\?#"<>^{|}`+"`", rune(c)) {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// textBlock is a text as a block.
func textBlock(s string) json.RawMessage {
	return rawjson.Object{{"type", rawjson.Quote("text")}, {"text", rawjson.Quote(s)}}.Raw()
}

// validBlock returns a block as it is but for white space, if clients can read it. Annotations and a _meta that they cannot
// are left out; any other fault, or an unknown type, makes it the text of its JSON: clients refuse a whole result over one
// block.
func validBlock(raw json.RawMessage) json.RawMessage {
	b, ok := rawjson.ParseObject(raw)
	if !ok || !readable(b) {
		return textBlock(string(rawjson.Compact(raw)))
	}
	changed := false
	if b.Has("_meta") && rawjson.Kind(b.Get("_meta")) != '{' {
		b.Drop("_meta")
		changed = true
	}
	if a := b.Get("annotations"); a != nil && !validAnnotations(a) {
		b.Drop("annotations")
		changed = true
	}
	if changed {
		raw = b.Raw()
	}
	return rawjson.Compact(raw)
}

func readable(b rawjson.Object) bool {
	typ, _ := b.Text("type")
	switch typ {
	case "text":
		return rawjson.Kind(b.Get("text")) == '"'
	case "image", "audio":
		return rawjson.Kind(b.Get("mimeType")) == '"' && isBase64(b.Get("data"))
	case "resource_link":
		icons, _ := rawjson.ParseArray(b.Get("icons"))
		return rawjson.Kind(b.Get("uri")) == '"' && rawjson.Kind(b.Get("name")) == '"' && optional(b, '"', "title", "description", "mimeType") &&
			(!b.Has("size") || isNumberValue(b.Get("size"))) && optional(b, '[', "icons") && all(icons, validIcon)
	case "resource":
		r, ok := rawjson.ParseObject(b.Get("resource"))
		return ok && rawjson.Kind(r.Get("uri")) == '"' && optional(r, '"', "mimeType") && optional(r, '{', "_meta") &&
			(rawjson.Kind(r.Get("text")) == '"' || isBase64(r.Get("blob")))
	}
	return false
}

func isNumberValue(raw json.RawMessage) bool {
	k := rawjson.Kind(raw)
	return k == '-' || k >= '0' && k <= '9'
}

// isBase64 reports whether a value is a string of standard base64.
func isBase64(raw json.RawMessage) bool {
	var s string
	if rawjson.Kind(raw) != '"' || json.Unmarshal(raw, &s) != nil || strings.ContainsAny(s, "\r\n") {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// validAnnotations reports whether the annotations of a block are as MCP has them; further members may be anything.
func validAnnotations(raw json.RawMessage) bool {
	a, ok := rawjson.ParseObject(raw)
	if !ok {
		return false
	}
	if a.Has("audience") {
		list, isList := rawjson.ParseArray(a.Get("audience"))
		if !isList || !all(list, func(x json.RawMessage) bool {
			return slices.Contains([]string{`"user"`, `"assistant"`}, strings.TrimSpace(string(x)))
		}) {
			return false
		}
	}
	if p := a.Get("priority"); p != nil {
		var v float64
		if !isNumberValue(p) || json.Unmarshal(p, &v) != nil || v < 0 || v > 1 {
			return false
		}
	}
	if a.Has("lastModified") {
		when, isText := a.Text("lastModified")
		if _, err := time.Parse(time.RFC3339Nano, when); !isText || err != nil {
			return false
		}
	}
	return true
}
