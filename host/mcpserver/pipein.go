package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolhost/toolhost/internal/rawjson"
)

// readLines reads the input until it ends, and then waits for the calls that run.
func (p *pipe) readLines() {
	defer close(p.over)
	defer close(p.incoming)
	in := rawjson.NewLines(p.in, p.limit)
	for {
		line, err := in.Next()
		if long, ok := errors.AsType[*rawjson.TooLong](err); ok {
			id := long.ID
			if !json.Valid(id) || !validID(id) {
				id = nil
			}
			p.refuse(id, &rpcError{code: codeInvalidRequest, message: fmt.Sprintf(
				"invalid request: the message has %d bytes, and more than %d are not taken: send less, or give a path", long.Size, p.limit)}, nil)
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			p.accept(line)
		}
		if err != nil {
			break
		}
	}
	p.awaitCalls()
}

// awaitCalls gives the calls that run when the input has ended a moment to answer.
func (p *pipe) awaitCalls() {
	late := time.NewTimer(lastCalls)
	defer late.Stop()
	for {
		p.mu.Lock()
		idle := p.idleLocked()
		p.mu.Unlock()
		if idle {
			return
		}
		select {
		case <-p.idle:
		case <-late.C:
			return
		case <-p.done:
			return
		}
	}
}

// refuse answers what is no request, in its batch if it came in one.
func (p *pipe) refuse(id json.RawMessage, e *rpcError, group *batch) {
	p.mu.Lock()
	wait := clogTime
	if p.clogs {
		wait = 0
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if p.send(ctx, &pipeCall{group: group}, answerError(id, e)) != nil { // of a pipe that is closed, nobody is to be told
		p.mu.Lock()
		p.clogs = true
		p.mu.Unlock()
	}
}

// accept hands the messages of one line to the SDK, or answers what is wrong with them.
func (p *pipe) accept(line []byte) {
	msgs, isBatch, fault := parse(line)
	p.mu.Lock()
	plain := p.plain
	p.mu.Unlock()
	if isBatch && plain {
		fault = &rpcError{code: codeInvalidRequest, message: "invalid request: the protocol version that was agreed on has no batches: send one message a line"}
	}
	if fault != nil {
		p.refuse(nil, fault, nil)
		return
	}
	var group *batch
	if isBatch {
		group = &batch{}
		for _, m := range msgs {
			if m.fault != nil || m.isCall() {
				group.left++
			}
		}
	}
	for _, m := range msgs {
		p.acceptOne(m, group)
	}
}

func (p *pipe) acceptOne(m message, group *batch) {
	fault := m.fault
	var msg jsonrpc.Message
	if fault == nil {
		msg, fault = p.decode(m, group)
	}
	switch {
	case fault != nil && (m.fault != nil || m.isCall()):
		p.refuse(m.id, fault, group)
	case fault == nil && msg != nil:
		select {
		case p.incoming <- msg:
		case <-p.done:
		}
	}
}

// decode makes the SDK's message, with a number of the pipe's own. It is nil if the call is made directly.
func (p *pipe) decode(m message, group *batch) (jsonrpc.Message, *rpcError) {
	if m.method == "" {
		msg, err := jsonrpc.DecodeMessage(m.raw)
		if err != nil {
			return nil, &rpcError{code: codeInvalidRequest, message: "invalid request: " + err.Error()}
		}
		return msg, nil
	}
	req := &jsonrpc.Request{Method: m.method, Params: m.params}
	var call func(context.Context) (json.RawMessage, *rpcError)
	if m.method == "tools/call" && m.id != nil && p.direct != nil {
		call = p.direct(m.params)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.method == "notifications/cancelled" {
		req.Params = p.renumber(m.params)
	}
	if m.id == nil {
		return req, nil
	}
	if len(p.calls) >= maxOpen || len(p.calls)+p.late >= 2*maxOpen {
		return nil, &rpcError{code: codeInternal, message: fmt.Sprintf("busy: %d calls are not answered yet: read the answers, or wait for them", maxOpen)}
	}
	if p.unread >= maxUnread/2 {
		return nil, &rpcError{code: codeInternal, message: fmt.Sprintf("busy: %d bytes of answers wait to be read: read them", p.unread)}
	}
	if _, taken := p.byID[string(m.id)]; taken {
		return nil, &rpcError{code: codeInvalidRequest, message: "invalid request: a call with this id is running"}
	}
	p.seq++
	c := &pipeCall{id: m.id, method: m.method, group: group}
	if call != nil {
		p.begin(c, call)
		return nil, nil
	}
	id, err := jsonrpc.MakeID(float64(p.seq))
	if err != nil {
		return nil, &rpcError{code: codeInternal, message: "internal error"}
	}
	req.ID = id
	p.calls[p.seq] = c
	p.byID[string(m.id)] = p.seq
	return req, nil
}

// begin begins a call that is made directly, unless the pipe is closed. p.mu is held.
func (p *pipe) begin(c *pipeCall, call func(context.Context) (json.RawMessage, *rpcError)) {
	select {
	case <-p.done:
		return
	default:
	}
	n, ctx := p.seq, p.life
	ctx, c.cancel = context.WithCancel(ctx)
	p.calls[n] = c
	p.byID[string(c.id)] = n
	p.work.Add(1)
	p.run(func() { // ends with the call, which ends with the pipe
		defer p.work.Done()
		defer c.cancel()
		p.make(ctx, n, call)
	})
}

// renumber puts the pipe's number in place of the id that a cancel names, and cancels the call if it is made directly. What it does not
// know is no call: 0.
func (p *pipe) renumber(params json.RawMessage) json.RawMessage {
	m, ok := rawjson.ParseObject(params)
	if !ok {
		return json.RawMessage(`{"requestId":0}`)
	}
	n := p.byID[string(m.Get("requestId"))]
	if c := p.calls[n]; c != nil && c.cancel != nil {
		c.cancelled = true
		c.cancel()
	}
	m.Set("requestId", rawjson.Encode(n))
	return m.Raw()
}
