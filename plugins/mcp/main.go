// Toolplugin-mcp is a remote MCP server as a plugin: its tools become tools of the host. Its settings say how the server
// is started or reached.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/toolhost/toolhost/pluginsdk"
)

func main() {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{ReplaceAttr: withoutTime}))
	pluginsdk.ServeFunc(build(log, newRemote))
}

// withoutTime leaves the time to the host, whose log this goes to.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.Attr{}
	}
	return a
}

// connector makes the connection to a server. It connects at the first use; changed is called whenever the server says that its
// tools changed, and returns at once.
type connector func(s settings, log *slog.Logger, changed func()) remote

// build returns the function that sets the tools of the server that the settings name.
func build(log *slog.Logger, connect connector) func(context.Context, *pluginsdk.Registry) error {
	return func(ctx context.Context, r *pluginsdk.Registry) error {
		var s settings
		if err := r.Settings(&s); err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
		r.Dynamic()
		return newTools(s, r, log, connect).start(ctx)
	}
}
