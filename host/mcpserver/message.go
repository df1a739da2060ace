package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// The codes of JSON-RPC and MCP that the server answers with.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeHeaderMismatch = -32020
	codeNoResource     = -32002 // legacy
)

// message is one JSON-RPC message as it was received.
type message struct {
	raw    json.RawMessage // all of it
	id     json.RawMessage // nil: a notification
	method string          // empty: a response
	params json.RawMessage // nil: none
	plain  bool            // it has the members that every call has, each once, and no other
	fault  *rpcError       // what is wrong with it; id is then what can be answered
}

// isCall reports whether the message wants an answer.
func (m message) isCall() bool { return m.method != "" && m.id != nil }

// version is the protocol version that a modern request carries; empty if it carries none.
func (m message) version() string {
	var p struct {
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if json.Unmarshal(m.params, &p) != nil {
		return ""
	}
	return p.Meta.Version
}

// parse reads one message or a batch of them. Only what is no JSON at all, or an empty batch, is an error; a message that
// is no request and no response has a fault.
func parse(data []byte) (msgs []message, batch bool, fault *rpcError) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '{' {
		members, plain := rawjson.ParseObjectUpTo(data, callMembers)
		ok := plain
		if !ok {
			members, ok = rawjson.ParseObjectUpTo(data, maxMembers)
		}
		if ok {
			m := readObject(data, members)
			m.plain = plain && len(members) == callMembers
			return []message{m}, false, nil
		}
	}
	if !rawjson.Valid(data) {
		return nil, false, &rpcError{code: codeParse, message: "parse error: the message is no JSON"}
	}
	if data[0] != '[' {
		return []message{read(data)}, false, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	_, _ = dec.Token() // the bracket; the rest is JSON too
	for dec.More() {
		var raw json.RawMessage
		if len(msgs) == maxBatch || dec.Decode(&raw) != nil {
			return nil, true, &rpcError{code: codeInvalidRequest, message: fmt.Sprintf("invalid request: a batch of more than %d messages", maxBatch)}
		}
		msgs = append(msgs, read(raw))
	}
	if len(msgs) == 0 {
		return nil, true, &rpcError{code: codeInvalidRequest, message: "invalid request: an empty batch"}
	}
	return msgs, true, nil
}

// The bounds of what is decoded of a message (T5): text of a few megabytes may be a hundred times as much in memory. Arguments, and what
// a client answers, are not decoded here.
const (
	callMembers = 4 // jsonrpc, id, method and params

	maxBatch   = maxOpen // messages
	maxMembers = 1000    // of a message, of params and of inputResponses
	maxParams  = 1 << 20 // bytes of params beside arguments and inputResponses
)

// read looks at one message, which is JSON.
func read(raw json.RawMessage) message {
	if rawjson.Kind(raw) != '{' {
		return message{raw: raw, fault: invalid("the message is no object")}
	}
	members, ok := rawjson.ParseObjectUpTo(raw, maxMembers)
	if !ok {
		return message{raw: raw, fault: invalid(fmt.Sprintf("the message has more than %d members", maxMembers))}
	}
	return readObject(raw, members)
}

func invalid(why string) *rpcError {
	return &rpcError{code: codeInvalidRequest, message: "invalid request: " + why}
}

// readObject looks at a message that is an object.
func readObject(raw json.RawMessage, members rawjson.Object) message {
	m := message{raw: raw}
	bad := func(why string) message {
		m.fault = invalid(why)
		return m
	}
	id := members.Get("id")
	hasID := id != nil
	if hasID && validID(id) {
		m.id = id
	}
	if string(members.Get("jsonrpc")) != `"2.0"` {
		return bad(`jsonrpc is not "2.0"`)
	}
	if hasID && m.id == nil {
		return bad("id is neither an integer nor a string in UTF-8")
	}
	method := members.Get("method")
	if method == nil {
		if m.id == nil || !members.Has("result") && !members.Has("error") {
			return bad("the message has no method")
		}
		return m
	}
	if m.method, _ = rawjson.Text(method); m.method == "" {
		return bad("method is no text")
	}
	if p := members.Get("params"); p != nil && string(p) != "null" {
		if why := paramsFault(m.method, p); why != "" {
			m.fault = &rpcError{code: codeInvalidParams, message: "invalid params: " + why}
			return m
		}
		m.params = p
	}
	return m
}

// paramsFault says why params are not taken; empty: they are.
func paramsFault(method string, p json.RawMessage) string {
	if rawjson.Kind(p) != '{' {
		return "params is no object"
	}
	if len(p) <= maxParams {
		return ""
	}
	rest := len(p)
	if method == "tools/call" {
		o, ok := rawjson.ParseObjectUpTo(p, maxMembers)
		if !ok {
			return fmt.Sprintf("params has more than %d members", maxMembers)
		}
		answers := o.Get("inputResponses")
		if _, ok := rawjson.ParseObjectUpTo(answers, maxMembers); rawjson.Kind(answers) == '{' && !ok {
			return fmt.Sprintf("inputResponses has more than %d members", maxMembers)
		}
		rest -= len(o.Get("arguments")) + len(answers)
	}
	if rest > maxParams {
		return fmt.Sprintf("params has %d bytes beside arguments: at most %d are taken", rest, maxParams)
	}
	return ""
}

// validID reports whether a request may have the id: a string, or an integer.
func validID(id json.RawMessage) bool {
	if len(id) == 0 {
		return false
	}
	if id[0] == '"' {
		return utf8.Valid(id) // it is in the answer as it came
	}
	return (id[0] == '-' || id[0] >= '0' && id[0] <= '9') && !bytes.ContainsAny(id, ".eE")
}

// answerResult is a response with a result.
func answerResult(id, result json.RawMessage) []byte {
	b := make([]byte, 0, len(id)+len(result)+len(`{"jsonrpc":"2.0","id":,"result":}`+"\n"))
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	b = append(append(b, `,"result":`...), result...)
	return append(b, '}')
}

// answerError is a response with an error. A nil id is null.
func answerError(id json.RawMessage, e *rpcError) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	type wireError struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	return rawjson.Encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   wireError       `json:"error"`
	}{"2.0", id, wireError{e.code, e.message, e.data}})
}
