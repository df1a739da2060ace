package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/mcpserver"
)

// mcpPath is where the protocol is served.
const mcpPath = "/mcp"

// The front's own deadlines. A response has none: it may be a stream.
const (
	headersMost = 10 * time.Second  // for the headers of a request
	bodyMost    = 30 * time.Second  // for its body
	idleMost    = 120 * time.Second // between two requests of a connection
	answersMost = 800 * time.Millisecond
)

// httpFront is the listener of mcp --http.
type httpFront struct {
	app  *app
	ln   net.Listener
	url  string
	open bool // there is no token
	log  *slog.Logger
}

// listen checks who could reach the address and how they prove who they are, and takes the port. It completes serve.
func (a *app) listen(f mcpFlags, named map[string]string, serve *mcpserver.Config) (*httpFront, error) {
	name, _, err := net.SplitHostPort(f.http)
	if err != nil {
		return nil, usagef("mcp: --http %q: want HOST:PORT, such as 127.0.0.1:8787", f.http)
	}
	tokens, err := readTokens(f.tokenFile, named)
	if err != nil {
		return nil, err
	}
	ip := net.ParseIP(name)
	if name != "localhost" && !ip.IsLoopback() {
		switch {
		case !f.allowRemote:
			return nil, usagef("mcp: --http %s: other machines reach this address; use 127.0.0.1, or add --allow-remote and a token", f.http)
		case len(tokens) == 0:
			return nil, usagef("mcp: --http %s: other machines reach this address, and nothing says who may call: add --token-file, or set $%s", f.http, tokenEnv)
		}
		if name != "" && !ip.IsUnspecified() {
			serve.AllowedHosts = append(serve.AllowedHosts, strings.Trim(name, "[]"))
		}
		a.warn("this is plain HTTP: let a proxy with TLS stand between it and other machines")
	}
	serve.Verify = verifier(tokens)
	ln, err := net.Listen("tcp", f.http)
	if err != nil {
		return nil, usagef("mcp: --http: %w", err)
	}
	at, ok := ln.Addr().(*net.TCPAddr)
	if name == "localhost" && (!ok || !at.IP.IsLoopback()) {
		return nil, errors.Join(usagef("mcp: --http %s: localhost is %s here, which other machines reach", f.http, ln.Addr()), ln.Close())
	}
	log, err := a.logger()
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return &httpFront{app: a, ln: ln, url: "http://" + ln.Addr().String() + mcpPath, open: len(tokens) == 0, log: log}, nil
}

func (f *httpFront) close() { _ = f.ln.Close() } // closed already, if it was served

// serve serves until ctx ends. Then requests that run may be answered, for a bounded time.
func (f *httpFront) serve(ctx context.Context, handler http.Handler) error {
	var running sync.WaitGroup
	mux := http.NewServeMux()
	mux.Handle(mcpPath, bounded(handler))
	srv := &http.Server{
		Handler: mux, ReadHeaderTimeout: headersMost, IdleTimeout: idleMost, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(f.log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	running.Go(func() { served <- srv.Serve(f.ln) }) // ends with Shutdown or Close
	if f.app.json {
		_ = f.app.err.JSON([]byte(`{"url":"` + f.url + `"}` + "\n")) // an address needs no escapes
	} else {
		f.app.warn("serving MCP at %s", f.url)
		if f.open {
			f.app.warn("there is no token: every program and user of this machine may call")
		}
	}
	defer running.Wait()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), answersMost)
	defer cancel()
	if srv.Shutdown(bound) != nil { // streams go on until they are cut
		_ = srv.Close() // the listener is closed, and nobody is left to tell
	}
	return nil
}

// bounded gives a request's body a deadline, which is taken back once it was read: the answer may take its time.
func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			rc := http.NewResponseController(w)
			if rc.SetReadDeadline(time.Now().Add(bodyMost)) == nil {
				r.Body = &timedBody{ReadCloser: r.Body, control: rc}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// timedBody is a body whose deadline ends with it.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		_ = b.control.SetReadDeadline(time.Time{}) // of a connection that is gone
	}
	return n, err
}
