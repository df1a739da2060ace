package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// request is what a test's HTTP server got.
type request struct {
	http.Header
	Verb   string          `json:"-"`
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
	} `json:"params"`
}

// webServer answers with what handle writes. A POST of a notification gets 202 and a GET 405, unless handle answers.
func webServer(t *testing.T, handle func(w http.ResponseWriter, r *http.Request, q request) bool) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := request{Header: r.Header, Verb: r.Method}
		raw, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(raw, &q)
		switch {
		case handle(w, r, q):
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case q.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case q.Method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, "Bad Request: no session")
		case q.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			answer(w, q, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}`)
		case q.Method == "tools/list":
			answer(w, q, `{"tools":[{"name":"t"}]}`)
		default:
			answer(w, q, `{"ok":true}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func answer(w http.ResponseWriter, q request, result string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result)
}

// modernServer is a webServer of the modern era, whose tools are those.
func modernServer(t *testing.T, tools string, handle func(w http.ResponseWriter, r *http.Request, q request) bool) *httptest.Server {
	t.Helper()
	return webServer(t, func(w http.ResponseWriter, r *http.Request, q request) bool {
		switch {
		case handle(w, r, q):
		case q.Method == "server/discover":
			answer(w, q, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		case q.Method == "tools/list":
			answer(w, q, `{"tools":`+tools+`}`)
		default:
			return false
		}
		return true
	})
}

func TestHTTPLegacySession(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	s := webServer(t, func(_ http.ResponseWriter, r *http.Request, q request) bool {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.Join([]string{r.Method, q.Method, q.Get("Mcp-Session-Id"), q.Get("MCP-Protocol-Version"), q.Get("Mcp-Method"), q.Get("X-Own")}, ","))
		return false
	})
	r := newRemote(settings{URL: s.URL, Headers: map[string]string{"X-Own": "o"}}, slog.New(slog.DiscardHandler), func() {})
	mustCall(t, r, "t", `{}`)
	eventually(t, "the GET", func() bool { mu.Lock(); defer mu.Unlock(); return strings.Contains(strings.Join(got, " "), "GET") })
	if err := r.close(); err != nil {
		t.Error(err)
	}
	var posts []string
	for _, g := range got {
		if !strings.HasPrefix(g, "GET") {
			posts = append(posts, g)
		}
	}
	want := []string{
		"POST,server/discover,,2026-07-28,server/discover,o", "POST,initialize,,,,o", "POST,notifications/initialized,s1,2025-06-18,,o",
		"POST,tools/call,s1,2025-06-18,,o", "DELETE,,s1,2025-06-18,,o",
	}
	if diff := cmp.Diff(want, posts); diff != "" {
		t.Error(diff)
	}
}

func TestR39_ALostSessionIsOpenedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		var sessions, calls atomic.Int64
		s := webServer(t, func(w http.ResponseWriter, _ *http.Request, q request) bool {
			switch q.Method {
			case "initialize":
				w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", sessions.Add(1)))
				answer(w, q, `{"protocolVersion":"2025-11-25","capabilities":{}}`)
			case "tools/call":
				if calls.Add(1); q.Get("Mcp-Session-Id") == "s2" {
					return false
				}
				w.WriteHeader(status)
				fmt.Fprint(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID"}}`)
			default:
				return false
			}
			return true
		})
		mustCall(t, testRemote(t, settings{URL: s.URL}), "t", `{}`)
		if sessions.Load() != 2 || calls.Load() != 2 {
			t.Errorf("%d: %d sessions, %d calls", status, sessions.Load(), calls.Load())
		}
	}
}

func TestR35_TheLegacyCancelIsAMessage(t *testing.T) {
	t.Parallel()
	called, told := make(chan string, 1), make(chan struct{})
	s := webServer(t, func(_ http.ResponseWriter, r *http.Request, q request) bool {
		switch q.Method {
		case "tools/call":
			called <- string(q.ID)
			<-r.Context().Done()
			return true
		case "notifications/cancelled":
			close(told)
		}
		return false
	})
	ctx, cancel := context.WithCancel(testCtx(t))
	r := testRemote(t, settings{URL: s.URL})
	done := make(chan struct{})
	go func() { // ends with the call
		defer close(done)
		_, _ = r.call(ctx, remoteCall{name: "t"})
	}()
	<-called
	cancel()
	<-done
	<-told
}

func TestT37_CredentialsStayAtHome(t *testing.T) {
	t.Parallel()
	const token = "Bearer sesame-open-9876"
	var stolen atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	for name, handle := range map[string]func(w http.ResponseWriter, r *http.Request, q request) bool{
		"redirects": func(w http.ResponseWriter, r *http.Request, _ request) bool {
			http.Redirect(w, r, thief.URL+"/x?q=1", http.StatusTemporaryRedirect)
			return true
		},
		"echoes it in a 401": func(w http.ResponseWriter, r *http.Request, _ request) bool {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"bad token %s"}}`, r.Header.Get("Authorization"))
			return true
		},
		"echoes it in a 500": func(w http.ResponseWriter, r *http.Request, _ request) bool {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "sesame-open-9876")
			return true
		},
		"echoes it everywhere": func(w http.ResponseWriter, r *http.Request, q request) bool {
			if q.Method != "tools/call" {
				return false
			}
			own := r.Header.Get("Authorization")
			w.Header().Set("Content-Type", "text/event-stream")
			sendEvent(w, "data: junk "+own+"\n\n")
			for _, params := range []string{`{"level":"info","data":"` + own + `"}`, `{"level":"info","data":{"a":"` + own + `"},"logger":"` + own + `"}`} {
				sendEvent(w, `data: {"method":"notifications/message","params":`+params+"}\n\n")
			}
			sendEvent(w, `data: {"id":`+string(q.ID)+`,"error":{"code":1,"message":"no `+own+"\"}}\n\n")
			return true
		},
		"turns it into a GET": func(w http.ResponseWriter, r *http.Request, _ request) bool {
			if r.URL.Path == "/other" {
				return false
			}
			http.Redirect(w, r, "/other", http.StatusFound)
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := webServer(t, func(w http.ResponseWriter, r *http.Request, q request) bool {
				if r.Header.Get("Authorization") != token {
					t.Error("the server got no token")
				}
				return handle(w, r, q)
			})
			var log safeLog
			r := newRemote(settings{URL: s.URL + "/mcp?key=query-secret-1", Headers: map[string]string{"Authorization": token}}, testLogger(&log), func() {})
			_, err := r.call(testCtx(t), remoteCall{name: "t", log: func(_, text string) { fmt.Fprintln(&log, text) }})
			r.close()
			if err == nil {
				t.Fatal("no error")
			}
			for _, secret := range []string{"sesame", "query-secret"} {
				if strings.Contains(err.Error()+log.String(), secret) {
					t.Errorf("%s is in %v or in %s", secret, err, log.String())
				}
			}
		})
	}
	if stolen.Load() > 0 {
		t.Errorf("%d requests went to another origin", stolen.Load())
	}
}

func TestHTTPSameOriginRedirectsAreFollowed(t *testing.T) {
	t.Parallel()
	s := webServer(t, func(w http.ResponseWriter, r *http.Request, _ request) bool {
		if r.URL.Path == "/mcp" {
			return false
		}
		http.Redirect(w, r, "/mcp", http.StatusPermanentRedirect)
		return true
	})
	mustCall(t, testRemote(t, settings{URL: s.URL}), "t", `{}`)
}

const mirroredTools = `[
	{"name":"good","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
		"in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"b":{"type":"boolean","x-mcp-header":"B"}}}},
	{"name":"number","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}},
	{"name":"twice","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}},
	{"name":"split","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}}},
	{"name":"naïve","inputSchema":{"type":"object"}}]`

func TestHTTPArgumentsAreMirrored(t *testing.T) {
	t.Parallel()
	got := make(chan http.Header, 2)
	var refused atomic.Bool
	s := modernServer(t, mirroredTools, func(w http.ResponseWriter, r *http.Request, q request) bool {
		if q.Method == "tools/call" {
			if q.Params.Name == "good" && q.Get("Mcp-Param-Region") == "" { // the client has not listed yet
				refused.Store(true)
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"header mismatch"}}`, q.ID)
				return true
			}
			got <- q.Header
		}
		return false
	})
	r := testRemote(t, settings{URL: s.URL})
	mustCall(t, r, "good", `{"region":" a\nb","in":{"n":42.0},"b":null}`)
	h := <-got
	for name, want := range map[string]string{
		"Mcp-Param-Region": "=?base64?IGEKYg==?=", "Mcp-Param-N": "42", "Mcp-Param-B": "", "Mcp-Name": "good", "Mcp-Method": "tools/call", "MCP-Protocol-Version": "2026-07-28",
	} {
		if h.Get(name) != want {
			t.Errorf("%s: %q, want %q", name, h.Get(name), want)
		}
	}
	if !refused.Load() {
		t.Error("the list was not made up for")
	}
	mustCall(t, r, "naïve", `{}`)
	if name := (<-got).Get("Mcp-Name"); name != "=?base64?bmHDr3Zl?=" {
		t.Errorf("%q", name)
	}
	tools, warnings, err := r.list(testCtx(t))
	if err != nil || len(tools) != 2 || len(warnings) != 3 {
		t.Errorf("%d tools, %q, %v", len(tools), warnings, err)
	}
}

func TestR34_AnotherVersionIsTaken(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	s := modernServer(t, `[]`, func(w http.ResponseWriter, _ *http.Request, q request) bool {
		if asked.Add(1) > 1 {
			return false
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2027-01-01","2026-07-28"]}}}`, q.ID)
		return true
	})
	mustCall(t, testRemote(t, settings{URL: s.URL}), "t", `{}`)
}

func TestR34_ASlowHTTPServerIsNoLegacyOne(t *testing.T) {
	t.Parallel()
	var handshakes atomic.Int64
	s := modernServer(t, `[]`, func(_ http.ResponseWriter, r *http.Request, q request) bool {
		switch q.Method {
		case "server/discover":
			select { // longer than a process is waited for
			case <-time.After(probeTime + 500*time.Millisecond):
			case <-r.Context().Done():
			}
		case "initialize":
			handshakes.Add(1)
		}
		return false
	})
	mustCall(t, testRemote(t, settings{URL: s.URL}), "t", `{}`)
	if n := handshakes.Load(); n != 0 {
		t.Errorf("it was asked to initialize %d times", n)
	}
}

func TestR14_ModernChangesComeByASubscription(t *testing.T) {
	t.Parallel()
	s := modernServer(t, `[]`, func(w http.ResponseWriter, r *http.Request, q request) bool {
		switch q.Method {
		case "server/discover":
			answer(w, q, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)
		case "subscriptions/listen":
			w.Header().Set("Content-Type", "text/event-stream")
			sendEvent(w, `data: {"method":"notifications/subscriptions/acknowledged"}`+"\n\n"+`data: {"method":"notifications/tools/list_changed"}`+"\n\n")
			<-r.Context().Done()
		default:
			return false
		}
		return true
	})
	told := make(chan struct{}, 10)
	r := newRemote(settings{URL: s.URL}, slog.New(slog.DiscardHandler), func() { told <- struct{}{} })
	defer r.close()
	mustCall(t, r, "t", `{}`)
	<-told
}

func TestR24_HTTPLimits(t *testing.T) {
	t.Parallel()
	s := webServer(t, func(w http.ResponseWriter, _ *http.Request, q request) bool {
		switch q.Params.Name {
		case "json":
			answer(w, q, `"`+strings.Repeat("x", maxMessage)+`"`)
		case "event":
			w.Header().Set("Content-Type", "text/event-stream")
			sendEvent(w, `data: {"id":`+string(q.ID)+`,"result":"`+strings.Repeat("x", maxMessage)+"\"}\n\n")
		case "html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<h1>Welcome</h1>")
		case "empty":
			w.WriteHeader(http.StatusAccepted)
		case "other":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":999,"result":{}}`)
		default:
			return false
		}
		return true
	})
	r := testRemote(t, settings{URL: s.URL})
	for name, words := range map[string]string{"json": "larger than", "event": "more than", "html": "text/html", "empty": "202", "other": "something else"} {
		_, err := r.call(testCtx(t), remoteCall{name: name})
		wantLost(t, err, true, words)
	}
	mustCall(t, r, "t", `{}`)
}

func TestR33_AServerThatIsNotThereIsTold(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	url := s.URL
	_, err := testRemote(t, settings{URL: url}).call(testCtx(t), remoteCall{name: "t"})
	wantLost(t, err, false, "404")
	s.Close()
	_, err = testRemote(t, settings{URL: url}).call(testCtx(t), remoteCall{name: "t"})
	wantLost(t, err, false, "connection refused")
}
