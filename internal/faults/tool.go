//go:build linux

package main

import (
	"context"

	"github.com/toolhost/toolhost/pluginsdk"
)

// Input is what the tools of this kit take.
type Input struct {
	Amount int `json:"amount,omitempty" jsonschema:"minimum=0,description=how much of it; if 0 the fault's own"`
}

// Output is what they return, if they return.
type Output struct {
	Did string `json:"did"`
}

// evil is what a tool does when it is called.
type evil func(ctx context.Context, in Input) (Output, error)

// called is a fault that a plugin of the SDK commits when its tool is called.
func called(name, does string, do evil) fault {
	return fault{name: name, does: does, main: func(name string) { pluginsdk.Serve(tool(name, does, do)) }}
}

// tool is a definition like any author's. It says that it is read-only, so that the checks of a plugin
// (doctor, conform) call it.
func tool(name, does string, do evil) pluginsdk.Definition {
	yes := true
	return pluginsdk.Tool[Input, Output]{
		ID: name, Description: "It " + does + ".",
		MCP:     pluginsdk.MCP{Annotations: &pluginsdk.Annotations{ReadOnly: &yes, Idempotent: &yes}},
		Execute: func(ctx context.Context, _ *pluginsdk.Call, in Input) (Output, error) { return do(ctx, in) },
	}
}

// healthy is the neighbour that must not notice.
func healthy() []fault {
	return []fault{called("healthy", "answers", func(context.Context, Input) (Output, error) { return Output{"answered"}, nil })}
}
