// Toolplugin-conformance has the tools that the scenarios of the official MCP conformance suite call by name. It is a
// plugin like any other: what the suite sees of it has gone through the host and toolhost mcp.
package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk"
)

func main() { pluginsdk.ServeFunc(build) }

func build(_ context.Context, r *pluginsdk.Registry) error {
	r.Dynamic()
	return r.Set(all(r)...)
}

// all are the tools. One of them changes what r has, into something that it has not been before.
func all(r *pluginsdk.Registry) []pluginsdk.Definition {
	var mu sync.Mutex
	var tools []pluginsdk.Definition
	changes := 0
	change := simple("test_trigger_tool_change", "Puts another test_added_tool into the list.",
		func(context.Context, *pluginsdk.Call) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			changes++
			added := simple("test_added_tool", fmt.Sprintf("Was added by change %d of the list.", changes),
				func(context.Context, *pluginsdk.Call) (string, error) { return "It is there.", nil })
			return "The list has changed.", r.Set(append(tools[:len(tools):len(tools)], added)...)
		})
	tools = append(tools, change)
	tools = append(tools, contents()...)
	tools = append(tools, reports()...)
	tools = append(tools, schemas()...)
	tools = append(tools, questions()...)
	tools = append(tools, rounds()...)
	return tools
}

// none is the input of a tool without parameters.
type none struct{}

// simple is a tool without parameters whose output is a text.
func simple(id, description string, do func(context.Context, *pluginsdk.Call) (string, error)) pluginsdk.Definition {
	return pluginsdk.Tool[none, any]{
		ID:          id,
		Description: description,
		Execute:     func(ctx context.Context, c *pluginsdk.Call, _ none) (any, error) { return do(ctx, c) },
	}
}
