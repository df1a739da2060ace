package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"

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
	if !json.Valid(data) {
		return nil, false, &rpcError{code: codeParse, message: "parse error: the message is no JSON"}
	}
	if data[0] != '[' {
		return []message{read(data)}, false, nil
	}
	var all []json.RawMessage
	if json.Unmarshal(data, &all) != nil || len(all) == 0 {
		return nil, true, &rpcError{code: codeInvalidRequest, message: "invalid request: an empty batch"}
	}
	for _, raw := range all {
		msgs = append(msgs, read(raw))
	}
	return msgs, true, nil
}

// read looks at one message, which is JSON.
func read(raw json.RawMessage) message {
	m := message{raw: raw}
	bad := func(format string, args ...any) message {
		m.fault = &rpcError{code: codeInvalidRequest, message: "invalid request: " + fmt.Sprintf(format, args...)}
		return m
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return bad("the message is no object")
	}
	id, hasID := members["id"]
	if hasID && validID(id) {
		m.id = id
	}
	if string(members["jsonrpc"]) != `"2.0"` {
		return bad(`jsonrpc is not "2.0"`)
	}
	if hasID && m.id == nil {
		return bad("id is neither a string nor an integer")
	}
	method, isRequest := members["method"]
	if !isRequest {
		if m.id == nil || members["result"] == nil && members["error"] == nil {
			return bad("the message has no method")
		}
		return m
	}
	if json.Unmarshal(method, &m.method) != nil || m.method == "" {
		m.method = ""
		return bad("method is no text")
	}
	if p := members["params"]; p != nil && string(p) != "null" {
		if p[0] != '{' {
			m.fault = &rpcError{code: codeInvalidParams, message: "invalid params: params is no object"}
			return m
		}
		m.params = p
	}
	return m
}

// validID reports whether a request may have the id: a string, or an integer.
func validID(id json.RawMessage) bool {
	if len(id) == 0 {
		return false
	}
	if id[0] == '"' {
		return true
	}
	return (id[0] == '-' || id[0] >= '0' && id[0] <= '9') && !bytes.ContainsAny(id, ".eE")
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
