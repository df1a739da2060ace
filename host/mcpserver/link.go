package mcpserver

//lint:file-ignore SA1019 clients of the older versions use what newer ones deprecate

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// link is one client's connection as the SDK has it, with what the SDK does not do: nothing is answered after a
// cancel (R36), requests to the client are raw, and a tools/call keeps its bytes.
type link struct {
	mcp.Connection // of the transport; nil for a modern HTTP request, whose connection is the SDK's own

	caller  host.Caller
	params  json.RawMessage // of a modern HTTP request; nil: as carry left them
	canAsk  bool            // a legacy client that can be reached
	discard func(resp *jsonrpc.Response, c *inflight)

	mu      sync.Mutex
	calls   map[jsonrpc.ID]*inflight // that are not answered
	batched map[jsonrpc.ID]bool      // of them, those that came in a batch over HTTP: the batch is answered as a whole
	asks    map[string]chan *jsonrpc.Response
	life    context.Context // ends when the client has gone
	end     context.CancelFunc
	asked   int
	level   string // of logging/setLevel; empty: none
}

// inflight is a call that is not answered yet.
type inflight struct {
	method      string
	cancelled   bool
	closeStream func(mcp.CloseSSEStreamArgs) // nil: there is no stream to close
	cancel      context.CancelFunc           // of a call that does not go through the SDK; else nil
}

func newLink(caller host.Caller) *link {
	l := &link{caller: caller, calls: map[jsonrpc.ID]*inflight{}, batched: map[jsonrpc.ID]bool{}, asks: map[string]chan *jsonrpc.Response{}}
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

type linkKey struct{}

// within returns a context for everything that the link carries.
func (l *link) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, linkKey{}, l)
}

// linkOf returns the link that a request came over.
func linkOf(ctx context.Context) *link {
	l, _ := ctx.Value(linkKey{}).(*link)
	return l
}

// hangup ends the connection: running calls are cancelled, and nothing more is read or written. It may be called more
// than once.
func (l *link) hangup() {
	l.end()
	if l.Connection != nil {
		l.Connection.Close()
	}
}

// Read returns the next message for the SDK.
func (l *link) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if l.life.Err() != nil {
			return nil, io.EOF
		}
		msg, err := l.Connection.Read(ctx)
		if err != nil {
			return nil, err
		}
		switch msg := msg.(type) {
		case *jsonrpc.Response:
			if l.answered(msg) {
				continue
			}
		case *jsonrpc.Request:
			l.arrived(msg)
		}
		return msg, nil
	}
}

// Write sends a message of the SDK.
func (l *link) Write(ctx context.Context, msg jsonrpc.Message) error {
	resp, ok := msg.(*jsonrpc.Response)
	if !ok {
		return l.Connection.Write(ctx, msg)
	}
	l.mu.Lock()
	c := l.calls[resp.ID]
	delete(l.calls, resp.ID)
	drop := c != nil && c.cancelled && !l.batched[resp.ID]
	delete(l.batched, resp.ID)
	l.mu.Unlock()
	if drop {
		l.discard(resp, c)
		return nil
	}
	return l.Connection.Write(ctx, msg)
}

// arrived notes a request, and what a notification says about another one.
func (l *link) arrived(req *jsonrpc.Request) {
	if req.Method == "notifications/cancelled" {
		var p struct {
			ID any `json:"requestId"`
		}
		if json.Unmarshal(req.Params, &p) != nil {
			return
		}
		id, err := jsonrpc.MakeID(p.ID)
		if err != nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if c := l.calls[id]; c != nil && c.method != "initialize" {
			c.cancelled = true
			if c.cancel != nil {
				c.cancel()
			}
		}
		return
	}
	if !req.IsCall() {
		return
	}
	c := &inflight{method: req.Method}
	if extra, ok := req.Extra.(*mcp.RequestExtra); ok && extra != nil {
		c.closeStream = extra.CloseSSEStream
	}
	l.mu.Lock()
	if l.calls[req.ID] == nil { // a second one of the same id is refused, and the first one answered
		l.calls[req.ID] = c
	}
	l.mu.Unlock()
	if req.Method == "tools/call" {
		req.Params = carry(req.Params)
	}
}

// begin notes a call that does not go through the SDK. It reports whether none with its id runs.
func (l *link) begin(id jsonrpc.ID, c *inflight) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[id] != nil {
		return false
	}
	l.calls[id] = c
	return true
}

// done notes that such a call has ended.
func (l *link) done(id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, id)
}

// direct reports whether one of these calls is running and does not go through the SDK.
func (l *link) direct(ids []jsonrpc.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(ids, func(id jsonrpc.ID) bool {
		c := l.calls[id]
		return c != nil && c.cancel != nil
	})
}

// open is how many calls are not answered.
func (l *link) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.calls)
}

// batch notes calls that arrive in one batch.
func (l *link) batch(ids []jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		l.batched[id] = true
	}
}

// carry makes the params of a tools/call travel through the SDK as its arguments, so that nothing of them is lost.
func carry(params json.RawMessage) json.RawMessage {
	m, ok := rawjson.ParseObject(params)
	if !ok {
		return params
	}
	w := rawjson.Object{{"name", json.RawMessage(`""`)}, {"arguments", params}}
	if meta := m.Get("_meta"); meta != nil {
		w = append(w, rawjson.Member{"_meta", meta})
	}
	return w.Raw()
}

// sender sends a notification or a request to the client that belongs to one of the client's.
type sender func(*jsonrpc.Request) error

// sender sends what belongs to the request of ctx.
func (l *link) sender(ctx context.Context, ss *mcp.ServerSession) sender {
	return func(msg *jsonrpc.Request) error {
		if l.Connection == nil {
			notifyModern(ctx, ss, msg.Method, msg.Params)
			return nil
		}
		if !msg.IsCall() { // it may say that ctx has ended, and does not wait
			return l.Connection.Write(context.WithoutCancel(ctx), msg)
		}
		return l.Connection.Write(ctx, msg)
	}
}

// notify sends a notification. What cannot be sent is dropped.
func (send sender) notify(method string, params any) {
	_ = send(&jsonrpc.Request{Method: method, Params: rawjson.Encode(params)}) // nobody is there to be told
}

// notifyModern sends a notification over a connection of the SDK's own.
func notifyModern(ctx context.Context, ss *mcp.ServerSession, method string, raw json.RawMessage) {
	switch method {
	case "notifications/progress":
		var p struct {
			Token           json.RawMessage `json:"progressToken"`
			Progress, Total float64
			Message         string
		}
		if json.Unmarshal(raw, &p) == nil {
			_ = ss.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: p.Token, Progress: p.Progress, Total: p.Total, Message: p.Message})
		}
	case "notifications/message":
		var p struct {
			Level  mcp.LoggingLevel
			Logger string
			Data   json.RawMessage
		}
		if json.Unmarshal(raw, &p) == nil {
			_ = ss.Log(ctx, &mcp.LoggingMessageParams{Level: p.Level, Logger: p.Logger, Data: p.Data})
		}
	}
}

// ask puts a request to the client, and waits for the answer. The error is a *rpcError if the client answered one.
func (l *link) ask(ctx context.Context, send sender, method string, params json.RawMessage) (json.RawMessage, error) {
	answer := make(chan *jsonrpc.Response, 1)
	l.mu.Lock()
	l.asked++
	key := fmt.Sprintf("ask-%d", l.asked)
	l.asks[key] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.asks, key)
		l.mu.Unlock()
	}()
	id, err := jsonrpc.MakeID(key)
	if err != nil {
		return nil, err
	}
	if err := send(&jsonrpc.Request{ID: id, Method: method, Params: params}); err != nil {
		return nil, fmt.Errorf("%s: the client cannot be reached: %w", method, err)
	}
	select {
	case resp := <-answer:
		if resp.Error != nil {
			return nil, asError(resp.Error)
		}
		return resp.Result, nil
	case <-l.life.Done():
		return nil, fmt.Errorf("%s: the client has gone", method)
	case <-ctx.Done():
		send.notify("notifications/cancelled", map[string]any{"requestId": key, "reason": ctx.Err().Error()})
		return nil, ctx.Err()
	}
}

// answered takes the answer to a request of ask. It reports whether it was one.
func (l *link) answered(resp *jsonrpc.Response) bool {
	key, _ := resp.ID.Raw().(string)
	l.mu.Lock()
	defer l.mu.Unlock()
	answer, ok := l.asks[key]
	if ok {
		delete(l.asks, key)
		answer <- resp
	}
	return ok || strings.HasPrefix(key, "ask-")
}

// setLevel notes from which level on the client wants log messages.
func (l *link) setLevel(level string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.level = level
}

// logLevel is what setLevel was given; empty: nothing.
func (l *link) logLevel() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.level
}
