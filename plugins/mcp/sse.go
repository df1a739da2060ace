package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/runes"
)

// events reads a stream of server-sent events.
type events struct {
	in   *rawjson.Lines
	last string        // the id of the last event that came to its end
	wait time.Duration // before the stream is asked for again
}

// Bounds of a stream that is asked for again.
const (
	defaultRetry = time.Second
	minRetry     = 100 * time.Millisecond // whatever the server says
	maxRetry     = 5 * time.Minute
	maxResumes   = 5 // in a row that brought nothing
)

// next returns the data of the next event that has some. An *tooLong is of an event, which is not read to its end.
func (e *events) next() ([]byte, error) {
	var data []byte
	some, id := false, e.last
	for {
		line, err := e.in.Next()
		if err != nil {
			return nil, err // an event without an end does not count
		}
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			e.last = id
			if some && len(data) > 0 {
				return data, nil
			}
			data, some = nil, false
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if some {
				data = append(data, '\n')
			}
			if len(data)+len(value) > maxMessage {
				return nil, &rawjson.TooLong{Size: int64(len(data) + len(value))}
			}
			data, some = append(data, value...), true
		case "id":
			if !bytes.ContainsRune(value, 0) && len(value) <= 1024 {
				id = string(value)
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
				e.wait = min(max(time.Duration(ms)*time.Millisecond, minRetry), maxRetry)
			}
		}
	}
}

// follow gives the messages of one response to the peer until the stream ends. any reports whether there was one.
func (l *httpLink) follow(e *events, body io.Reader, ex *exchange) (any bool, err error) {
	e.in = rawjson.NewLines(body, maxMessage+64)
	for {
		data, err := e.next()
		if err != nil {
			return any, err
		}
		list, err := decodeMessages(data)
		if err != nil {
			l.log.Warn("the server sent an event that is no message of MCP: it is skipped", "data", runes.Cut(string(data), 200))
			continue
		}
		for _, m := range list {
			any = true
			l.peer.receive(m, ex)
		}
	}
}

// answers reads the stream that answers a request. In the legacy era, one that ends before the answer is asked for again where it stopped.
func (l *httpLink) answers(ctx context.Context, out outgoing, body io.ReadCloser) {
	e := &events{wait: defaultRetry}
	for idle := 0; ; {
		any, err := l.follow(e, body, out.ex)
		body.Close()
		if ctx.Err() != nil || out.ex.answered() {
			return
		}
		if long, ok := errors.AsType[*rawjson.TooLong](err); ok {
			l.peer.fail(out.ex, &lostError{sent: true, text: fmt.Sprintf("the server sent an event of more than %d bytes; ask for less", maxMessage), err: long})
			return
		}
		if idle++; any {
			idle = 0
		}
		if out.modern != "" || e.last == "" || idle > maxResumes {
			l.peer.fail(out.ex, &lostError{sent: true, text: "the server ended the stream without an answer" + ofError(err), err: err})
			return
		}
		if pause(ctx, e.wait) != nil {
			return
		}
		resp, err := l.get(ctx, e.last)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if _, final := errors.AsType[*statusError](err); !final {
				body = http.NoBody // try again
				continue
			}
			l.peer.fail(out.ex, &lostError{sent: true, text: "the server ended the stream without an answer and does not go on with it: " + err.Error(), err: err})
			return
		}
		body = resp.Body
	}
}

func ofError(err error) string {
	if err == nil || errors.Is(err, io.EOF) {
		return ""
	}
	return ": " + err.Error()
}

// answered reports whether the answer is there.
func (ex *exchange) answered() bool { return len(ex.answer) > 0 || ex.ctx.Err() != nil }

// statusError is an answer to a GET that is no stream.
type statusError struct{ text string }

func (e *statusError) Error() string { return e.text }

// get asks for a stream.
func (l *httpLink) get(ctx context.Context, lastEvent string) (*http.Response, error) {
	resp, _, err := l.do(ctx, http.MethodGet, outgoing{}, lastEvent)
	if err != nil {
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return resp, nil
	}
	resp.Body.Close()
	if resp.StatusCode >= 500 {
		return nil, errors.New("the server answered " + resp.Status)
	}
	if l.unknownSession(resp, nil) {
		l.peer.loseFor(&lostError{text: "the server does not know the session any more"})
	}
	return nil, &statusError{"the server answered " + resp.Status}
}

// standing reads the stream of a legacy session that belongs to no request, where the server has one. It is asked for again as long as the
// session lives.
func (l *httpLink) standing(p *peer) {
	e := &events{wait: defaultRetry}
	delay := time.Duration(0)
	for first := true; ; first = false {
		resp, err := l.get(l.ctx, e.last)
		if err == nil {
			if !first {
				p.changed() // what was said in between is not known, unless the server tells it again
			}
			any, _ := l.follow(e, resp.Body, nil)
			resp.Body.Close()
			if any {
				delay = 0
			}
		} else if _, final := errors.AsType[*statusError](err); final {
			return
		}
		delay = min(max(2*delay, e.wait), max(lastDelay, e.wait))
		if pause(l.ctx, delay) != nil {
			return
		}
	}
}
