package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/runes"
)

// link carries the messages of one connection.
type link interface {
	// start begins to give what comes to p.
	start(p *peer)
	// send passes a message on. For a request it may return before the request is out: a failure then goes to the peer's failed. sent is
	// false if the server cannot have seen the message.
	send(ctx context.Context, out outgoing) (sent bool, err error)
	// settle tells the link what was agreed on with the server.
	settle(ctx context.Context, p *peer, a agreement)
	// cancels reports whether a message tells the server that an answer is not wanted; else the end of the request's ctx does.
	cancels() bool
	// headersOf remembers which arguments of a tool are headers too, and says why the tool cannot be called if that is wrong.
	headersOf(name string, schema json.RawMessage) (warning string)
	// remarks are what was odd about the connection.
	remarks() []string
	// stop ends the connection and returns when nothing of it is left.
	stop()
}

// outgoing is a message to send.
type outgoing struct {
	data   []byte
	method string // empty for an answer
	rpc    *rpc   // of a request
	ex     *exchange
	modern string // the version, in the modern era
}

// peer is the client's end of one connection: it gives answers to those who wait for them and puts the server's questions to the call that
// they are about.
type peer struct {
	link    link
	log     *slog.Logger
	changed func() // the server's list of tools changed

	ctx  context.Context // ends with the connection
	end  context.CancelFunc
	down chan struct{} // closed when the connection is lost

	mu      sync.Mutex
	next    int64
	pending map[string]*exchange
	asked   map[string]context.CancelFunc // the server's requests that are being answered
	asking  int                           // how many those are, until the answer is sent
	unasked int                           // requests that were dropped
	lost    *lostError
	wg      sync.WaitGroup // answers to the server's requests, and cancellations
}

func newPeer(l link, log *slog.Logger, changed func()) *peer {
	p := &peer{link: l, log: log, changed: changed, down: make(chan struct{}), pending: map[string]*exchange{}, asked: map[string]context.CancelFunc{}}
	p.ctx, p.end = context.WithCancel(context.Background())
	l.start(p)
	return p
}

// request sends a request and waits for its answer: the result, or an *rpcError, a *lostError, or the cause of ctx's end. In the last case
// the server is told at once, and nobody waits for it (R35). The call's callbacks run here.
func (p *peer) request(ctx context.Context, r rpc) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ex, err := p.register(ctx, r)
	if err != nil {
		return nil, err
	}
	defer p.forget(ex)
	sent, err := p.link.send(ctx, outgoing{data: encodeRequest(ex.id, r.method, r.params(ex.id)), method: r.method, rpc: &r, ex: ex, modern: r.modern})
	if err != nil {
		if ctx.Err() != nil {
			if sent {
				p.cancel(ex)
			}
			return nil, context.Cause(ctx)
		}
		return nil, p.unsent(sent, err)
	}
	return p.wait(ctx, ex)
}

// rpc is a request to send.
type rpc struct {
	method string
	name   string          // of the tool, for tools/call
	args   json.RawMessage // of the tool
	call   *remoteCall
	modern string // the version, in the modern era
	params func(id int64) json.RawMessage
}

func (p *peer) register(ctx context.Context, r rpc) (*exchange, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost != nil {
		return nil, &lostError{text: p.lost.text, err: p.lost.err, again: true}
	}
	p.next++
	ex := &exchange{
		id: p.next, method: r.method, call: r.call, ctx: ctx,
		answer: make(chan message, 1), failed: make(chan *lostError, 1), events: make(chan event, maxEvents),
	}
	p.pending[strconv.FormatInt(ex.id, 10)] = ex
	return ex, nil
}

func (p *peer) forget(ex *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pending, strconv.FormatInt(ex.id, 10))
}

// unsent is the error of a message that the link did not take. If the process is ending, how it ended is worth a moment.
func (p *peer) unsent(sent bool, err error) error {
	t := time.NewTimer(pipeGrace)
	defer t.Stop()
	select {
	case <-p.down:
		return &lostError{sent: sent, text: p.lost.text, err: p.lost.err, again: true}
	case <-t.C:
		return &lostError{sent: sent, text: err.Error(), err: err, again: true}
	}
}

// cancel tells the server that the answer is not wanted any more, if a message does that. It does not wait.
func (p *peer) cancel(ex *exchange) {
	if !p.link.cancels() || ex.method == "initialize" || ex.method == "server/discover" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost != nil {
		return
	}
	// Ends with the message, the connection, or after a while.
	p.wg.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
		defer cancel()
		params := rawjson.Encode(map[string]any{"requestId": ex.id, "reason": runes.Cut(fmt.Sprint(context.Cause(ex.ctx)), 200)})
		if err := p.notify(ctx, "notifications/cancelled", params); err != nil {
			p.log.Debug("the server was not told of a cancellation", "error", err)
		}
	})
}

// notify sends a notification.
func (p *peer) notify(ctx context.Context, method string, params json.RawMessage) error {
	_, err := p.link.send(ctx, outgoing{data: encodeRequest(0, method, params), method: method})
	return err
}

// receive takes a message of the server. via is the exchange on whose stream it came, if it was one's. It does not wait for anybody.
func (p *peer) receive(m message, via *exchange) {
	switch {
	case m.method == "":
		p.deliver(m, via)
	case m.id != nil:
		p.asks(m, via)
	default:
		p.notification(m, via)
	}
}

// deliver gives an answer to whoever waits for it. One that nobody waits for, such as a late one, is dropped.
func (p *peer) deliver(m message, via *exchange) {
	p.mu.Lock()
	ex := p.pending[key(m.id)]
	if ex == nil && m.id == nil && m.err != nil {
		ex = via // the server could not even read the request
		if all := slices.Collect(maps.Values(p.pending)); ex == nil && len(all) == 1 {
			ex = all[0]
		}
	}
	p.mu.Unlock()
	if ex == nil {
		p.log.Debug("an answer that nobody waits for was dropped", "id", runes.Cut(string(m.id), 128))
		return
	}
	select {
	case ex.answer <- m:
	default: // a second answer
	}
}

// fail ends the wait for one answer.
func (p *peer) fail(ex *exchange, err *lostError) {
	select {
	case ex.failed <- err:
	default:
	}
}

// tooLong costs the request that a message over the limit answered.
func (p *peer) tooLong(l *rawjson.TooLong) {
	p.mu.Lock()
	ex := p.pending[key(l.ID)]
	p.mu.Unlock()
	text := fmt.Sprintf("the server sent a message of %d bytes: at most %d are taken", l.Size, maxMessage)
	if ex == nil {
		p.log.Warn(text)
		return
	}
	p.fail(ex, &lostError{sent: true, text: text + "; ask for less", err: l})
}

// lose ends the connection for all who wait. The first reason counts.
func (p *peer) lose(text string) { p.loseFor(&lostError{text: text}) }

func (p *peer) loseFor(err *lostError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost != nil {
		return
	}
	p.lost = err
	close(p.down)
	p.end()
}

// close ends the connection and returns when nothing of it is left.
func (p *peer) close() {
	p.lose("the connection was closed")
	p.link.stop()
	p.wg.Wait()
}

func (p *peer) notification(m message, via *exchange) {
	var f struct {
		ProgressToken json.RawMessage `json:"progressToken"`
		Progress      float64         `json:"progress"`
		Total         float64         `json:"total"`
		Message       string          `json:"message"`
		Level         string          `json:"level"`
		Logger        string          `json:"logger"`
		Data          json.RawMessage `json:"data"`
		RequestID     json.RawMessage `json:"requestId"`
	}
	if err := json.Unmarshal(m.params, &f); err != nil && m.params != nil {
		if _, odd := errors.AsType[*json.UnmarshalTypeError](err); !odd {
			return
		}
	}
	switch m.method {
	case "notifications/progress":
		p.mu.Lock()
		ex := p.pending[key(f.ProgressToken)]
		p.mu.Unlock()
		if ex != nil {
			ex.put(event{progress: f.Progress, total: f.Total, text: f.Message})
		}
	case "notifications/message":
		p.logged(f.Level, f.Logger, f.Data, via)
	case "notifications/tools/list_changed":
		p.changed()
	case "notifications/cancelled":
		p.mu.Lock()
		cancel := p.asked[key(f.RequestID)]
		p.mu.Unlock()
		if cancel != nil {
			cancel()
		}
	}
}

// logged gives a log message to the call on whose stream it came or the only one that runs, else to the plugin's log.
func (p *peer) logged(level, logger string, data json.RawMessage, via *exchange) {
	text := string(data)
	var s string
	if json.Unmarshal(data, &s) == nil {
		text = s
	}
	if logger != "" {
		text = logger + ": " + text
	}
	if level == "" {
		level = "info"
	}
	if ex := p.only(via); ex != nil {
		ex.put(event{level: level, text: runes.Cut(text, maxStderrLine)})
		return
	}
	p.log.Log(p.ctx, logLevel(level), runes.Cut(text, maxStderrLine), "stream", "notifications/message")
}

// only is via if that is a call, else the call that runs if there is one alone.
func (p *peer) only(via *exchange) *exchange {
	if via != nil && via.call != nil {
		return via
	}
	calls := p.calls()
	if len(calls) != 1 {
		return nil
	}
	return calls[0]
}
