package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// The SDK serves what has to be said once on a connection, and whatever is odd. A tools/call like one that it has let through before
// goes directly to the pipeline: through the SDK it would cost several times as much as the call itself.

// introductions are what modern clients say of themselves in _meta, as the SDK has read and accepted it.
type introductions struct {
	mu    sync.RWMutex
	known map[string]bool
}

// The bounds of introductions.
const (
	maxIntroductions = 256
	maxIntroduction  = 4 << 10 // bytes
)

// introduction is what a modern client says of itself, byte for byte; empty if it is too long to be kept.
func (m meta) introduction() string {
	version, client, can := m.get("io.modelcontextprotocol/protocolVersion"), m.get("io.modelcontextprotocol/clientInfo"), m.get("io.modelcontextprotocol/clientCapabilities")
	if len(version)+len(client)+len(can) > maxIntroduction {
		return ""
	}
	return string(version) + "\x00" + string(client) + "\x00" + string(can) // no JSON has this byte
}

// accept notes an introduction that the SDK has accepted.
func (i *introductions) accept(m meta) {
	text := m.introduction()
	if text == "" || i.has(m) {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.known) >= maxIntroductions {
		clear(i.known)
	}
	i.known[text] = true
}

// has reports whether an introduction was accepted.
func (i *introductions) has(m meta) bool {
	text := m.introduction()
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.known[text]
}

// direct reads the params of a tools/call that need not go through the SDK: the client is known to it, and they are as they should be.
// With a session, over which the client has made itself known, the client may be of either era; without one it is modern.
func (s *Server) direct(params json.RawMessage, ss *mcp.ServerSession) (callParams, bool) {
	c, fault := readCall(params)
	if fault != nil || c.meta == nil && c.hasMeta {
		return c, false
	}
	if ss != nil && ss.InitializeParams() == nil || ss == nil && c.meta.era() != project.Modern {
		return c, false
	}
	return c, c.meta.era() == project.Legacy || s.introduced.has(c.meta)
}

// serve makes the call of a request. A panic costs only this call (R43).
func (s *Server) serve(ctx context.Context, r request) (result json.RawMessage, fault *rpcError) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a request made the server panic", "method", "tools/call", "panic", p, "stack", string(debug.Stack()))
			result, fault = nil, &rpcError{code: codeInternal, message: "internal error"}
		}
	}()
	result, err := s.calls.call(ctx, r)
	if err == nil {
		return s.finish(result, r.era), nil
	}
	if fault, ok := errors.AsType[*rpcError](err); ok {
		return nil, fault
	}
	if ctx.Err() == nil {
		s.log.Error("a call ended with an error that is none of the protocol", "tool", r.name, "error", err)
	}
	return nil, &rpcError{code: codeInternal, message: "internal error"}
}

// callParams are the params of a tools/call.
type callParams struct {
	rawjson.Object
	name    string
	meta    meta
	hasMeta bool
}

// readCall reads the params of a tools/call as far as every transport needs them.
func readCall(params json.RawMessage) (c callParams, fault *rpcError) {
	var ok bool
	if c.Object, ok = rawjson.ParseObject(params); !ok {
		return c, &rpcError{code: codeInvalidParams, message: "tools/call: params is no object"}
	}
	raw := c.Get("_meta")
	c.meta, c.hasMeta = readMeta(raw), raw != nil
	if c.name, ok = c.Text("name"); !ok || c.name == "" {
		return c, &rpcError{code: codeInvalidParams, message: "tools/call: name is no text: say which tool"}
	}
	return c, nil
}
