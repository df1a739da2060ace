package mcpserver

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
)

// connect connects the SDK's client in one era, over one transport.
func connect(t *testing.T, s *Server, e project.Era, transport string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
		},
	})
	opts := &mcp.ClientSessionOptions{}
	if e == project.Legacy {
		opts.ProtocolVersion = "2025-11-25"
	}
	var over mcp.Transport
	switch transport {
	case "stdio":
		serverIn, in := io.Pipe()
		out, serverOut := io.Pipe()
		done := make(chan struct{})
		go func() { // ends with the client
			defer close(done)
			if err := s.ServeStdio(context.Background(), serverIn, serverOut); err != nil {
				t.Errorf("ServeStdio: %v", err)
			}
			serverOut.Close()
		}()
		t.Cleanup(func() { <-done })
		over = &mcp.IOTransport{Reader: out, Writer: in}
	default:
		c := startHTTP(t, s)
		over = &mcp.StreamableClientTransport{Endpoint: c.url, HTTPClient: c.client}
	}
	session, err := client.Connect(t.Context(), over, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func TestClient_OfTheSDKInBothErasOverBothTransports(t *testing.T) {
	for _, transport := range []string{"stdio", "http"} {
		for e, name := range []string{"legacy", "modern"} {
			t.Run(transport+" "+name, func(t *testing.T) {
				leaks(t)
				s := newServer(t, Config{Host: newHost(t, host.Config{})})
				c := connect(t, s, project.Era(e), transport)
				list, err := c.ListTools(t.Context(), nil)
				if err != nil || len(list.Tools) != len(wireTools()) {
					t.Fatalf("list: %v %v", list, err)
				}
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": "hello"}})
				if err != nil || res.IsError {
					t.Errorf("echo: %v %v", res, err)
				}
				res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": 5}})
				if err != nil || !res.IsError {
					t.Errorf("bad arguments: %v %v", res, err)
				}
				if _, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "nope"}); err == nil {
					t.Error("an unknown tool is called")
				}
				res, err = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask", Arguments: map[string]any{"message": "Who?"}})
				if err != nil || res.IsError || !strings.Contains(res.Content[0].(*mcp.TextContent).Text, "Ada") {
					t.Errorf("ask: %+v %v", res, err)
				}
			})
		}
	}
}

func TestStdio_EndsWithItsContext(t *testing.T) {
	leaks(t)
	sig := listenSignals(t)
	s := newServer(t, Config{})
	serverIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(ctx, serverIn, io.Discard) }() // ends with ctx
	io.WriteString(in, initialize+"\n"+sig.call("1")+"\n")
	sig.await(t, "running")
	cancel()
	sig.await(t, "cancelled")
	if err := <-ended; err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestStdio_EndsWhenNobodyReads(t *testing.T) {
	s := newServer(t, Config{})
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(t.Context(), serverIn, serverOut) }() // ends with the output
	out.Close()
	io.WriteString(in, initialize+"\n")
	if err := <-ended; err == nil {
		t.Error("an output that cannot be written to is no error")
	}
}

func TestClose_EndsEverySessionAndStream(t *testing.T) {
	leaks(t)
	sig := listenSignals(t)
	s := newServer(t, Config{})
	std := startStdio(t, s)
	std.shake()
	std.send(sig.call("1"))
	sig.await(t, "running")
	c := startHTTP(t, s)
	c.shake()
	get := c.request(t.Context(), "GET", "")
	defer get.Body.Close()
	listen := c.request(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+modernMeta+`}}`, modernCall("subscriptions/listen", "")...)
	defer listen.Body.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	sig.await(t, "cancelled")
	if err := <-std.ended; err != nil {
		t.Errorf("ServeStdio: %v", err)
	}
	io.Copy(io.Discard, get.Body)
	io.Copy(io.Discard, listen.Body)
	if status, _ := c.post(ping); status != 503 {
		t.Errorf("then a ping gets %d", status)
	}
}
