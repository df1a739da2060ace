package mcpserver

//lint:file-ignore SA1019 clients of the older versions use what newer ones deprecate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// newSDK makes the SDK's server, of which only the protocol is used: what tools there are and what a call does is decided here.
func (s *Server) newSDK() *mcp.Server {
	sdk := mcp.NewServer(&mcp.Implementation{Name: s.cfg.Name, Version: s.cfg.Version}, &mcp.ServerOptions{
		Instructions: s.cfg.Instructions,
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{ListChanged: true},
			Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{}}, // receiveEmpty
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
	})
	sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			defer func() { // R43
				if p := recover(); p != nil {
					s.log.Error("a request made the server panic", "method", method, "panic", p, "stack", string(debug.Stack()))
					res, err = nil, &jsonrpc.Error{Code: codeInternal, Message: "internal error"}
				}
			}()
			return s.receive(ctx, method, req, next)
		}
	})
	return sdk
}

// receive handles one request or notification.
func (s *Server) receive(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	switch method {
	case "tools/list":
		if r, ok := req.(*mcp.ListToolsRequest); ok {
			return s.receiveList(ctx, r)
		}
	case "tools/call":
		if r, ok := req.(*mcp.CallToolRequest); ok {
			return s.receiveCall(ctx, r)
		}
	case "subscriptions/listen":
		if l := linkOf(ctx); l != nil {
			s.told(l.caller, s.listing(l.caller))
		}
	case "logging/setLevel":
		if p, ok := req.GetParams().(*mcp.SetLoggingLevelParams); ok && p != nil {
			if _, known := threshold(string(p.Level)); !known {
				return nil, &jsonrpc.Error{Code: codeInvalidParams, Message: "logging/setLevel: there is no level " + strconv.Quote(string(p.Level))}
			}
			if l := linkOf(ctx); l != nil {
				l.setLevel(string(p.Level))
			}
		}
	case "prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read":
		return s.receiveEmpty(method, req)
	case "resources/subscribe", "resources/unsubscribe", "completion/complete":
		return nil, &jsonrpc.Error{Code: codeNoMethod, Message: method + ": this server has tools only"}
	}
	return next(ctx, method, req)
}

// receiveCall makes a tools/call.
func (s *Server) receiveCall(ctx context.Context, req *mcp.CallToolRequest) (mcp.Result, error) {
	l := linkOf(ctx)
	if l == nil || req.Params == nil {
		return nil, &jsonrpc.Error{Code: codeInternal, Message: "internal error"}
	}
	params := l.params
	if params == nil {
		params = req.Params.Arguments // link.arrived put them there
	}
	c, fault := readCall(params)
	if fault != nil {
		return nil, wireError(fault)
	}
	if c.meta.era() == project.Modern {
		s.introduced.accept(c.meta)
	}
	r, fault := newRequest(l, req.Session, c, l.sender(ctx, req.Session))
	if fault != nil {
		return nil, wireError(fault)
	}
	result, fault := s.serve(ctx, r)
	if fault != nil {
		return nil, wireError(fault)
	}
	return &rawResult{raw: result}, nil
}

// newRequest makes the request of a tools/call. A session is needed by legacy clients only.
func newRequest(l *link, ss *mcp.ServerSession, c callParams, send sender) (request, *rpcError) {
	bad := func(what string) (request, *rpcError) {
		return request{}, &rpcError{code: codeInvalidParams, message: "tools/call: " + what}
	}
	r := request{caller: l.caller, era: c.meta.era(), name: c.name, meta: c.meta}
	if a := c.Get("arguments"); a != nil && string(a) != "null" {
		r.arguments = a
	}
	if a := c.Get("inputResponses"); a != nil && json.Unmarshal(a, &r.answers) != nil {
		return bad("inputResponses is no object")
	}
	if st := c.Get("requestState"); st != nil && json.Unmarshal(st, &r.state) != nil {
		return bad("requestState is no text")
	}
	if r.era == project.Modern {
		r.can = declared(c.meta.get("io.modelcontextprotocol/clientCapabilities"))
	} else if p := ss.InitializeParams(); p != nil && p.Capabilities != nil {
		r.can = legacyCapabilities(p.Capabilities)
	}
	if r.era == project.Legacy {
		r.level = l.logLevel()
	}
	r.notify = send.notify
	if r.era == project.Legacy && l.canAsk {
		r.ask = func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
			return l.ask(ctx, send, method, params)
		}
	}
	return r, nil
}

// eraOfRequest says how a client speaks that sent a request, as the SDK has read it.
func eraOfRequest(req mcp.Request) project.Era {
	if p := req.GetParams(); p != nil && !reflect.ValueOf(p).IsNil() { // without params it is a nil pointer
		if v, _ := p.GetMeta()[mcp.MetaKeyProtocolVersion].(string); v >= firstModern {
			return project.Modern
		}
	}
	return project.Legacy
}

// declared reads the capabilities that a modern client declares with a request.
func declared(raw json.RawMessage) capabilities {
	m, _ := rawjson.ParseObject(raw)
	c := capabilities{sampling: rawjson.Kind(m.Get("sampling")) == '{', roots: rawjson.Kind(m.Get("roots")) == '{'}
	if e, ok := rawjson.ParseObject(m.Get("elicitation")); ok {
		c.url = rawjson.Kind(e.Get("url")) == '{'
		c.form = rawjson.Kind(e.Get("form")) == '{' || !c.url // an empty object has always meant forms
	}
	return c
}

// legacyCapabilities are what a client declared in the handshake.
func legacyCapabilities(p *mcp.ClientCapabilities) capabilities {
	c := capabilities{sampling: p.Sampling != nil, roots: p.RootsV2 != nil}
	if e := p.Elicitation; e != nil {
		c.url = e.URL != nil
		c.form = e.Form != nil || !c.url
	}
	return c
}

// rawResult is a result whose bytes are ours.
type rawResult struct {
	mcp.ResultBase
	raw json.RawMessage
}

// MarshalJSON returns the bytes.
func (r *rawResult) MarshalJSON() ([]byte, error) { return r.raw, nil }

// GetMeta says that the SDK has nothing to add: finish did.
func (r *rawResult) GetMeta() map[string]any { return map[string]any{mcp.MetaKeyServerInfo: nil} }

// SetMeta does nothing.
func (r *rawResult) SetMeta(map[string]any) {}

// finish adds what every result of the era has.
func (s *Server) finish(result json.RawMessage, e project.Era) json.RawMessage {
	if e == project.Legacy {
		return result
	}
	m, ok := rawjson.ParseObject(result)
	if !ok {
		return result
	}
	if m.Get("resultType") == nil {
		m.Set("resultType", rawjson.Quote("complete"))
	}
	meta, _ := rawjson.ParseObject(m.Get("_meta"))
	if meta.Get(mcp.MetaKeyServerInfo) == nil {
		meta.Set(mcp.MetaKeyServerInfo, s.info)
		m.Set("_meta", meta.Raw())
	}
	return m.Raw()
}

// wireError is an error as the SDK sends it.
func wireError(e *rpcError) *jsonrpc.Error {
	return &jsonrpc.Error{Code: int64(e.code), Message: e.message, Data: e.data}
}

// asError is an error that a client answered.
func asError(err error) error {
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("the client answered: %w", err)
	}
	return &rpcError{code: int(e.Code), message: e.Message, data: e.Data}
}
