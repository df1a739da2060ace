package mcpserver

import (
	"errors"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
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
