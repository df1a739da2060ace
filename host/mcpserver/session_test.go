package mcpserver

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

func TestR39_AnUnknownSessionIs404AndDeleteEndsOne(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{}))
	c.shake()
	id := c.session
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		c.session = "NOSUCHSESSION"
		resp := c.request(t.Context(), method, ping)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s of an unknown session: %s", method, resp.Status)
		}
	}
	c.session = ""
	if status, _ := c.post(ping); status != http.StatusBadRequest {
		t.Errorf("no session: %d", status)
	}
	c.session = id
	resp := c.request(t.Context(), http.MethodDelete, "")
	resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE: %s", resp.Status)
	}
	if status, _ := c.post(ping); status != http.StatusNotFound {
		t.Errorf("after DELETE: %d", status)
	}
}

func TestT34_ASessionIsItsSubjectsOnly(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{Verify: verify}))
	c.header.Set("Authorization", "Bearer ada-token")
	c.shake()
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		resp := c.request(t.Context(), method, ping, "Authorization", "Bearer bob-token")
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s by another subject: %s", method, resp.Status)
		}
	}
	if status, _ := c.post(ping); status != 200 {
		t.Errorf("by its own: %d", status)
	}
}

func TestT34_ASessionIsNotThatOfWhoIsInOtherGroups(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{Verify: func(_ context.Context, groups string) (host.Caller, error) {
		return host.Caller{Subject: "ada", Groups: strings.Split(groups, ",")}, nil
	}}))
	c.header.Set("Authorization", "Bearer admin,dev")
	c.shake()
	for groups, want := range map[string]int{"dev": http.StatusNotFound, "admin,dev,ops": http.StatusNotFound, "dev,admin": http.StatusOK} {
		if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}`, "Authorization", "Bearer "+groups); status != want {
			t.Errorf("%s: %d, want %d", groups, status, want)
		}
	}
}

func TestR40_ASessionThatIsUsedAgainDoesNotEnd(t *testing.T) {
	s := newServer(t, Config{})
	c := startHTTP(t, s)
	c.shake()
	x := s.findSession(c.session, host.Caller{})
	if x == nil || x.abandoned() || x.link.life.Err() != nil { // its time was over when the request came
		t.Fatal("it ends")
	}
	if x.release(); !x.abandoned() || s.findSession(c.session, host.Caller{}) != nil {
		t.Error("it is found though it ends")
	}
}

func TestR40_AThousandAbandonedSessionsReturnToBaseline(t *testing.T) {
	leaks(t)
	s := newServer(t, Config{SessionIdle: 2 * time.Second, Sessions: 1100, Host: newHost(t, host.Config{})})
	c := startHTTP(t, s)
	c.shake() // what is made once is there
	c.request(t.Context(), http.MethodDelete, "").Body.Close()
	c.client.CloseIdleConnections()
	settles(t, "sessions", 0, func() int { return count(s) })
	before := runtime.NumGoroutine()
	memory := heap()
	most := 0
	for range 1000 {
		c.session = ""
		c.shake()
		most = max(most, count(s))
	}
	if most < 2 {
		t.Errorf("at most %d sessions at once: the test says nothing", most)
	}
	c.client.CloseIdleConnections()
	settles(t, "sessions", 0, func() int { return count(s) })
	settles(t, "goroutines", before+5, runtime.NumGoroutine)
	if grown := heap() - memory; grown > 4<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	if status, _ := c.post(ping); status != http.StatusNotFound {
		t.Errorf("an abandoned session answers %d", status)
	}
}

func count(s *Server) int {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	return len(s.sessions.byID)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestR40_SessionsHaveALimit(t *testing.T) {
	c := startHTTP(t, newServer(t, Config{Sessions: 2}))
	c.shake()
	first := c.session
	c.session = ""
	c.shake()
	c.session = ""
	resp := c.request(t.Context(), http.MethodPost, initialize)
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("got %s %v", resp.Status, resp.Header)
	}
	if status, _ := c.post(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`, modernCall("subscriptions/listen", "")...); status != http.StatusServiceUnavailable {
		t.Errorf("a stream to listen on: %d", status)
	}
	c.session = first
	c.request(t.Context(), http.MethodDelete, "").Body.Close()
	c.session = ""
	c.shake()
}

func TestR40_AHandshakeThatFailsLeavesNoSession(t *testing.T) {
	s := newServer(t, Config{})
	c := startHTTP(t, s)
	c.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":7}}`)
	settles(t, "sessions", 0, func() int { return count(s) })
}

func TestHTTP_AStormOfSessionsLeavesNothingBehind(t *testing.T) {
	leaks(t)
	s := newServer(t, Config{Host: newHost(t, host.Config{})})
	c := startHTTP(t, s)
	var clients sync.WaitGroup
	for i := range 16 {
		clients.Go(func() {
			for j := range 5 {
				me := *c
				me.shake()
				text := fmt.Sprintf("%d-%d", i, j)
				for _, x := range []struct{ extra, header string }{{"", ""}, {"," + modernMeta, "m"}} {
					var h []string
					if x.header != "" {
						h = modernCall("tools/call", "echo")
					}
					if _, all := me.post(strings.Replace(echoCall(x.extra), "hello", text, 1), h...); !strings.Contains(fmt.Sprint(all), text) {
						t.Errorf("%s: got %v", text, all)
					}
				}
				if j%2 == 0 {
					me.request(t.Context(), http.MethodDelete, "").Body.Close()
				}
			}
		})
	}
	clients.Wait()
}
