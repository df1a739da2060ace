package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// The headers of the protocol.
const (
	sessionHeader = "Mcp-Session-Id"
	versionHeader = "Mcp-Protocol-Version"
)

// Handler serves clients over streamable HTTP, in both eras on one path, which is the caller's to choose. Handlers of one Server
// share its sessions. Requests of foreign origins and hosts are answered with 403 (R41, R42), those without a valid token,
// if Config.Verify is set, with 401.
//
// An http.Server around it should have a ReadHeaderTimeout (10 s) and an IdleTimeout (2 min), and no ReadTimeout and no
// WriteTimeout: streams stay open, and a client that does not read is given up after 30 s by the handler itself.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serveHTTP) }

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if s.life.Err() != nil {
		refuse(w, http.StatusServiceUnavailable, "the server is closed")
		return
	}
	if !s.guard(w, r) {
		return
	}
	caller, ok := s.authenticate(w, r)
	if !ok {
		return
	}
	st := newStream(w)
	switch r.Method {
	case http.MethodPost:
		s.servePost(st, r, caller)
	case http.MethodGet:
		s.serveGet(st, r, caller)
	case http.MethodDelete:
		s.serveDelete(st, r, caller)
	default:
		st.Header().Set("Allow", "GET, POST, DELETE")
		refuse(st, http.StatusMethodNotAllowed, "the method is not GET, POST or DELETE")
	}
}

// refuse answers a request that is not JSON-RPC's matter.
func refuse(w http.ResponseWriter, status int, why string) { http.Error(w, why, status) }

// respond sends one JSON-RPC response.
func respond(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client has gone
}

// serveDelete ends a session.
func (s *Server) serveDelete(w http.ResponseWriter, r *http.Request, caller host.Caller) {
	x := s.sessionOf(w, r, caller)
	if x == nil {
		return
	}
	s.endSession(x)
	w.WriteHeader(http.StatusNoContent)
}

// serveGet opens the stream of a session for what belongs to no request.
func (s *Server) serveGet(w *stream, r *http.Request, caller host.Caller) {
	if r.Header.Get(sessionHeader) == "" {
		w.Header().Set("Allow", "POST")
		refuse(w, http.StatusMethodNotAllowed, "there is no stream without a session: "+sessionHeader+" is missing")
		return
	}
	if !accepts(r, "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, "Accept must have text/event-stream")
		return
	}
	x := s.sessionOf(w, r, caller)
	if x == nil {
		return
	}
	defer x.release()
	s.stream(w, r, x.transport.ServeHTTP) // it ends with the session
}

// sessionOf finds the session that a request names, or answers that there is none.
func (s *Server) sessionOf(w http.ResponseWriter, r *http.Request, caller host.Caller) *session {
	id := r.Header.Get(sessionHeader)
	if id == "" {
		respond(w, http.StatusBadRequest, answerError(nil, &rpcError{code: codeInvalidRequest,
			message: "invalid request: there is no " + sessionHeader + ": call initialize first, or speak " + firstModern}))
		return nil
	}
	x := s.findSession(id, caller)
	if x == nil {
		respond(w, http.StatusNotFound, answerError(nil, &rpcError{code: codeInvalidRequest, message: "session not found: call initialize for a new one"}))
	}
	return x
}

// stream serves a response that may stay open: it is kept alive while it does, and ends with the server.
func (s *Server) stream(w *stream, r *http.Request, serve func(http.ResponseWriter, *http.Request)) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	defer w.beat(s.cfg.KeepAlive)()
	serve(w, r.WithContext(ctx))
}

// servePost takes messages.
func (s *Server) servePost(w *stream, r *http.Request, caller host.Caller) {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "Content-Type must be application/json")
		return
	}
	if !accepts(r, "application/json") || !accepts(r, "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, "Accept must have application/json and text/event-stream")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w.w, r.Body, int64(s.cfg.Message)))
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the message has more than %d bytes: send less, or give a path", big.Limit))
		return
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "the message cannot be read")
		return
	}
	msgs, batch, fault := parse(body)
	if fault != nil {
		respond(w, http.StatusBadRequest, answerError(nil, fault))
		return
	}
	for _, m := range msgs {
		if m.fault == nil && !exactID(m.id) {
			m.fault = &rpcError{code: codeInvalidRequest, message: "invalid request: id is an integer of more than 53 bits: send a string"}
		}
		if m.fault != nil {
			respond(w, http.StatusBadRequest, answerError(m.id, m.fault))
			return
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if isModern(r, msgs) {
		s.postModern(w, r, caller, msgs, batch)
		return
	}
	s.postLegacy(w, r, caller, msgs, batch)
}

// exactID reports whether the SDK, which makes a float64 of a number, answers under the id that the client sent.
func exactID(id json.RawMessage) bool {
	if id == nil || id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n <= 1<<53 && n >= -1<<53 && string(id) != "-0"
}

// isModern says which era a request belongs to: it says a modern version, in header or body, or asks for what only that era has.
func isModern(r *http.Request, msgs []message) bool {
	if v := r.Header.Get(versionHeader); v != "" {
		return v >= firstModern
	}
	for _, m := range msgs {
		if m.method == "server/discover" || m.version() >= firstModern {
			return true
		}
	}
	return false
}

// postLegacy serves a request of a session, or opens one.
func (s *Server) postLegacy(w *stream, r *http.Request, caller host.Caller, msgs []message, batch bool) {
	version := r.Header.Get(versionHeader)
	fault := legacyFault(version, msgs, batch, r.Header.Get(sessionHeader) != "")
	if fault != nil {
		respond(w, http.StatusBadRequest, answerError(nil, fault))
		return
	}
	var x *session
	if r.Header.Get(sessionHeader) == "" && slices.ContainsFunc(msgs, func(m message) bool { return m.method == "initialize" }) {
		var err error
		if x, err = s.openSession(r.Context(), caller); err != nil {
			s.full(w, err)
			return
		}
		defer func() {
			if x.sdk.InitializeParams() == nil { // the handshake did not work
				s.endSession(x)
			}
		}()
	} else if x = s.sessionOf(w, r, caller); x == nil {
		return
	}
	defer x.release()
	if len(msgs) == 1 && msgs[0].isCall() {
		if fault := callFault(msgs[0]); fault != nil {
			respond(w, http.StatusOK, answerError(msgs[0].id, fault))
			return
		}
	}
	if x.link.open()+len(msgs) > maxOpen+1 {
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("busy: %d calls of this session are not answered yet", maxOpen))
		return
	}
	if s.callOverSession(w, r, x, msgs) {
		return
	}
	ids := idsOf(msgs)
	if x.link.direct(ids) {
		respond(w, http.StatusBadRequest, answerError(nil, &rpcError{code: codeInvalidRequest, message: "invalid request: a call with this id is running"}))
		return
	}
	if batch {
		x.link.batch(ids)
	}
	s.stream(w, r, x.transport.ServeHTTP) // it ends with the session
}

// legacyFault says what is wrong with a request as a whole.
func legacyFault(version string, msgs []message, batch, inSession bool) *rpcError {
	if version != "" && !slices.Contains(versions(), version) {
		return &rpcError{code: codeInvalidRequest, message: "invalid request: there is no protocol version " + version + ": " + strings.Join(versions(), ", ") + " are spoken"}
	}
	if batch && version >= "2025-06-18" {
		return &rpcError{code: codeInvalidRequest, message: "invalid request: protocol version " + version + " has no batches"}
	}
	for _, m := range msgs {
		if m.method == "initialize" && inSession {
			return &rpcError{code: codeInvalidRequest, message: "invalid request: the session has had its initialize: for a new one, leave " + sessionHeader + " out"}
		}
		if batch && m.method == "initialize" {
			return &rpcError{code: codeInvalidRequest, message: "invalid request: initialize comes alone"}
		}
	}
	return nil
}

// callFault says why a legacy call cannot be handed to the SDK, which would answer with text and a bad status.
func callFault(m message) *rpcError {
	switch m.method {
	case "initialize", "logging/setLevel", "tools/call", "prompts/get", "resources/read":
		if m.params == nil {
			return &rpcError{code: codeInvalidParams, message: m.method + ": params is missing"}
		}
	case "ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list":
	default:
		return &rpcError{code: codeNoMethod, message: "there is no method " + m.method + " here: this server has tools only"}
	}
	return nil
}

func idsOf(msgs []message) (ids []jsonrpc.ID) {
	for _, m := range msgs {
		var v any
		if m.isCall() && json.Unmarshal(m.id, &v) == nil {
			if id, err := jsonrpc.MakeID(v); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// full answers that no more clients can be served now.
func (s *Server) full(w http.ResponseWriter, err error) {
	s.log.Warn("an HTTP client is turned away", "error", err, "limit", s.cfg.Sessions)
	w.Header().Set("Retry-After", "5")
	refuse(w, http.StatusServiceUnavailable, err.Error()+": try again later")
}

// postModern serves a request of the modern era, which stands alone.
func (s *Server) postModern(w *stream, r *http.Request, caller host.Caller, msgs []message, batch bool) {
	if batch {
		respond(w, http.StatusBadRequest, answerError(nil, &rpcError{code: codeInvalidRequest, message: "invalid request: protocol version " + firstModern + " has no batches"}))
		return
	}
	m := msgs[0]
	var params json.RawMessage
	switch m.method {
	case "tools/call":
		params = m.params
		c, direct := s.direct(m.params, nil)
		if fault := s.headerFault(r.Header, caller, c); fault != nil {
			respond(w, http.StatusBadRequest, answerError(m.id, fault))
			return
		}
		if direct && m.isCall() && m.plain && saysSo(r.Header, c) {
			ctx, cancel := context.WithCancel(r.Context()) // R35
			defer cancel()
			defer context.AfterFunc(s.life, cancel)()
			s.callDirectly(ctx, &exchange{w: w}, &link{caller: caller}, nil, m, c)
			return
		}
		if body := withoutAnswers(m); body != nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
	case "subscriptions/listen":
		done, err := s.sessions.listenOn(s.cfg.Sessions)
		if err != nil {
			s.full(w, err)
			return
		}
		defer done()
		defer s.present(caller)()
	}
	l := newLink(caller)
	l.params = params
	s.stream(w, r, func(w http.ResponseWriter, r *http.Request) {
		s.modern.ServeHTTP(w, r.WithContext(l.within(r.Context())))
	})
}

// withoutAnswers is the message without what the SDK would decode in its own way, and we have as it came; nil if
// there is nothing of the kind.
func withoutAnswers(m message) []byte {
	params, ok := rawjson.ParseObject(m.params)
	if !ok || params.Get("inputResponses") == nil && params.Get("requestState") == nil {
		return nil
	}
	params = slices.DeleteFunc(params, func(x rawjson.Member) bool { return x.Name == "inputResponses" || x.Name == "requestState" })
	msg, _ := rawjson.ParseObject(m.raw)
	msg.Set("params", params.Raw())
	return msg.Raw()
}

// accepts reports whether a client takes a media type. One that says nothing takes everything.
func accepts(r *http.Request, want string) bool {
	all := r.Header.Values("Accept")
	if len(all) == 0 {
		return true
	}
	family, _, _ := strings.Cut(want, "/")
	for _, t := range strings.Split(strings.Join(all, ","), ",") {
		t, _, _ = strings.Cut(t, ";")
		switch strings.ToLower(strings.TrimSpace(t)) {
		case want, family + "/*", "*/*":
			return true
		}
	}
	return false
}

// newModern makes the SDK's handler for the modern era.
func newModern(sdk *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return sdk }, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		DisableLocalhostProtection:   true, // guard does it
		MaxRequestBodyBytes:          -1,   // servePost has read the body
		PropagateRequestCancellation: true, // R35
	})
}
