// Toolplugin-clients has the tools that make clients calls through MCP clients: one for every thing that is tried.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
)

type settings struct {
	Dir string `json:"dir"` // where slow says what happened to it
}

func main() {
	pluginsdk.ServeFunc(func(_ context.Context, r *pluginsdk.Registry) error {
		var s settings
		if err := r.Settings(&s); err != nil {
			return err
		}
		return r.Set(add(), steps(), slow(s.Dir), danger())
	})
}

type addIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

type addOut struct {
	Sum int `json:"sum"`
}

func add() pluginsdk.Definition {
	return pluginsdk.Tool[addIn, addOut]{
		ID: "add", Title: "Add", Description: "Adds two numbers.",
		Execute: func(_ context.Context, _ *pluginsdk.Call, in addIn) (addOut, error) {
			return addOut{in.A + in.B}, nil
		},
	}
}

type stepsIn struct {
	N int `json:"n" jsonschema:"minimum=1,maximum=100"`
}

// steps is slow enough that a client sees more than the last report: reports that nobody took yet replace each other.
func steps() pluginsdk.Definition {
	return pluginsdk.Tool[stepsIn, struct{}]{
		ID: "steps", Description: "Takes some steps and says so.",
		Execute: func(ctx context.Context, call *pluginsdk.Call, in stepsIn) (struct{}, error) {
			for i := range in.N {
				call.Progress(float64(i+1), float64(in.N), fmt.Sprintf("step %d", i+1))
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
					return struct{}{}, ctx.Err()
				}
			}
			return struct{}{}, nil
		},
	}
}

type slowIn struct {
	Key string `json:"key" jsonschema:"pattern=^[0-9a-z]+$"`
}

func slow(dir string) pluginsdk.Definition {
	return pluginsdk.Tool[slowIn, struct{}]{
		ID: "slow", Description: "Runs until it is cancelled, and writes down when.",
		Execute: func(ctx context.Context, _ *pluginsdk.Call, in slowIn) (struct{}, error) {
			if err := note(dir, in.Key+".started"); err != nil {
				return struct{}{}, err
			}
			<-ctx.Done()
			return struct{}{}, note(dir, in.Key+".cancelled")
		},
	}
}

// note writes the time in milliseconds to a file that is whole as soon as it is there.
func note(dir, name string) error {
	path := filepath.Join(dir, name)
	text := strconv.FormatInt(time.Now().UnixMilli(), 10)
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

type dangerIn struct {
	What string `json:"what"`
}

func danger() pluginsdk.Definition {
	return pluginsdk.Tool[dangerIn, string]{
		ID: "danger", Description: "Does what it is told once somebody approved.", RequireApproval: true,
		Execute: func(_ context.Context, _ *pluginsdk.Call, in dangerIn) (string, error) {
			return "did " + in.What, nil
		},
	}
}
