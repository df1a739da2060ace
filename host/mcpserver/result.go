package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
)

// Members of a result's _meta.
const (
	metaError    = "io.github.toolhost/error"    // the error object of a call that failed
	metaWarnings = "io.github.toolhost/warnings" // the warnings of one that succeeded, an array of strings
)

// maxErrorObject bounds the error object in a result, in bytes.
const maxErrorObject = 16 << 10

// callResult is the CallToolResult of a call that succeeded, for clients of an era: content, structuredContent if the tool
// declares an output schema, _meta and what else an imported tool's result had. Outputs are there byte for byte (R21). A
// result of more than limit bytes becomes one with isError that says how large it is and how to ask for less, never a
// part of it (R23); if limit is zero, there is none. It is pure: it may be called concurrently.
func callResult(t host.Tool, res *host.Result, e era, limit int) json.RawMessage {
	declared := kind(t.OutputSchema) != 0 && kind(t.OutputSchema) != 'n'
	if declared && res.Output == nil && t.OutputMode == host.OutputWarn {
		return errorResult(t, callError(t, host.InvalidOutput, fmt.Errorf("plugin %s declares an output schema for the tool and returned nothing", t.Plugin)))
	}
	blocks, further := contentOf(shown(t, res, declared))
	if res.Output == nil && len(blocks) == 1 && equalJSON(blocks[0], textBlock("")) {
		blocks = nil // it returned nothing
	}
	o := object{{"content", array(blocks)}}
	if declared {
		if s := structured(t, res.Output, e); s != nil {
			o.set("structuredContent", s)
		}
	}
	meta, _ := readObject(further.get("_meta"))
	if len(res.Warnings) > 0 {
		meta.set(metaWarnings, encode(res.Warnings))
	}
	if meta != nil {
		o.set("_meta", compact(meta.raw()))
	}
	for _, m := range further {
		switch m.name {
		case "content", "structuredContent", "isError", "resultType", "_meta":
		default:
			o.set(m.name, compact(m.value))
		}
	}
	raw := o.raw()
	if limit > 0 && len(raw) > limit {
		return errorResult(t, callError(t, host.TooLarge, fmt.Errorf("the result has %d bytes, the limit is %d: %s", len(raw), limit, narrow(t))))
	}
	return raw
}

func callError(t host.Tool, code host.Code, err error) *host.Error {
	return &host.Error{Op: "call", Tool: t.Name, Code: code, Outcome: host.Done, Err: err}
}

// shown is the form of the output for content. Beside structuredContent it is the same JSON as text (MC-4), unless the tool made
// a form for the model.
func shown(t host.Tool, res *host.Result, declared bool) host.ModelOutput {
	if declared && res.Model.Type == "text" && equalJSON(res.Model.Value, res.Output) {
		return host.ModelOutput{Type: "json", Value: quote(string(res.Output))}
	}
	return res.Model
}

// structured is the structuredContent of an output; nil: clients of the era get none.
func structured(t host.Tool, raw json.RawMessage, e era) json.RawMessage {
	if raw == nil {
		if t.OutputMode != host.OutputReject {
			return nil
		}
		raw = json.RawMessage("null") // the schema admits it, or the host had refused the output
	}
	out, _ := outputOf(t, e)
	switch {
	case out.wrapped && out.schema != nil:
		return object{{"result", compact(raw)}}.raw()
	case e == legacy && kind(raw) != '{':
		return nil
	}
	return compact(raw)
}

// narrow says how a caller may get less of a tool.
func narrow(t host.Tool) string {
	schema, _ := readObject(t.InputSchema)
	props, _ := readObject(schema.get("properties"))
	var names []string
	for _, p := range props {
		name := strings.ToLower(p.name)
		for _, part := range []string{"limit", "max", "count", "page", "offset", "cursor", "first", "last", "head", "tail", "top", "range", "filter", "fields", "query", "depth", "size", "since", "until"} {
			if strings.Contains(name, part) {
				names = append(names, p.name)
				break
			}
		}
	}
	if len(names) == 0 {
		return "ask for a smaller part"
	}
	return "ask for a smaller part, with " + strings.Join(names[:min(len(names), 5)], ", ")
}

// errorResult is the CallToolResult of a call that failed: isError, never with structuredContent (R18). Its text is the host's
// message, which for a bad input names path, expected and got (R22); the error object is in _meta as
// io.github.toolhost/error. An imported tool's own content is given on as it came. It is pure: it may be called concurrently.
func errorResult(t host.Tool, err error) json.RawMessage {
	e, ok := errors.AsType[*host.Error](err)
	if !ok {
		e = &host.Error{Op: "call", Tool: t.Name, Code: host.Internal, Outcome: host.Unknown, Err: err}
	}
	message, data := visible(e)
	content := []json.RawMessage{textBlock(message)}
	theirs, _ := readObject(data)
	list, isList := readArray(theirs.get("content"))
	if isList && len(list) > 0 && e.Code == host.ToolFailed {
		content = content[:0]
		for _, b := range list {
			content = append(content, validBlock(b))
		}
	} else {
		isList = false
	}
	o := object{{"content", array(content)}, {"isError", json.RawMessage("true")}}
	o.set("_meta", object{{metaError, errorObject(e, message, isList)}}.raw())
	return o.raw()
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
	o, ok := readObject(raw)
	if err != nil || !ok {
		o = object{{"code", encode(e.Code)}, {"message", quote(message)}, {"outcome", encode(e.Outcome)}}
	}
	o.set("message", quote(message))
	if dataShown {
		o.drop("data")
	}
	if s, ok := readObject(o.get("suspension")); ok {
		s = slices.DeleteFunc(s, func(m member) bool {
			return !slices.Contains([]string{"id", "kind", "tool", "plugin", "expires"}, m.name)
		})
		o.set("suspension", s.raw())
	}
	if x, ok := readObject(o.get("exit")); ok {
		x.drop("stderr")
		o.set("exit", x.raw())
	}
	for _, name := range []string{"output", "data", "exit", "repairs", "violations"} {
		if len(o.raw()) <= maxErrorObject {
			break
		}
		if o.has(name) {
			o.drop(name)
			o.set("cut", json.RawMessage("true"))
		}
	}
	if len(o.raw()) > maxErrorObject {
		o.set("message", quote(strings.ToValidUTF8(message[:min(len(message), maxErrorObject/2)], "")+" …"))
	}
	return o.raw()
}
