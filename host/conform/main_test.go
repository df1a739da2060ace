package conform_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host/conform"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/proto/wire"
)

// TestMain is also the main function of the plugins that the tests check: their first argument says which, also where they are
// run by hand.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "plugin" {
		os.Args[0] = wire.BinaryPrefix + os.Args[2]
		if p, ok := plugins()[os.Args[2]]; ok {
			mark := os.Args[3]
			os.Args = os.Args[:1]
			pluginsdk.Serve(p(mark)...)
		}
		fmt.Fprintln(os.Stderr, "no plugin is named", os.Args[2])
		os.Exit(1)
	}
	temp, err := os.MkdirTemp("/tmp", "conform")
	if err == nil {
		err = os.Setenv("TMPDIR", temp)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		fmt.Fprintln(os.Stderr, "files are left:", left)
		code = 1
	}
	if err := errors.Join(goleak.Find(), os.RemoveAll(temp)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// config checks one of the plugins. mark is a file that its tools write a line to with every call.
func config(plugin, mark string) conform.Config {
	return conform.Config{Path: os.Args[0], Args: []string{"plugin", plugin, mark}, Env: []string{"GORACE=atexit_sleep_ms=0"}, Leaks: 80}
}

type textIn struct {
	Text string `json:"text" jsonschema:"minLength=1"`
}

type out struct {
	Length int `json:"length"`
}

// length is a tool that writes what it gets to the mark.
func length(id, mark string, a *pluginsdk.Annotations) pluginsdk.Tool[textIn, out] {
	return pluginsdk.Tool[textIn, out]{
		ID: id, Description: "Measures a text.", MCP: pluginsdk.MCP{Annotations: a},
		Execute: func(_ context.Context, _ *pluginsdk.Call, in textIn) (out, error) {
			f, err := os.OpenFile(mark, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				return out{}, err
			}
			_, err = f.WriteString(id + " " + in.Text[:min(len(in.Text), 20)] + "\n")
			return out{len(in.Text)}, errors.Join(err, f.Close())
		},
	}
}

// plugins are the plugins of the tests.
func plugins() map[string]func(mark string) []pluginsdk.Definition {
	yes := true
	safe := &pluginsdk.Annotations{ReadOnly: &yes}
	return map[string]func(string) []pluginsdk.Definition{
		"good": func(mark string) []pluginsdk.Definition { return []pluginsdk.Definition{length("length", mark, safe)} },
		"careful": func(mark string) []pluginsdk.Definition {
			return []pluginsdk.Definition{
				length("safe", mark, safe), length("silent", mark, nil),
				length("open", mark, &pluginsdk.Annotations{ReadOnly: &yes, OpenWorld: &yes}),
			}
		},
		"none": func(string) []pluginsdk.Definition { return nil },
		"waits": func(string) []pluginsdk.Definition { // heeds its context
			return []pluginsdk.Definition{pluginsdk.Tool[struct{}, out]{
				ID: "waits", Description: "Takes a while.", MCP: pluginsdk.MCP{Annotations: safe},
				Execute: func(ctx context.Context, _ *pluginsdk.Call, _ struct{}) (out, error) {
					select {
					case <-time.After(500 * time.Millisecond): // longer than anything that is cancelled
						return out{}, nil
					case <-ctx.Done():
						return out{}, ctx.Err()
					}
				},
			}}
		},
		"brittle": func(string) []pluginsdk.Definition { // bears what people write
			return []pluginsdk.Definition{pluginsdk.Tool[textIn, out]{
				ID: "brittle", Description: "Likes short texts.", MCP: pluginsdk.MCP{Annotations: safe},
				Execute: func(_ context.Context, _ *pluginsdk.Call, in textIn) (out, error) {
					if strings.Contains(in.Text, "\x00") {
						os.Exit(4)
					}
					return out{len(in.Text)}, nil
				},
			}}
		},
		"bulky": func(string) []pluginsdk.Definition { // bears short texts
			return []pluginsdk.Definition{pluginsdk.Tool[textIn, out]{
				ID: "bulky", Description: "Likes short texts.", MCP: pluginsdk.MCP{Annotations: safe},
				Execute: func(_ context.Context, _ *pluginsdk.Call, in textIn) (out, error) {
					if len(in.Text) > 500_000 {
						panic("too long")
					}
					return out{len(in.Text)}, nil
				},
			}}
		},
		"example": func(string) []pluginsdk.Definition { // its example breaks its schema
			return []pluginsdk.Definition{pluginsdk.Tool[textIn, out]{
				ID: "example", Description: "Has an example.", InputExamples: []textIn{{}}, MCP: pluginsdk.MCP{Annotations: safe},
				Execute: func(context.Context, *pluginsdk.Call, textIn) (out, error) { return out{}, nil },
			}}
		},
	}
}
