package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/runes"
)

// message is one JSON-RPC message: a request has id and method, a notification a method only, an answer an id and a result or an error.
type message struct {
	id     json.RawMessage
	method string
	params json.RawMessage
	result json.RawMessage
	err    *rpcError
}

// Codes beside those of answers to questions.
const (
	codeInternal    = -32603
	codeMirror      = -32020 // the headers do not mirror the body
	codeUnsupported = -32022 // the version of the protocol
)

var errNoMessage = errors.New("it is no JSON-RPC message")

// maxBatch is how many messages of a batch are read: text is much smaller than what it becomes (T5).
const maxBatch = 1000

// decodeMessages reads a line, a body or an event: one message, or an array of them as 2025-03-26 allows. Members have exactly the
// names that they have; what is there twice counts the last time. params and result are the peer's bytes. A batch is kept
// as far as it is sound.
func decodeMessages(raw []byte) ([]message, error) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if len(raw) == 0 || raw[0] != '[' {
		m, err := decodeMessage(raw)
		if err != nil {
			return nil, err
		}
		return []message{m}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, _ = dec.Token() // the bracket
	var list []message
	for n := 0; dec.More() && n < maxBatch; n++ {
		var one json.RawMessage
		if dec.Decode(&one) != nil {
			return nil, errNoMessage
		}
		if m, err := decodeMessage(one); err == nil {
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return nil, errNoMessage
	}
	return list, nil
}

func decodeMessage(raw []byte) (message, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return message{}, errNoMessage // without looking at the rest: a program's line of numbers, a banner
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return message{}, errNoMessage
	}
	m := message{id: members["id"], params: members["params"], result: members["result"]}
	if string(m.id) == "null" {
		m.id = nil
	}
	if raw, ok := members["method"]; ok {
		if json.Unmarshal(raw, &m.method) != nil || m.method == "" {
			return message{}, errNoMessage
		}
		m.result = nil
		return m, nil
	}
	if raw, ok := members["error"]; ok && string(raw) != "null" {
		m.err = decodeError(raw)
		return m, nil
	}
	if m.id == nil || m.result == nil {
		return message{}, errNoMessage
	}
	return m, nil
}

// decodeError is lenient: an error of an odd form is still an error.
func decodeError(raw json.RawMessage) *rpcError {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // of another type: no members
	e := &rpcError{code: codeInternal, data: members["data"]}
	var code float64
	if json.Unmarshal(members["code"], &code) == nil && code == float64(int32(code)) {
		e.code = int(code)
	}
	if json.Unmarshal(members["message"], &e.message) != nil || e.message == "" {
		e.message = runes.Cut(string(raw), 500)
	}
	return e
}

// key is what an id is found by: 7 and "7" are the same, as some servers answer with the one for the other.
func key(id json.RawMessage) string {
	var s string
	if len(id) > 0 && id[0] == '"' && json.Unmarshal(id, &s) == nil {
		return s
	}
	return string(id)
}

// encodeRequest is a request with the id, or a notification if id is 0. params may be nil.
func encodeRequest(id int64, method string, params json.RawMessage) []byte {
	m := rawjson.Object{{"jsonrpc", json.RawMessage(`"2.0"`)}, {"method", rawjson.Quote(method)}}
	if id != 0 {
		m.Set("id", json.RawMessage(strconv.FormatInt(id, 10)))
	}
	if params != nil {
		m.Set("params", params)
	}
	return rawjson.Compact(m.Raw())
}

// encodeAnswer is the answer to a request of the peer, whose id is sent back as it came.
func encodeAnswer(id, result json.RawMessage, failed *rpcError) []byte {
	m := rawjson.Object{{"jsonrpc", json.RawMessage(`"2.0"`)}, {"id", id}}
	if failed == nil {
		m.Set("result", result)
	} else {
		m.Set("error", rawjson.Encode(map[string]any{"code": failed.code, "message": failed.message}))
	}
	return rawjson.Compact(m.Raw())
}

// maxMessage bounds a message of a server: a line, a body, an event (R24).
const maxMessage = 32 << 20
