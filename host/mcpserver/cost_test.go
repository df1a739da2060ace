package mcpserver

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/cost"
)

// TestGuard_ACallAllocates measures a tools/call in the server's process: transport, host and session, and the little that the client
// here takes itself. Raising a ceiling needs a line here that says why.
func TestGuard_ACallAllocates(t *testing.T) {
	const plain = `{"name":"echo","arguments":{"text":"a"}`
	for _, c := range []struct {
		name, first, params string
		most                cost.Ceiling
	}{
		{"legacy", initialize, plain + `}`, cost.Ceiling{Allocs: 64, Bytes: 7050}},
		{"modern", `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":` + plain + `,` + modernMeta + `}}`, plain + `,` + modernMeta + `}`, cost.Ceiling{Allocs: 74, Bytes: 8400}},
		{"modern that can be asked", `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":` + plain + `,` + askedMeta + `}}`, plain + `,` + askedMeta + `}`, cost.Ceiling{Allocs: 82, Bytes: 8950}},
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
			cost.Hold(t, c.most, func() { call(line) })
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
		cost.Hold(t, cost.Ceiling{Allocs: 104, Bytes: 11180}, call)
	})
}

// askedMeta is the _meta of a modern client that can be asked.
var askedMeta = strings.Replace(modernMeta, `"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{"roots":{}}`, 1)
