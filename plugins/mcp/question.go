package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/runes"
)

// isQuestion reports whether the method is a question to whoever made a call.
func isQuestion(method string) bool {
	return method == "elicitation/create" || method == "sampling/createMessage" || method == "roots/list"
}

// asks answers a request of the server in its own time. Only ping and questions about a call are answered.
func (p *peer) asks(m message, via *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lost != nil {
		return
	}
	if p.asking == maxAsked {
		if p.unasked++; p.unasked == 1 {
			p.log.Warn("the server asks more at once than is answered: further requests are dropped", "limit", maxAsked)
		}
		return
	}
	p.asking++
	ctx, cancel := context.WithCancel(p.ctx)
	k := key(m.id)
	p.asked[k] = cancel
	// Ends with the answer, with the call that it is about, or with the connection.
	p.wg.Go(func() {
		result, failed := p.answer(ctx, m, via)
		p.mu.Lock()
		delete(p.asked, k)
		p.mu.Unlock()
		defer cancel()
		defer p.replied()
		if ctx.Err() != nil {
			return // the server took it back, or is gone
		}
		if _, err := p.link.send(ctx, outgoing{data: encodeAnswer(m.id, result, failed), ex: via}); err != nil {
			p.log.Debug("the server's request was not answered", "method", m.method, "error", err)
		}
	})
}

// maxAsked is how many requests of the server are answered at once. A server that does not read the answers keeps no more of them here.
const maxAsked = 256

// replied ends one of them.
func (p *peer) replied() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asking--
}

func (p *peer) answer(ctx context.Context, m message, via *exchange) (json.RawMessage, *rpcError) {
	switch {
	case m.method == "ping":
		return json.RawMessage("{}"), nil
	case !isQuestion(m.method):
		return nil, &rpcError{code: codeMethod, message: runes.Cut(m.method, 100) + " is not known here"}
	}
	ex, failed := p.about(m, via)
	if failed != nil {
		return nil, failed
	}
	if ex == nil || ex.call.ask == nil {
		if m.method == "roots/list" {
			return json.RawMessage(`{"roots":[]}`), nil // what is asked outside of a call, such as right after the handshake
		}
		return nil, &rpcError{code: codeMethod, message: m.method + ": no call is running that it could be about"}
	}
	// The answer is not wanted any more when the call ended.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ex.ctx, cancel)()
	answers, err := ex.call.answers(ctx, []question{{m.method, m.params}})
	if err != nil {
		if e, ok := errors.AsType[*rpcError](err); ok {
			return nil, e
		}
		return nil, &rpcError{code: codeInternal, message: runes.Cut(err.Error(), 500)}
	}
	return answers[0], nil
}

// about finds the call that a question is about: that on whose stream it came, that whose progress token or request id it names in _meta,
// or the one that runs. Several may run on one stream that tells nothing: then it is the one that began first, but only if all
// have the same owner, as nobody may be asked about what another does.
func (p *peer) about(m message, via *exchange) (*exchange, *rpcError) {
	if via != nil && via.call != nil {
		return via, nil
	}
	calls := p.calls()
	var f struct {
		Meta struct {
			Token   json.RawMessage `json:"progressToken"`
			Related json.RawMessage `json:"io.modelcontextprotocol/relatedRequestId"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.params, &f) // of an odd form: nothing named
	for _, ex := range calls {
		for _, id := range []json.RawMessage{f.Meta.Token, f.Meta.Related} {
			if id != nil && key(id) == strconv.FormatInt(ex.id, 10) {
				return ex, nil
			}
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	for _, ex := range calls {
		if ex.call.owner != calls[0].call.owner {
			return nil, &rpcError{code: codeInternal, message: m.method + ": calls of several owners are running, and the request does not tell which it is about"}
		}
	}
	return calls[0], nil
}

// calls are the calls that run, in the order in which they began.
func (p *peer) calls() []*exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []*exchange
	for _, ex := range p.pending {
		if ex.call != nil {
			list = append(list, ex)
		}
	}
	slices.SortFunc(list, func(a, b *exchange) int { return cmp.Compare(a.id, b.id) })
	return list
}

// answers puts questions to the caller. An accepted form lacks nothing that has a default (SEP-1034).
func (c *remoteCall) answers(ctx context.Context, list []question) ([]json.RawMessage, error) {
	if c.ask == nil {
		return nil, &rpcError{code: codeMethod, message: list[0].method + ": nobody can be asked"}
	}
	answers, err := c.ask(ctx, list)
	if err != nil {
		return nil, err
	}
	if len(answers) != len(list) {
		return nil, errors.New("not all questions were answered")
	}
	for i, q := range list {
		if q.method == "elicitation/create" {
			answers[i] = withDefaults(q.params, answers[i])
		}
	}
	return answers, nil
}

// withDefaults completes the content of an accepted form. What is not of the known form is left alone.
func withDefaults(params, result json.RawMessage) json.RawMessage {
	var asked struct {
		Schema struct {
			Properties map[string]struct {
				Default json.RawMessage `json:"default"`
			} `json:"properties"`
		} `json:"requestedSchema"`
	}
	var answer map[string]json.RawMessage
	var action string
	if json.Unmarshal(params, &asked) != nil || json.Unmarshal(result, &answer) != nil ||
		json.Unmarshal(answer["action"], &action) != nil || action != "accept" {
		return result
	}
	content := map[string]json.RawMessage{}
	if raw := answer["content"]; raw != nil && json.Unmarshal(raw, &content) != nil || content == nil {
		return result
	}
	added := false
	for name, property := range asked.Schema.Properties {
		if _, there := content[name]; !there && property.Default != nil {
			content[name], added = property.Default, true
		}
	}
	if !added {
		return result
	}
	answer["content"] = rawjson.Encode(content)
	return rawjson.Encode(answer)
}
