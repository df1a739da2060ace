package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// pipe is the connection over two streams of lines. The SDK sees numbers of the pipe's own in place of the client's ids,
// which are written as they came.
type pipe struct {
	in    io.Reader
	out   io.Writer
	limit int
	log   *slog.Logger

	// direct looks at the params of a tools/call, and returns what makes the call if it need not go through the SDK; else nil. It is set
	// before anything is read.
	direct func(params json.RawMessage) func(context.Context) (json.RawMessage, *rpcError)
	run    func(func())    // runs one on a goroutine of its own
	life   context.Context // of calls that are made directly; ends with Close
	end    context.CancelFunc
	work   sync.WaitGroup // calls that are made directly, none of which begins after Close

	incoming chan jsonrpc.Message
	outgoing chan []byte
	done     chan struct{} // closed by Close
	over     chan struct{} // closed when the input has ended and calls had their time
	idle     chan struct{} // has an element when the last call was answered

	mu     sync.Mutex
	seq    int64
	calls  map[int64]*pipeCall
	byID   map[string]int64 // the client's id, as it is written
	late   int              // answers that wait for room in outgoing
	unread int              // bytes of what waits to be written, also of batches that are not complete
	plain  bool             // the version that was agreed on has no batches
	clogs  bool             // the client does not read
	err    error            // of out
	once   sync.Once
}

// maxOpen is how many calls of a connection may be unanswered: to one more, the answer is an error. So what a client that does not read
// keeps here has an end: over stdio, as many answers again may wait to be written.
const maxOpen = 256

// maxUnread is how many bytes may wait to be written: an answer that is more, beside others, is dropped, and an error sent in its place.
// From half of it on, a new call is answered with an error.
const maxUnread = 256 << 20

// clogTime is how long an error waits for a client that does not read. Then it and those after it are dropped until the client reads
// again: the end of the input must be seen (R29).
const clogTime = 500 * time.Millisecond

// pipeCall is a call that is not answered yet.
type pipeCall struct {
	id     json.RawMessage
	method string
	group  *batch // nil: it came alone

	cancel    context.CancelFunc // of a call that is made directly; else nil
	cancelled bool               // it was: nothing is answered (R36)
}

// batch collects the answers to a batch.
type batch struct {
	left    int
	answers []json.RawMessage
}

func newPipe(ctx context.Context, in io.Reader, out io.Writer, limit int, log *slog.Logger) *pipe {
	life, end := context.WithCancel(ctx)
	return &pipe{in: in, out: out, limit: limit, log: log, life: life, end: end, incoming: make(chan jsonrpc.Message), outgoing: make(chan []byte, outQueue),
		done: make(chan struct{}), over: make(chan struct{}), idle: make(chan struct{}, 1), calls: map[int64]*pipeCall{}, byID: map[string]int64{}}
}

// SessionID is empty: there is one session.
func (p *pipe) SessionID() string { return "" }

// Close ends reading and, after what is queued, writing.
func (p *pipe) Close() error {
	p.once.Do(func() {
		p.mu.Lock()
		close(p.done)
		p.mu.Unlock()
		p.end()
		if c, ok := p.in.(io.Closer); ok {
			c.Close()
		}
	})
	return nil
}

func (p *pipe) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Read returns the next message.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, ok := <-p.incoming:
		if !ok {
			return nil, io.EOF
		}
		return msg, nil
	case <-p.done:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write queues a message. A notification that finds the queue full is dropped, since nobody reads.
func (p *pipe) Write(ctx context.Context, msg jsonrpc.Message) error {
	switch msg := msg.(type) {
	case *jsonrpc.Response:
		return p.answer(ctx, msg)
	case *jsonrpc.Request:
		data, err := jsonrpc.EncodeMessage(&jsonrpc.Request{ID: msg.ID, Method: msg.Method, Params: p.subscribed(msg.Params)})
		if err != nil {
			return err
		}
		p.count(len(data))
		if msg.IsCall() {
			return p.queue(ctx, data)
		}
		select {
		case p.outgoing <- data:
		default:
			p.count(-len(data))
			p.log.Warn("a notification is dropped: the client does not read", "method", msg.Method)
		}
	}
	return nil
}

// queue waits for room. What it is given is counted in unread.
func (p *pipe) queue(ctx context.Context, data []byte) error {
	select {
	case p.outgoing <- data:
		return nil
	case <-p.done:
		p.count(-len(data))
		return io.ErrClosedPipe
	case <-ctx.Done():
		p.count(-len(data))
		return ctx.Err()
	}
}

// count adds to unread.
func (p *pipe) count(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unread += bytes
}

// counted is an answer to c that is counted in unread, or the error that takes its place.
func (p *pipe) counted(c *pipeCall, data []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unread > 0 && p.unread+len(data) > maxUnread {
		data = answerError(c.id, &rpcError{code: codeInternal, message: fmt.Sprintf("the answer of %d bytes was dropped: %d bytes of answers wait to be read, and %d may", len(data), p.unread, maxUnread)})
	}
	p.unread += len(data)
	return data
}

// writeLines writes what is queued, until the pipe is closed and the queue empty.
func (p *pipe) writeLines() {
	for {
		select {
		case data := <-p.outgoing:
			p.writeLine(data)
		case <-p.done:
			for {
				select {
				case data := <-p.outgoing:
					p.writeLine(data)
				default:
					return
				}
			}
		}
	}
}

// together is up to how many bytes lines that wait are written at once.
const together = 64 << 10

// writeLine writes a line, and with it those that wait.
func (p *pipe) writeLine(data []byte) {
	if p.failure() != nil {
		return
	}
	lines := 1
	data = append(data, '\n')
	for more := true; more && len(data) < together; {
		select {
		case next := <-p.outgoing:
			lines++
			data = append(append(data, next...), '\n')
		default:
			more = false
		}
	}
	_, err := p.out.Write(data)
	p.mu.Lock()
	p.err, p.clogs, p.unread = err, false, p.unread-(len(data)-lines)
	p.mu.Unlock()
	if err != nil {
		p.Close()
	}
}

// answer sends an answer under the client's id.
func (p *pipe) answer(ctx context.Context, resp *jsonrpc.Response) error {
	n, _ := resp.ID.Raw().(int64)
	c := p.take(n)
	if c == nil {
		return nil
	}
	defer p.settled()
	var data []byte
	var e *jsonrpc.Error
	switch {
	case resp.Error == nil:
		result := resp.Result
		if c.method == "subscriptions/listen" {
			result = renamed(result, c.id)
		}
		data = answerResult(c.id, result)
		if c.method == "initialize" {
			p.agreed(resp.Result)
		}
	case errors.As(resp.Error, &e):
		code := int(e.Code)
		if code == 0 {
			code = codeInvalidRequest // such as a call before the handshake
		}
		data = answerError(c.id, &rpcError{code: code, message: resp.Error.Error(), data: e.Data})
	default:
		data = answerError(c.id, &rpcError{code: codeInvalidRequest, message: resp.Error.Error()})
	}
	return p.send(ctx, c, data)
}

// send sends an answer, in its batch if the call came in one. A nil answer is none.
func (p *pipe) send(ctx context.Context, c *pipeCall, data []byte) error {
	if data != nil {
		data = p.counted(c, data)
	}
	switch {
	case c.group != nil:
		return p.collect(ctx, c.group, data)
	case data != nil:
		return p.queue(ctx, data)
	}
	return nil
}

// forget takes a call out that is not answered, since it was cancelled.
func (p *pipe) forget(n int64) {
	if c := p.take(n); c != nil {
		defer p.settled()
		_ = p.send(p.life, c, nil)
	}
}

// make makes a call directly, and answers it.
func (p *pipe) make(ctx context.Context, n int64, call func(context.Context) (json.RawMessage, *rpcError)) {
	result, fault := call(ctx)
	c := p.take(n)
	defer p.settled()
	var data []byte
	switch {
	case c.cancelled, fault != nil && ctx.Err() != nil: // nobody waits for an answer
	case fault != nil:
		data = answerError(c.id, fault)
	default:
		data = answerResult(c.id, result)
	}
	_ = p.send(p.life, c, data) // a pipe that is closed has nobody to be told
}

// take removes a call, which settled has to follow when its answer is queued.
func (p *pipe) take(n int64) *pipeCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.calls[n]
	if c != nil {
		delete(p.calls, n)
		delete(p.byID, string(c.id))
		p.late++
	}
	return c
}

// settled tells that there is a call less.
func (p *pipe) settled() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late--
	if p.idleLocked() {
		select {
		case p.idle <- struct{}{}:
		default:
		}
	}
}

// idleLocked reports whether nothing runs that will be answered by itself, and no answer waits.
func (p *pipe) idleLocked() bool {
	if p.late > 0 {
		return false
	}
	for _, c := range p.calls {
		if c.method != "subscriptions/listen" {
			return false
		}
	}
	return true
}

// collect adds an answer to its batch and sends the batch when it is complete. A nil answer is none.
func (p *pipe) collect(ctx context.Context, b *batch, data []byte) error {
	p.mu.Lock()
	b.left--
	if data != nil {
		b.answers = append(b.answers, data)
	}
	done := b.left == 0 && len(b.answers) > 0
	p.mu.Unlock()
	if !done {
		return nil
	}
	whole := rawjson.Encode(b.answers)
	around := len(whole)
	for _, a := range b.answers {
		around -= len(a)
	}
	p.count(around)
	return p.queue(ctx, whole)
}

// agreed notes what the version that was agreed on allows.
func (p *pipe) agreed(result json.RawMessage) {
	var r struct {
		Version string `json:"protocolVersion"`
	}
	_ = json.Unmarshal(result, &r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plain = r.Version >= "2025-06-18"
}

// subscribed puts the client's id in place of the pipe's number where a notification says which subscription it is of.
func (p *pipe) subscribed(params json.RawMessage) json.RawMessage {
	if !bytes.Contains(params, []byte(mcp.MetaKeySubscriptionID)) {
		return params
	}
	var n int64
	o, _ := rawjson.ParseObject(params)
	if json.Unmarshal(readMeta(o.Get("_meta")).get(mcp.MetaKeySubscriptionID), &n) != nil {
		return params
	}
	p.mu.Lock()
	c := p.calls[n]
	p.mu.Unlock()
	if c == nil || c.method != "subscriptions/listen" {
		return params
	}
	return renamed(params, c.id)
}

// renamed is an object whose _meta names a subscription by another id.
func renamed(raw, id json.RawMessage) json.RawMessage {
	o, ok := rawjson.ParseObject(raw)
	meta, isObject := rawjson.ParseObject(o.Get("_meta"))
	if !ok || !isObject {
		return raw
	}
	meta.Set(mcp.MetaKeySubscriptionID, id)
	o.Set("_meta", meta.Raw())
	return o.Raw()
}
