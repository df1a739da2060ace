// Package plugintest runs an author's tools through the real host, in memory or as a real process, so that
// a test sees what a user of the tool sees: schemas, defaults, validation, deadlines, events and errors.
//
//	func TestGreet(t *testing.T) {
//		h := plugintest.Open(t, greet)
//		res, err := h.Call(t.Context(), host.Call{Tool: "greet", Input: []byte(`{"name":"Ada"}`)})
//		...
//	}
//
// What a tool asks while it runs goes to host.Call.Elicit, and what it logs to host.Call.Log.
//
// [Conform] runs the checks of a built plugin that toolhost doctor BINARY runs: noise, crashes, huge inputs,
// cancelling, stopping, leaks.
//
// Everything that a helper here starts is stopped and joined when the test ends.
package plugintest

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"google.golang.org/grpc/test/bufconn"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/conform"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/proto/wire"
)

// Config says how to run the plugin under test. The zero value works.
type Config struct {
	Settings json.RawMessage // the plugin's settings; if empty, none
	Limits   host.Limits     // zero fields are the host's defaults
	Args     []string        // of a real process
	Env      []string        // of a real process, K=V
	Sandbox  host.Sandbox    // of a real process; if zero, the host's default
	Tracer   host.Tracer     // receives the host's spans; if nil, none are made
	Calls    []conform.Call  // of Conform: inputs to use; they allow their tools to be called
	Unsafe   bool            // of Conform: call every tool, also those that may change something
}

// Open runs tools in memory with the zero Config.
func Open(t testing.TB, tools ...pluginsdk.Definition) *host.Host {
	t.Helper()
	return Config{}.Open(t, tools...)
}

// Open runs tools in this process, over the same gRPC service and through the same host as a real plugin.
// Tools that cannot be registered fail the test with the reason.
func (c Config) Open(t testing.TB, tools ...pluginsdk.Definition) *host.Host {
	t.Helper()
	lis := bufconn.Listen(1 << 20)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() { // ends with ctx
		if err := pluginsdk.ServeListener(ctx, lis, tools...); err != nil && ctx.Err() == nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); serving.Wait() })
	return c.host(t, host.Plugin{
		Name: "test", Settings: c.Settings,
		Dial: func(ctx context.Context) (net.Conn, error) { return lis.DialContext(ctx) },
	})
}

// Binary runs a built plugin as a real process with the zero Config.
func Binary(t testing.TB, path string) *host.Host {
	t.Helper()
	return Config{}.Binary(t, path)
}

// Binary runs the plugin binary at path as a real process.
func (c Config) Binary(t testing.TB, path string) *host.Host {
	t.Helper()
	return c.host(t, host.Plugin{Path: path, Args: c.Args, Settings: c.Settings, Env: c.Env, Sandbox: c.Sandbox})
}

// Build builds the main package in dir (as go build understands it, from the test's working directory) and
// returns the plugin binary's path, in a directory that is removed when the test ends. A failure fails the
// test with the compiler's words.
func Build(t testing.TB, dir, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), wire.BinaryPrefix+name)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, dir)
	cmd.Env = os.Environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", dir, err, out)
	}
	return path
}

func (c Config) host(t testing.TB, p host.Plugin) *host.Host {
	t.Helper()
	h, err := host.Open(t.Context(), host.Config{
		Plugins: []host.Plugin{p}, StateDir: t.TempDir(),
		Limits: c.Limits,
		Tracer: c.Tracer,
		Eager:  true,
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	for s := range h.Plugins() {
		if s.Error != "" {
			t.Fatalf("plugin %s: %s", s.Name, s.Error)
		}
		for _, bad := range s.BadTools {
			t.Fatalf("tool %s: %s", bad.ID, bad.Reason)
		}
	}
	return h
}
