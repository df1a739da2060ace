package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
)

// contentOf turns what a model is shown into the content of a result, and the further members of the result that an imported
// tool brought. Every block is one that clients of both eras can read: a part that would make none becomes the text of its
// JSON.
func contentOf(m host.ModelOutput) (blocks []json.RawMessage, further object) {
	if m.Type != "content" {
		var s string
		if kind(m.Value) == '"' && json.Unmarshal(m.Value, &s) == nil {
			return []json.RawMessage{textBlock(s)}, nil
		}
		return []json.RawMessage{textBlock(strings.TrimSpace(string(m.Value)))}, nil
	}
	parts, ok := readArray(m.Value)
	if !ok {
		return []json.RawMessage{textBlock(string(m.Value))}, nil
	}
	for i, raw := range parts {
		part, ok := readObject(raw)
		if !ok {
			blocks = append(blocks, textBlock(string(raw)))
			continue
		}
		options, _ := readObject(part.get("providerOptions"))
		theirs, _ := readObject(options.get("mcp"))
		if typ, _ := part.text("type"); typ == "custom" && theirs != nil {
			if result, ok := readObject(theirs.get("result")); ok && !theirs.has("type") {
				further = result
				continue
			}
			blocks = append(blocks, validBlock(options.get("mcp")))
			continue
		}
		b := blockOf(part, i)
		if !all(b, func(m member) bool { return m.value != nil }) {
			b = nil
		}
		if b == nil {
			blocks = append(blocks, textBlock(string(compact(raw))))
			continue
		}
		for _, m := range theirs {
			if !b.has(m.name) {
				b = append(b, m)
			}
		}
		blocks = append(blocks, validBlock(b.raw()))
	}
	return blocks, further
}

// blockOf is the block of a part; nil: MCP has none like it.
func blockOf(part object, i int) object {
	typ, _ := part.text("type")
	media, _ := part.text("mediaType")
	switch typ {
	case "text":
		return object{{"type", quote("text")}, {"text", part.get("text")}}
	case "image-data", "file-data":
		inline := "resource"
		switch {
		case typ == "image-data" || strings.HasPrefix(media, "image/"):
			inline = "image"
		case strings.HasPrefix(media, "audio/"):
			inline = "audio"
		}
		if inline != "resource" {
			return object{{"type", quote(inline)}, {"data", part.get("data")}, {"mimeType", quote(media)}}
		}
		name, ok := part.text("filename")
		if !ok || name == "" {
			name = "file-" + strconv.Itoa(i+1)
		}
		uri := "attachment:///" + escapePath(name)
		return object{{"type", quote("resource")}, {"resource", object{{"uri", quote(uri)}, {"mimeType", quote(media)}, {"blob", part.get("data")}}.raw()}}
	case "image-url", "file-url":
		address, _ := part.text("url")
		b := object{{"type", quote("resource_link")}, {"uri", quote(address)}, {"name", quote(linkName(part, address))}}
		if media != "" {
			b.set("mimeType", quote(media))
		}
		return b
	}
	return nil
}

// linkName is a name for what is behind an address.
func linkName(part object, address string) string {
	if name, _ := part.text("filename"); name != "" {
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
	return object{{"type", quote("text")}, {"text", quote(s)}}.raw()
}

// validBlock returns a block as it is but for white space, if clients can read it. Annotations and a _meta that they cannot
// are left out; any other fault, or an unknown type, makes it the text of its JSON: clients refuse a whole result over one
// block.
func validBlock(raw json.RawMessage) json.RawMessage {
	b, ok := readObject(raw)
	if !ok || !readable(b) {
		return textBlock(string(compact(raw)))
	}
	changed := false
	if b.has("_meta") && kind(b.get("_meta")) != '{' {
		b.drop("_meta")
		changed = true
	}
	if a := b.get("annotations"); a != nil && !validAnnotations(a) {
		b.drop("annotations")
		changed = true
	}
	if changed {
		raw = b.raw()
	}
	return compact(raw)
}

func readable(b object) bool {
	typ, _ := b.text("type")
	switch typ {
	case "text":
		return kind(b.get("text")) == '"'
	case "image", "audio":
		return kind(b.get("mimeType")) == '"' && isBase64(b.get("data"))
	case "resource_link":
		icons, _ := readArray(b.get("icons"))
		return kind(b.get("uri")) == '"' && kind(b.get("name")) == '"' && optional(b, '"', "title", "description", "mimeType") &&
			(!b.has("size") || isNumberValue(b.get("size"))) && optional(b, '[', "icons") && all(icons, validIcon)
	case "resource":
		r, ok := readObject(b.get("resource"))
		return ok && kind(r.get("uri")) == '"' && optional(r, '"', "mimeType") && optional(r, '{', "_meta") &&
			(kind(r.get("text")) == '"' || isBase64(r.get("blob")))
	}
	return false
}

func isNumberValue(raw json.RawMessage) bool {
	k := kind(raw)
	return k == '-' || k >= '0' && k <= '9'
}

// isBase64 reports whether a value is a string of standard base64.
func isBase64(raw json.RawMessage) bool {
	var s string
	if kind(raw) != '"' || json.Unmarshal(raw, &s) != nil || strings.ContainsAny(s, "\r\n") {
		return false
	}
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

// validAnnotations reports whether the annotations of a block are as MCP has them; further members may be anything.
func validAnnotations(raw json.RawMessage) bool {
	a, ok := readObject(raw)
	if !ok {
		return false
	}
	if a.has("audience") {
		list, isList := readArray(a.get("audience"))
		if !isList || !all(list, func(x json.RawMessage) bool {
			return slices.Contains([]string{`"user"`, `"assistant"`}, strings.TrimSpace(string(x)))
		}) {
			return false
		}
	}
	if p := a.get("priority"); p != nil {
		var v float64
		if !isNumberValue(p) || json.Unmarshal(p, &v) != nil || v < 0 || v > 1 {
			return false
		}
	}
	if a.has("lastModified") {
		when, isText := a.text("lastModified")
		if _, err := time.Parse(time.RFC3339Nano, when); !isText || err != nil {
			return false
		}
	}
	return true
}
