package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// Members of a result's _meta.
const (
	metaError    = "io.github.toolhost/error"    // the error object of a call that failed
	metaWarnings = "io.github.toolhost/warnings" // the warnings of one that succeeded, an array of strings
)

// maxErrorObject bounds the error object in a result, in bytes.
const maxErrorObject = 16 << 10

// Result is the CallToolResult of a call that succeeded, for clients of an era: content, structuredContent if the tool
// declares an output schema or is an imported one whose server gave one, _meta and what else an imported tool's result had. Outputs are there byte for byte (R21). A
// result of more than limit bytes becomes one with isError that says how large it is and how to ask for less, never a
// part of it (R23); if limit is zero, there is none. wrap is what Wraps says of the tool and the era. It is pure: it may be called
// concurrently.
func Result(t host.Tool, wrap bool, res *host.Result, e Era, limit int) json.RawMessage {
	declared := rawjson.Kind(t.OutputSchema) != 0 && rawjson.Kind(t.OutputSchema) != 'n'
	if declared && res.Output == nil && t.OutputMode == host.OutputWarn {
		return Error(t, callError(t, host.InvalidOutput, fmt.Errorf("plugin %s declares an output schema for the tool and returned nothing", t.Plugin)))
	}
	blocks, further, given := contentOf(shown(t, res, declared))
	if res.Output == nil && len(blocks) == 1 && rawjson.Equal(blocks[0], textBlock("")) {
		blocks = nil // it returned nothing
	}
	o := rawjson.Object{{"content", rawjson.Array(blocks)}}
	if declared || given && res.Output != nil {
		if s := structured(t, wrap, res.Output, e); s != nil {
			o.Set("structuredContent", s)
		}
	}
	meta, _ := rawjson.ParseObject(further.Get("_meta"))
	if len(res.Warnings) > 0 {
		meta.Set(metaWarnings, rawjson.Encode(res.Warnings))
	}
	if meta != nil {
		o.Set("_meta", rawjson.Compact(meta.Raw()))
	}
	for _, m := range further {
		switch m.Name {
		case "content", "structuredContent", "isError", "resultType", "_meta":
		default:
			o.Set(m.Name, rawjson.Compact(m.Value))
		}
	}
	raw := o.Raw()
	if limit > 0 && len(raw) > limit {
		return Error(t, callError(t, host.TooLarge, fmt.Errorf("the result has %d bytes, the limit is %d: %s", len(raw), limit, narrow(t))))
	}
	return raw
}

func callError(t host.Tool, code host.Code, err error) *host.Error {
	return &host.Error{Op: "call", Tool: t.Name, Code: code, Outcome: host.Done, Err: err}
}

// shown is the form of the output for content. Beside structuredContent it is the same JSON as text (MC-4), unless the tool made
// a form for the model.
func shown(t host.Tool, res *host.Result, declared bool) host.ModelOutput {
	if declared && res.Model.Type == "text" && rawjson.Equal(res.Model.Value, res.Output) {
		return host.ModelOutput{Type: "json", Value: rawjson.Quote(string(res.Output))}
	}
	return res.Model
}

// structured is the structuredContent of an output; nil: clients of the era get none.
func structured(t host.Tool, wrap bool, raw json.RawMessage, e Era) json.RawMessage {
	if raw == nil {
		if t.OutputMode != host.OutputReject {
			return nil
		}
		raw = json.RawMessage("null") // the schema admits it, or the host had refused the output
	}
	switch {
	case wrap:
		return rawjson.Object{{"result", rawjson.Compact(raw)}}.Raw()
	case e == Legacy && rawjson.Kind(raw) != '{':
		return nil
	}
	return rawjson.Compact(raw)
}

// narrow says how a caller may get less of a tool.
func narrow(t host.Tool) string {
	schema, _ := rawjson.ParseObject(t.InputSchema)
	props, _ := rawjson.ParseObject(schema.Get("properties"))
	var names []string
	for _, p := range props {
		name := strings.ToLower(p.Name)
		for _, part := range []string{"limit", "max", "count", "page", "offset", "cursor", "first", "last", "head", "tail", "top", "range", "filter", "fields", "query", "depth", "size", "since", "until"} {
			if strings.Contains(name, part) {
				names = append(names, p.Name)
				break
			}
		}
	}
	if len(names) == 0 {
		return "ask for a smaller part"
	}
	return "ask for a smaller part, with " + strings.Join(names[:min(len(names), 5)], ", ")
}

// Error is the CallToolResult of a call that failed: isError, never with structuredContent (R18). Its text is the host's
// message, which for a bad input names path, expected and got (R22); the error object is in _meta as
// io.github.toolhost/error. An imported tool's own content is given on as it came. It is pure: it may be called concurrently.
func Error(t host.Tool, err error) json.RawMessage {
	e, ok := errors.AsType[*host.Error](err)
	if !ok {
		e = &host.Error{Op: "call", Tool: t.Name, Code: host.Internal, Outcome: host.Unknown, Err: err}
	}
	message, data := visible(e)
	content := []json.RawMessage{textBlock(message)}
	theirs, _ := rawjson.ParseObject(data)
	list, isList := rawjson.ParseArray(theirs.Get("content"))
	if isList && len(list) > 0 && e.Code == host.ToolFailed {
		content = content[:0]
		for _, b := range list {
			content = append(content, validBlock(b))
		}
	} else {
		isList = false
	}
	o := rawjson.Object{{"content", rawjson.Array(content)}, {"isError", json.RawMessage("true")}}
	o.Set("_meta", rawjson.Object{{metaError, errorObject(e, message, isList)}}.Raw())
	return o.Raw()
}

// visible is the message of an error, and the data of the tool's own, as a model may see them: without characters that
// nobody sees (T17).
func visible(e *host.Error) (message string, data json.RawMessage) {
	var text string
	var shown struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if json.Unmarshal(e.Model().Value, &text) != nil || json.Unmarshal([]byte(text), &shown) != nil || shown.Message == "" {
		return e.Code.String(), nil
	}
	return shown.Message, shown.Data
}

// errorObject is the error as an object, bounded. What only the host's own user may see, the plugin's last words and the
// sealed part of a suspension, is left out; so are data that are content already.
func errorObject(e *host.Error, message string, dataShown bool) json.RawMessage {
	raw, err := json.Marshal(e)
	o, ok := rawjson.ParseObject(raw)
	if err != nil || !ok {
		o = rawjson.Object{{"code", rawjson.Encode(e.Code)}, {"message", rawjson.Quote(message)}, {"outcome", rawjson.Encode(e.Outcome)}}
	}
	o.Set("message", rawjson.Quote(message))
	if dataShown {
		o.Drop("data")
	}
	if s, ok := rawjson.ParseObject(o.Get("suspension")); ok {
		s = slices.DeleteFunc(s, func(m rawjson.Member) bool {
			return !slices.Contains([]string{"id", "kind", "tool", "plugin", "expires"}, m.Name)
		})
		o.Set("suspension", s.Raw())
	}
	if x, ok := rawjson.ParseObject(o.Get("exit")); ok {
		x.Drop("stderr")
		o.Set("exit", x.Raw())
	}
	for _, name := range []string{"output", "data", "exit", "repairs", "violations"} {
		if len(o.Raw()) <= maxErrorObject {
			break
		}
		if o.Has(name) {
			o.Drop(name)
			o.Set("cut", json.RawMessage("true"))
		}
	}
	if len(o.Raw()) > maxErrorObject {
		o.Set("message", rawjson.Quote(Clip(message, maxErrorObject/2)))
	}
	return o.Raw()
}
