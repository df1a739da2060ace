package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// sendEvent writes a server-sent event and sends it on.
func sendEvent(w http.ResponseWriter, text string) {
	fmt.Fprint(w, text)
	w.(http.Flusher).Flush()
}

func TestHTTPStreamsAreResumed(t *testing.T) {
	t.Parallel()
	var closed atomic.Int64
	var id atomic.Value
	s := webServer(t, func(w http.ResponseWriter, r *http.Request, q request) bool {
		switch {
		case q.Method == "tools/call":
			id.Store(string(q.ID))
			w.Header().Set("Content-Type", "text/event-stream")
			sendEvent(w, "id: e1\r\nretry: 200\r\ndata:\r\n\r\n: comment\n\ndata: junk\n\n")
			sendEvent(w, "event: message\ndata: {\"method\":\"notifications/progress\",\ndata: \"params\":{\"progressToken\":"+string(q.ID)+",\"progress\":1}}\n\nid: e2\ndata: {\"unfinished")
			closed.Store(time.Now().UnixNano())
		case r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "e1":
			if d := time.Duration(time.Now().UnixNano() - closed.Load()); d < 190*time.Millisecond {
				t.Errorf("asked again after %v", d)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			sendEvent(w, "data: {\"id\":"+id.Load().(string)+",\"result\":{\"resumed\":true}}\n\n")
		default:
			return false
		}
		return true
	})
	var steps int
	raw, err := testRemote(t, settings{URL: s.URL}).call(testCtx(t), remoteCall{name: "t", progress: func(float64, float64, string) { steps++ }})
	if err != nil || string(raw) != `{"resumed":true}` || steps != 1 {
		t.Errorf("%s, %v, %d steps", raw, err, steps)
	}
}

func TestHTTPAStreamWithoutAnswerCostsThatCall(t *testing.T) {
	t.Parallel()
	s := webServer(t, func(w http.ResponseWriter, _ *http.Request, q request) bool {
		if q.Params.Name != "broken" {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		sendEvent(w, "data: {\"method\":\"x\"}\n\n")
		return true
	})
	r := testRemote(t, settings{URL: s.URL})
	_, err := r.call(testCtx(t), remoteCall{name: "broken", repeat: true})
	wantLost(t, err, true, "without an answer")
	mustCall(t, r, "t", `{}`)
}

func TestHTTPQuestionsComeOnTheStream(t *testing.T) {
	t.Parallel()
	replies := make(chan string, 1)
	s := webServer(t, func(w http.ResponseWriter, r *http.Request, q request) bool {
		switch {
		case q.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			sendEvent(w, `data: {"id":"q","method":"elicitation/create","params":`+form+"}\n\n")
			sendEvent(w, `data: {"id":`+string(q.ID)+`,"result":{"said":"`+<-replies+"\"}}\n\n")
		case string(q.ID) == `"q"`:
			replies <- q.Get("Mcp-Session-Id")
			w.WriteHeader(http.StatusAccepted)
		default:
			return false
		}
		return true
	})
	var got []string
	raw, err := testRemote(t, settings{URL: s.URL}).call(testCtx(t), remoteCall{name: "t", ask: answers(&got, `{"action":"decline"}`)})
	if err != nil || string(raw) != `{"said":"s1"}` || len(got) != 1 {
		t.Errorf("%s, %v, %q", raw, err, got)
	}
}

func TestR35_TheModernCancelIsTheEndOfTheStream(t *testing.T) {
	t.Parallel()
	called, gone := make(chan struct{}), make(chan struct{})
	var cancels atomic.Int64
	s := modernServer(t, `[]`, func(_ http.ResponseWriter, r *http.Request, q request) bool {
		if q.Method == "notifications/cancelled" {
			cancels.Add(1)
		}
		if q.Method != "tools/call" {
			return false
		}
		close(called)
		<-r.Context().Done()
		close(gone)
		return true
	})
	ctx, cancel := context.WithCancel(testCtx(t))
	done := make(chan error, 1)
	r := testRemote(t, settings{URL: s.URL})
	go func() { // ends with the call
		_, err := r.call(ctx, remoteCall{name: "t"})
		done <- err
	}()
	<-called
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-gone
	if cancels.Load() > 0 {
		t.Error("a message was sent too")
	}
}
