package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
)

// exchange is the response to a tools/call over HTTP that is made directly: JSON, if the answer is all there is to say, and else a
// stream of events of which the answer is the last.
type exchange struct {
	w *stream

	mu     sync.Mutex
	events bool // the response is a stream of events
	over   bool
	gone   bool // the client has
}

// Errors of what is said after the answer, or to nobody.
var (
	errOver = errors.New("the call was answered")
	errGone = errors.New("the client has gone")
)

// send sends a notification or a request that belongs to the call.
func (e *exchange) send(msg *jsonrpc.Request) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.over:
		return errOver
	case e.gone:
		return errGone
	}
	return e.event(data)
}

// leave notes that the client has gone.
func (e *exchange) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.gone = true
}

func (e *exchange) event(data []byte) error {
	e.begin("text/event-stream")
	e.events = true
	b := make([]byte, 0, len(data)+len("event: message\ndata: \n\n"))
	b = append(append(append(b, "event: message\ndata: "...), data...), "\n\n"...)
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	_ = e.w.FlushError() // who cannot be reached has gone
	return nil
}

func (e *exchange) begin(contentType string) {
	if !e.events {
		e.w.Header().Set("Content-Type", contentType)
		e.w.Header().Set("Cache-Control", "no-cache, no-transform")
	}
}

// end answers, and lets nothing more be said. A nil answer is none: the response ends without one.
func (e *exchange) end(status int, answer []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	switch {
	case e.events && answer != nil:
		_ = e.event(answer) // the client has gone
	case e.events:
	case answer != nil:
		e.begin("application/json")
		e.w.WriteHeader(status)
		_, _ = e.w.Write(answer) // the client has gone
	default:
		e.begin("text/event-stream")
		e.w.WriteHeader(http.StatusOK)
	}
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
	if len(msgs) != 1 || m.method != "tools/call" || !m.isCall() || !plainly(r.Header) {
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
