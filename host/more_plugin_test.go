//go:build unix

package host_test

import (
	"context"
	"crypto/fips140"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// moreTools are the tools of the plugin "more": what the tests of output, limits and surroundings need.
func moreTools() []pluginsdk.Definition {
	return append(streamTools(),
		tool("echo", func(_ context.Context, _ *pluginsdk.Call, in echoIn) (echoIn, error) { return in, nil }),
		tool("big", func(_ context.Context, _ *pluginsdk.Call, in countIn) (string, error) {
			return strings.Repeat("x", in.N-2), nil // and the quotes
		}),
		tool("size", func(_ context.Context, _ *pluginsdk.Call, in json.RawMessage) (int, error) { return len(in), nil }),
		tool("sorry", func(_ context.Context, _ *pluginsdk.Call, in countIn) (string, error) {
			return "", fmt.Errorf("%s.", strings.Repeat("e", in.N-1))
		}),
		tool("routes", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return "printed", printEveryWay() }),
		tool("record", func(_ context.Context, c *pluginsdk.Call, in countIn) (string, error) {
			c.Logger().Error("start "+strings.Repeat("é", in.N/2), "attribute", 1)
			return "logged", nil
		}),
		tool("trace", func(_ context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
			c.Logger().Warn("it broke\ngoroutine 1 [running]:\n\tmain.main()")
			return "logged", nil
		}),
		tool("flood", func(_ context.Context, _ *pluginsdk.Call, in countIn) (string, error) {
			for i := range in.N {
				fmt.Fprintf(os.Stderr, "[ERROR] level=error msg=flood n=%d\n", i)
			}
			return "flooded", nil
		}),
		tool("asklater", func(ctx context.Context, c *pluginsdk.Call, in countIn) (string, error) {
			select {
			case <-time.After(time.Duration(in.N) * time.Millisecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
			a, err := c.Elicit(ctx, pluginsdk.Question{Message: "still there?"})
			return string(a.Action) + " " + string(a.Content), err
		}),
		tool("surroundings", func(ctx context.Context, _ *pluginsdk.Call, in echoIn) (string, error) {
			return useSurroundings(ctx, in.Text)
		}),
		tool("fips", func(context.Context, *pluginsdk.Call, struct{}) (bool, error) { return fips140.Enabled(), nil }),
		tool("spans", func(ctx context.Context, c *pluginsdk.Call, _ map[string]any) (string, error) {
			return "done", c.Span(ctx, "part", func(context.Context) error { return nil })
		}),
		tool("traced", func(_ context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
			return c.Traceparent() + " " + c.Tracestate(), nil
		}),
		tool("nested", func(ctx context.Context, _ *pluginsdk.Call, _ struct{}) (string, error) { return nestedHost(ctx) }),
		tool("drop", func(context.Context, *pluginsdk.Call, struct{}) (string, error) { return "", dropSockets() }),
	)
}

// streamTools need their input or output in pieces, or approval.
func streamTools() []pluginsdk.Definition {
	slow := tool("slow", func(_ context.Context, c *pluginsdk.Call, in map[string]any) (int, error) {
		return len(in["text"].(string)), nil
	})
	slow.OnInputDelta = func(ctx context.Context, c *pluginsdk.Call, d string) error {
		c.Progress(float64(len(d)), 0, "")
		time.Sleep(time.Millisecond)
		return nil
	}
	var never atomic.Bool
	deaf := tool("deaf", func(context.Context, *pluginsdk.Call, map[string]any) (string, error) { return "never", nil })
	deaf.OnInputDelta = func(ctx context.Context, _ *pluginsdk.Call, _ string) error {
		<-ctx.Done()
		return ctx.Err()
	}
	writer := tool("writer", func(ctx context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
		for {
			if err := c.Write(ctx, strings.Repeat("w", 10<<10)); err != nil {
				return "", err
			}
		}
	})
	approves := func(id string, needs func() (bool, error)) pluginsdk.Definition {
		t := tool(id, func(_ context.Context, _ *pluginsdk.Call, in echoIn) (string, error) {
			note(in.Text)
			never.Store(true)
			return "ran", nil
		})
		t.NeedsApproval = func(context.Context, *pluginsdk.Call, echoIn) (bool, error) { return needs() }
		return t
	}
	return []pluginsdk.Definition{
		slow, deaf, writer,
		approves("asksnot", func() (bool, error) { return false, nil }),
		approves("askfails", func() (bool, error) { return false, fmt.Errorf("the oracle is silent") }),
		approves("askpanics", func() (bool, error) { panic("the oracle is mad") }),
		approves("askdies", func() (bool, error) { os.Exit(4); return false, nil }),
		approves("askhangs", func() (bool, error) { select {} }),
	}
}

// printEveryWay prints a line by each way that a program has.
func printEveryWay() error {
	fmt.Println("by fmt")
	fmt.Fprintln(os.Stderr, "by fmt to stderr")
	log.Print("by log")
	slog.Info("by slog")
	println("by println")
	_, err := syscall.Write(1, []byte("by descriptor 1\n"))
	if err == nil {
		_, err = syscall.Write(2, []byte("by descriptor 2\n"))
	}
	if err == nil {
		child := exec.Command("/bin/sh", "-c", "echo by a child; echo by a child to stderr >&2") // a program in C
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		err = child.Run()
	}
	return err
}

// useSurroundings fetches url over TLS, writes a temporary file and runs a program by its name.
func useSurroundings(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{}}}).Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "surroundings")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	home, err := os.UserHomeDir()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "cat", f.Name()).CombinedOutput()
	return fmt.Sprintf("%s, %d bytes, home %s, lang %s", body, len(out), home, os.Getenv("LANG")), err
}

// nestedHost is a host within a plugin. The variables of the outer host's handshake are garbage by then.
func nestedHost(ctx context.Context) (string, error) {
	for _, kv := range garbage {
		k, v, _ := strings.Cut(kv, "=")
		if err := os.Setenv(k, v); err != nil {
			return "", err
		}
	}
	dir, err := os.MkdirTemp("", "nested")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	h, err := host.Open(ctx, host.Config{StateDir: dir, Plugins: []host.Plugin{self("inner", "more")}})
	if err != nil {
		return "", err
	}
	defer h.Close()
	res, err := h.Call(ctx, host.Call{Tool: "inner/echo", Input: json.RawMessage(`{"text":"from within"}`)})
	if err != nil {
		return "", err
	}
	return string(res.Output), nil
}

// garbage are variables of go-plugin's handshake and ours that mean nothing.
var garbage = []string{
	"PLUGIN_CLIENT_CERT=garbage", "PLUGIN_MULTIPLEX_GRPC=true", "PLUGIN_PROTOCOL_VERSIONS=77", "PLUGIN_MIN_PORT=x", "PLUGIN_MAX_PORT=y",
	"PLUGIN_UNIX_SOCKET_DIR=/garbage", "PLUGIN_UNIX_SOCKET_GROUP=garbage", "TOOLHOST_PLUGIN=garbage", "TOOLHOST_PLUGIN_CONN=99",
}

// dropSockets shuts every socket of the process down, as if something had cut the connection.
func dropSockets() error {
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range fds {
		if target, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(target, "socket:") {
			var fd int
			fmt.Sscan(e.Name(), &fd)
			_ = syscall.Shutdown(fd, syscall.SHUT_RDWR)
		}
	}
	select {}
}
