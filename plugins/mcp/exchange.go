package main

import (
	"context"
	"encoding/json"
)

// exchange is a request and what comes for it.
type exchange struct {
	id     int64
	method string
	call   *remoteCall // of tools/call, and of nothing else
	ctx    context.Context
	answer chan message // has room for the one that counts
	failed chan *lostError
	events chan event
}

// event is a notification for a call.
type event struct {
	progress, total float64
	text            string
	level           string // of a log message; empty: progress
}

// maxEvents is how many notifications may wait for the caller of a call; further ones are dropped.
const maxEvents = 256

// wait returns the answer, and runs the call's callbacks until it is there.
func (p *peer) wait(ctx context.Context, ex *exchange) (json.RawMessage, error) {
	for {
		select {
		case e := <-ex.events:
			ex.tell(e)
		case m := <-ex.answer:
			return ex.take(m)
		case err := <-ex.failed:
			return ex.takeOr(err)
		case <-p.down:
			return ex.takeOr(&lostError{sent: true, text: p.lost.text, err: p.lost.err, again: true})
		case <-ctx.Done():
			p.cancel(ex)
			return nil, context.Cause(ctx)
		}
	}
}

// take is what the answer says, after what came before it.
func (ex *exchange) take(m message) (json.RawMessage, error) {
	ex.tellRest()
	if m.err != nil {
		return nil, m.err
	}
	return m.result, nil
}

// takeOr is the answer if it came before the end, else err.
func (ex *exchange) takeOr(err *lostError) (json.RawMessage, error) {
	select {
	case m := <-ex.answer:
		return ex.take(m)
	default:
		ex.tellRest()
		return nil, err
	}
}

func (ex *exchange) tell(e event) {
	switch {
	case ex.call == nil:
	case e.level != "" && ex.call.log != nil:
		ex.call.log(e.level, e.text)
	case e.level == "" && ex.call.progress != nil:
		ex.call.progress(e.progress, e.total, e.text)
	}
}

func (ex *exchange) tellRest() {
	for {
		select {
		case e := <-ex.events:
			ex.tell(e)
		default:
			return
		}
	}
}

// put drops the event if too many wait.
func (ex *exchange) put(e event) {
	select {
	case ex.events <- e:
	default:
	}
}
