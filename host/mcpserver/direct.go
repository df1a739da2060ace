package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// The SDK serves what has to be said once on a connection, and whatever is odd. A tools/call like one that it has let through before
// goes directly to the pipeline: through the SDK it would cost several times as much as the call itself.

// direct reads the params of a tools/call that need not go through the SDK: the client is known to it, and they are as they should be.
// With a session, over which the client has made itself known, the client may be of either era; without one it is modern.
func (s *Server) direct(params json.RawMessage, ss *mcp.ServerSession) (callParams, bool) {
	c, fault := readCall(params)
	if fault != nil || c.meta == nil && c.hasMeta {
		return c, false
	}
	e := c.meta.era()
	if ss != nil && ss.InitializeParams() == nil || ss == nil && e != project.Modern || !c.meta.decodes(e) {
		return c, false
	}
	return c, e == project.Legacy || s.introduced.has(c.meta)
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

// callDirectly makes a tools/call without the SDK, and answers it. It ends with ctx.
func (s *Server) callDirectly(ctx context.Context, e *exchange, l *link, ss *mcp.ServerSession, m message, c callParams) {
	defer e.w.beat(s.cfg.KeepAlive)()
	r, fault := newRequest(l, ss, c, e.send)
	var answer []byte
	if fault == nil {
		var result []byte
		result, fault = s.serve(ctx, r)
		answer = answerResult(m.id, result)
	}
	status := http.StatusOK
	if fault != nil {
		answer = answerError(m.id, fault)
		if c.meta.era() == project.Modern && (fault.code == codeInvalidParams || fault.code == codeMissingCapability) {
			status = http.StatusBadRequest
		}
	}
	if ctx.Err() != nil {
		answer = nil // R36
	}
	e.end(status, answer)
}

// saysSo reports whether the headers of a request say what a modern tools/call says.
func saysSo(h http.Header, c callParams) bool {
	return only(h, versionHeader, c.meta.text(mcp.MetaKeyProtocolVersion)) && only(h, "Mcp-Method", "tools/call") && only(h, "Mcp-Name", c.name) &&
		plainly(h)
}

// plainly reports whether the SDK takes the headers of any tools/call.
func plainly(h http.Header) bool {
	return len(h.Values("Last-Event-Id")) == 0 && len(h.Values("Accept")) > 0
}

// only reports whether a header is there once, with this value.
func only(h http.Header, name, value string) bool {
	all := h.Values(name)
	return len(all) == 1 && all[0] == value
}

// callOverSession makes a tools/call of a legacy client without the SDK. It reports whether it could: else the SDK is to do it.
func (s *Server) callOverSession(w *stream, r *http.Request, x *session, msgs []message) bool {
	m := msgs[0]
	if len(msgs) != 1 || m.method != "tools/call" || !m.isCall() || !m.plain || !plainly(r.Header) {
		return false
	}
	c, ok := s.direct(m.params, x.sdk)
	ids := idsOf(msgs)
	if !ok || len(ids) != 1 || c.meta.get(mcp.MetaKeyProtocolVersion) != nil {
		return false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // a client that goes may come back for the session (R35)
	defer cancel()
	defer context.AfterFunc(x.link.life, cancel)()
	if !x.link.begin(ids[0], &inflight{method: m.method, cancel: cancel}) {
		respond(w, http.StatusBadRequest, answerError(m.id, &rpcError{code: codeInvalidRequest, message: "invalid request: a call with this id is running"}))
		return true
	}
	defer x.link.done(ids[0])
	e := &exchange{w: w}
	stay := context.AfterFunc(r.Context(), func() { // whether it comes back is seen by the session's idle time (R40)
		e.leave()
		x.release()
	})
	defer func() {
		if !stay() {
			x.use() // it is released again
		}
	}()
	s.callDirectly(ctx, e, x.link, x.sdk, m, c)
	return true
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
