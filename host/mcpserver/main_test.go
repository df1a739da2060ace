package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/proto/wire"
)

// TestMain is the test binary's other life: started by a host, it is a plugin with the tools below.
func TestMain(m *testing.M) {
	if os.Getenv(wire.CookieKey) != "" {
		if kind := os.Getenv("TEST_PLUGIN"); kind != "" {
			servePlugin(kind)
			return
		}
		pluginsdk.Serve(testTools()...)
		return
	}
	os.Exit(runTests(m))
}

// runTests gives the tests a state directory of their own, in place of the user's.
func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mcpserver-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", dir)
	defer func() {
		if sharedHost.host != nil {
			_ = sharedHost.host.Close()
		}
	}()
	return m.Run()
}

// sharedHost is that of the tests that want nothing special of theirs: a plugin's start is what costs most here.
var sharedHost struct {
	once sync.Once
	host *host.Host
	err  error
}

// anyHost returns the shared host.
func anyHost(t testing.TB) *host.Host {
	t.Helper()
	sharedHost.once.Do(func() { sharedHost.host, sharedHost.err = host.Open(context.Background(), kitConfig()) })
	if sharedHost.err != nil {
		t.Fatal(sharedHost.err)
	}
	return sharedHost.host
}

func kitConfig() host.Config {
	return host.Config{
		Plugins: []host.Plugin{{Name: "kit", Path: os.Args[0], Sandbox: host.Sandbox{Profile: host.ProfileNone}}},
		Limits:  host.Limits{Start: time.Minute, Describe: time.Minute},
	}
}

// testHost opens a host with this binary as the plugin "kit".
func testHost(t testing.TB, change func(*host.Config)) *host.Host {
	t.Helper()
	cfg := kitConfig()
	if change != nil {
		change(&cfg)
	}
	h, err := host.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// leaks holds that a test leaves no goroutine behind. Call it before anything that is to be cleaned up.
func leaks(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
}

func tool[In, Out any](id string, f func(context.Context, *pluginsdk.Call, In) (Out, error)) pluginsdk.Tool[In, Out] {
	return pluginsdk.Tool[In, Out]{ID: id, Description: "test tool " + id, Execute: f}
}

type none struct{}

type textIn struct {
	Text string `json:"text,omitempty"`
}

// answerText says what a question gave.
func answerText(a pluginsdk.Answer) string {
	return strings.TrimSpace(a.Action + " " + string(a.Content))
}

const nameSchema = `{"title":"user_name","type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}`

func testTools() []pluginsdk.Definition {
	ask := func(ctx context.Context, c *pluginsdk.Call, schema string) (string, error) {
		a, err := c.Elicit(ctx, pluginsdk.Question{Message: "What is your name?", Schema: json.RawMessage(schema)})
		return answerText(a), err
	}
	survey := tool("survey", func(_ context.Context, c *pluginsdk.Call, _ none) (string, error) {
		var got struct {
			Color string `json:"color"`
		}
		if ok, err := c.Resume(&got); ok || err != nil {
			return "color " + got.Color, err
		}
		return "", c.Suspend(map[string]string{"question": "Which color?"})
	})
	survey.ResumeSchema = json.RawMessage(`{"type":"object","properties":{"color":{"type":"string","enum":["red","blue"]}},"required":["color"]}`)
	deep := survey
	deep.ID, deep.ResumeSchema = "deep", json.RawMessage(`{"type":"object","properties":{"color":{"type":"object"}}}`)
	danger := tool("danger", func(_ context.Context, _ *pluginsdk.Call, in textIn) (string, error) {
		return "boom", os.WriteFile(in.Text, []byte("it ran"), 0o600)
	})
	danger.RequireApproval, danger.Title = true, `Approved by "admin"`
	requestContext := tool("context", func(_ context.Context, c *pluginsdk.Call, _ none) (string, error) {
		var v json.RawMessage
		err := c.RequestContext(&v)
		return string(v), err
	})
	requestContext.RequestContextSchema = json.RawMessage(`{"type":"object","properties":{"com.example/user":{"type":"string"},"secret":{"type":"string"}}}`)
	return []pluginsdk.Definition{
		survey, deep, danger, requestContext,
		tool("echo", func(_ context.Context, _ *pluginsdk.Call, in textIn) (string, error) { return in.Text, nil }),
		tool("fail", func(context.Context, *pluginsdk.Call, none) (string, error) {
			return "", errors.New("it cannot be done")
		}),
		tool("trace", func(_ context.Context, c *pluginsdk.Call, _ none) (string, error) { return c.Traceparent(), nil }),
		tool("name", func(ctx context.Context, c *pluginsdk.Call, _ textIn) (string, error) { return ask(ctx, c, nameSchema) }),
		tool("password", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			return ask(ctx, c, `{"type":"object","properties":{"dbPassword":{"type":"string"}}}`)
		}),
		tool("number", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			return ask(ctx, c, `{"type":"integer","minimum":1}`)
		}),
		tool("nested", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			return ask(ctx, c, `{"type":"object","properties":{"a":{"type":"object"}}}`)
		}),
		tool("twice", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			one, err := ask(ctx, c, nameSchema)
			if err != nil {
				return "", err
			}
			two, err := ask(ctx, c, nameSchema)
			return one + " " + two, err
		}),
		tool("sample", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			a, err := c.Sample(ctx, json.RawMessage(`{"messages":[],"maxTokens":10}`))
			if err == nil && !a.Accepted() {
				err = errors.New("no model answered")
			}
			return answerText(a), err
		}),
		tool("lost", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			_, err := c.Roots(ctx)
			return "", errors.Join(err, &pluginsdk.Error{Message: "the server was lost", Outcome: pluginsdk.OutcomeUnknown})
		}),
		tool("all", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			all, err := c.ElicitAll(ctx,
				pluginsdk.Question{Message: "name?", Schema: json.RawMessage(nameSchema)},
				pluginsdk.Question{Kind: pluginsdk.QuestionSampling, Params: json.RawMessage(`{"messages":[],"maxTokens":10}`)},
				pluginsdk.Question{Kind: pluginsdk.QuestionRoots})
			var texts []string
			for _, a := range all {
				texts = append(texts, answerText(a))
			}
			return strings.Join(texts, "; "), err
		}),
		tool("steps", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			for _, n := range []float64{0, 50, 50, 40, 100} { // each is on its way before the next, or the latest would win
				c.Progress(n, 100, fmt.Sprintf("at %v", n))
				if !pause(ctx, 30*time.Millisecond) {
					return "", ctx.Err()
				}
			}
			return "done", nil
		}),
		tool("silent", func(ctx context.Context, _ *pluginsdk.Call, in struct {
			MS int `json:"ms"`
		}) (string, error) {
			pause(ctx, time.Duration(in.MS)*time.Millisecond)
			return "done", ctx.Err()
		}),
		tool("chatty", func(ctx context.Context, c *pluginsdk.Call, _ none) (string, error) {
			for n := range 20_000 {
				c.Progress(float64(n), 0, "")
				c.Logger().Info("chatter", "n", n)
			}
			return "done", nil
		}),
		tool("logs", func(_ context.Context, c *pluginsdk.Call, _ none) (string, error) {
			c.Logger().Debug("small")
			c.Logger().Info("plain\nforged=1")
			c.Logger().Warn("with", "plugin", "other", "n", 3)
			return "done", nil
		}),
		tool("hang", func(ctx context.Context, c *pluginsdk.Call, in textIn) (string, error) {
			c.Progress(1, 0, "hanging")
			<-ctx.Done()
			return "", os.WriteFile(in.Text, []byte("canceled"), 0o600)
		}),
		tool("big", func(context.Context, *pluginsdk.Call, none) (string, error) {
			return strings.Repeat("x", largeBytes), nil
		}),
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
