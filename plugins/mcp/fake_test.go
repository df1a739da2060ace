package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

func TestMain(m *testing.M) {
	if code, ran := otherLife(); ran {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

// fake is a server whose every answer a test gives.
type fake struct {
	mu      sync.Mutex
	tools   []string // as the server writes them
	warn    []string
	listErr error
	calls   []remoteCall
	closed  int
	changed func()
	listing int

	hold   chan struct{} // not nil: list answers when it is closed
	answer func(ctx context.Context, c remoteCall) (json.RawMessage, error)
}

// connect is the connector of a server.
func (f *fake) connect(_ settings, _ *slog.Logger, changed func()) remote {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = changed
	return f
}

func (f *fake) list(ctx context.Context) ([]json.RawMessage, []string, error) {
	f.mu.Lock()
	hold := f.hold
	f.listing++
	f.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return nil, nil, &lostError{text: "it is silent", err: ctx.Err()}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listErr != nil {
		return nil, nil, f.listErr
	}
	var raws []json.RawMessage
	for _, tool := range f.tools {
		raws = append(raws, json.RawMessage(tool))
	}
	return raws, f.warn, nil
}

func (f *fake) call(ctx context.Context, c remoteCall) (json.RawMessage, error) {
	f.mu.Lock()
	f.calls = append(f.calls, c)
	answer := f.answer
	f.mu.Unlock()
	if answer == nil {
		return nil, errors.New("no answer was prepared")
	}
	return answer(ctx, c)
}

func (f *fake) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	return nil
}

// set has the server list other tools, and say so.
func (f *fake) set(tools ...string) {
	f.mu.Lock()
	f.tools = tools
	f.mu.Unlock()
	f.changed()
}

// last is the last call that reached the server.
func (f *fake) last() remoteCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[len(f.calls)-1]
}

// result makes every call's result.
func (f *fake) result(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = func(context.Context, remoteCall) (json.RawMessage, error) { return json.RawMessage(text), nil }
}

// plugin serves the server's tools to a host until the test ends.
func (f *fake) plugin(t *testing.T, name, settings string) host.Plugin {
	t.Helper()
	return serve(t, name, settings, build(slog.New(slog.NewTextHandler(t.Output(), nil)), f.connect))
}

// serve serves what build sets to a host until the test ends.
func serve(t *testing.T, name, settings string, build func(context.Context, *pluginsdk.Registry) error) host.Plugin {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- pluginsdk.ServeListenerFunc(ctx, lis, build) }() // ends with ctx; joined below
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return host.Plugin{
		Name: name, Settings: json.RawMessage(settings),
		Dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", lis.Addr().String())
		},
	}
}

// someSettings are valid.
const someSettings = `{"command":"server"}`

// open runs the server's tools under a real host.
func (f *fake) open(t *testing.T, settings string) *host.Host {
	t.Helper()
	return openHost(t, host.Config{}, f.plugin(t, "far", settings))
}

func openHost(t *testing.T, cfg host.Config, plugins ...host.Plugin) *host.Host {
	t.Helper()
	cfg.Plugins = plugins
	cfg.Limits.Start, cfg.Limits.Describe = time.Minute, time.Minute // on a slow machine
	if cfg.StateDir == "" {
		cfg.StateDir = t.TempDir()
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return h
}

// status is what the host says of a plugin.
func status(t *testing.T, h *host.Host, name string) host.PluginStatus {
	t.Helper()
	for s := range h.Plugins() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no plugin %s", name)
	return host.PluginStatus{}
}

// eventually waits for what no signal tells.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func names(h *host.Host) (names []string) {
	for tool := range h.Tools() {
		names = append(names, tool.Name)
	}
	return names
}
