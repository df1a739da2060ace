package mcpserver

import (
	"bytes"
	"encoding/json"

	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// meta is a request's _meta. Nothing of it becomes the caller (T36).
type meta rawjson.Object

// get returns a member's value; nil: there is none.
func (m meta) get(key string) json.RawMessage { return rawjson.Object(m).Get(key) }

// readMeta reads it; what cannot be read says nothing.
func readMeta(raw json.RawMessage) meta {
	o, _ := rawjson.ParseObject(raw)
	return meta(o)
}

// text is a member that is a string; "" if it is none.
func (m meta) text(key string) string {
	s, _ := rawjson.Text(m.get(key))
	return s
}

// firstModern is the first protocol version of the modern era.
const firstModern = "2026-07-28"

// era says how a client speaks whose request has it.
func (m meta) era() project.Era {
	if m.text("io.modelcontextprotocol/protocolVersion") >= firstModern {
		return project.Modern
	}
	return project.Legacy
}

// maxNumber is up to how many bytes a number without an exponent is a float64.
const maxNumber = 300

// decodes reports whether the SDK can decode it: of JSON, it cannot decode a number that is no float64. It has decoded introductions.
func (m meta) decodes(e project.Era) bool {
	for _, x := range m {
		if rawjson.Kind(x.Value) == '"' || len(x.Value) < maxNumber && !bytes.ContainsAny(x.Value, "eE") || e == project.Modern && introduces(x.Name) {
			continue
		}
		var v any
		if json.Unmarshal(x.Value, &v) != nil {
			return false
		}
	}
	return true
}

// token is the progress token; nil: there is none.
func (m meta) token() json.RawMessage { return validToken(m.get("progressToken")) }

// trace is the W3C trace context of the caller, which the host checks. Baggage stays behind (T38).
func (m meta) trace() (parent, state string) { return m.text("traceparent"), m.text("tracestate") }

// context is the request context of a call: those of the listed keys that are there (T36); nil: none.
func (m meta) context(keys []string) json.RawMessage {
	if len(keys) == 0 {
		return nil
	}
	kept := map[string]json.RawMessage{}
	for _, k := range keys {
		if v := m.get(k); v != nil {
			kept[k] = v
		}
	}
	if len(kept) == 0 {
		return nil
	}
	out, err := json.Marshal(kept)
	if err != nil {
		return nil
	}
	return out
}
