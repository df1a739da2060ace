package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// deafLink is a link over which nothing is ever sent: the server does not read.
type deafLink struct{ sending atomic.Int64 }

func (l *deafLink) start(*peer) {}
func (l *deafLink) send(ctx context.Context, _ outgoing) (bool, error) {
	l.sending.Add(1)
	<-ctx.Done()
	return false, ctx.Err()
}
func (l *deafLink) settle(context.Context, *peer, agreement)        {}
func (l *deafLink) cancels() bool                                   { return false }
func (l *deafLink) headersOf(string, json.RawMessage) (warn string) { return "" }
func (l *deafLink) remarks() []string                               { return nil }
func (l *deafLink) stop()                                           {}

func TestT5_AServerThatAsksAndDoesNotReadKeepsAFewRequests(t *testing.T) {
	t.Parallel()
	l := &deafLink{}
	var log safeLog
	p := newPeer(l, testLogger(&log), func() {})
	for n := range 50 * maxAsked {
		p.receive(message{id: json.RawMessage(fmt.Sprint(n)), method: "ping"}, nil)
	}
	p.close()
	if n := l.sending.Load(); n > maxAsked {
		t.Errorf("%d answers waited", n)
	}
	if !strings.Contains(log.String(), "dropped") {
		t.Error("nothing is said of it")
	}
}

func TestT5_ABatchIsReadSoFar(t *testing.T) {
	t.Parallel()
	list, err := decodeMessages([]byte("[" + strings.Repeat(`{"id":1,"result":{}},`, 100_000) + "0]"))
	if err != nil || len(list) != maxBatch {
		t.Errorf("%d messages, %v", len(list), err)
	}
}

func TestT5_AStreamThatEndsAgainAndAgainIsAskedForWithPauses(t *testing.T) {
	t.Parallel()
	var gets atomic.Int64
	stream := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 0\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n")
	}
	s := webServer(t, func(w http.ResponseWriter, r *http.Request, q request) bool {
		switch {
		case r.Method == http.MethodGet:
			gets.Add(1)
			stream(w)
		case q.Method == "tools/call":
			stream(w)
		default:
			return false
		}
		return true
	})
	r := newRemote(settings{URL: s.URL}, slog.New(slog.DiscardHandler), func() {})
	defer r.close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	began := time.Now()
	if _, err := r.call(ctx, remoteCall{name: "t"}); err == nil {
		t.Error("the call has an answer")
	}
	// Two streams: that of the call and the standing one.
	if most := 2 * (int64(time.Since(began)/minRetry) + 2); gets.Load() > most || gets.Load() == 0 {
		t.Errorf("%d requests, at most %d are right", gets.Load(), most)
	}
}
