package mcpserver

import (
	"bufio"
	"context"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// TestGuard_ACallAllocates measures a tools/call in the server's process: transport, host and session, and the little that the client
// here takes itself. Raising a ceiling needs a line here that says why.
func TestGuard_ACallAllocates(t *testing.T) {
	if largeBytes != 20<<20 {
		t.Skip("the race detector allocates")
	}
	const plain = `{"name":"echo","arguments":{"text":"a"}`
	for _, c := range []struct {
		name, first   string
		params        string
		allocs, bytes float64
	}{
		{"legacy", initialize, plain + `}`, 64, 7050},
		{"modern", `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":` + plain + `,` + modernMeta + `}}`, plain + `,` + modernMeta + `}`, 74, 8450},
		{"modern that can be asked", `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":` + plain + `,` + askedMeta + `}}`, plain + `,` + askedMeta + `}`, 82, 9000},
	} {
		t.Run("stdio, "+c.name, func(t *testing.T) {
			s := newServer(t, Config{})
			serverIn, in := io.Pipe()
			out, serverOut := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- s.ServeStdio(context.Background(), serverIn, serverOut) }() // ends with in
			lines := bufio.NewReader(out)
			call := func(line []byte) {
				if _, err := in.Write(line); err != nil {
					t.Fatal(err)
				}
				if answer, err := lines.ReadSlice('\n'); err != nil || !strings.Contains(string(answer[:min(len(answer), 40)]), `"result"`) {
					t.Fatalf("%s %v", answer, err)
				}
			}
			call([]byte(c.first + "\n"))
			line := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + c.params + "}\n")
			holds(t, c.allocs, c.bytes, func() { call(line) })
			in.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("HTTP, modern", func(t *testing.T) {
		s := newServer(t, Config{})
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + plain + `,` + modernMeta + `}}`
		h := s.Handler()
		header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, versionHeader: {firstModern}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"echo"}}
		call := func() {
			r, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = header
			w := &recorder{header: http.Header{}}
			if h.ServeHTTP(w, r); w.status != http.StatusOK {
				t.Fatalf("%d %s", w.status, &w.body)
			}
		}
		holds(t, 105, 11300, call)
	})
}

// askedMeta is the _meta of a modern client that can be asked.
var askedMeta = strings.Replace(modernMeta, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{"roots":{}}`, 1)

// holds holds f to what it may allocate in the whole process: the least of some rounds, since other goroutines run too.
func holds(t *testing.T, mostAllocs, mostBytes float64, f func()) {
	t.Helper()
	const rounds, runs = 5, 1000
	for range runs {
		f()
	}
	allocs, bytes := math.Inf(1), math.Inf(1)
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		allocs = min(allocs, float64(after.Mallocs-before.Mallocs)/runs)
		bytes = min(bytes, float64(after.TotalAlloc-before.TotalAlloc)/runs)
	}
	t.Logf("%.1f allocations and %.0f bytes a call", allocs, bytes)
	if math.Round(allocs) > mostAllocs || bytes > mostBytes {
		t.Errorf("%.1f allocations and %.0f bytes a call; the ceilings are %.0f and %.0f", allocs, bytes, mostAllocs, mostBytes)
	}
}
