// Toolplugin-mcp is a remote MCP server as a plugin: its tools become tools of the host. Its settings say how the server
// is started or reached.
package main

import (
	"context"

	"github.com/toolhost/toolhost/pluginsdk"
)

func main() {
	pluginsdk.ServeFunc(func(ctx context.Context, r *pluginsdk.Registry) error {
		var s settings
		return r.Settings(&s)
	})
}
