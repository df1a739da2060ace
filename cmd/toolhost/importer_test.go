package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/toolhost/toolhost/pluginsdk"
)

// importerPlugin stands for toolplugin-mcp: it has one tool, which shows what it was given.
func importerPlugin() {
	pluginsdk.ServeFunc(func(_ context.Context, r *pluginsdk.Registry) error {
		var settings json.RawMessage
		if err := r.Settings(&settings); err != nil {
			return err
		}
		var server struct{ Command, URL string }
		if err := json.Unmarshal(settings, &server); err != nil {
			return err
		}
		id := "shown"
		if server.URL != "" {
			id = "remote"
		}
		return r.Set(pluginsdk.Tool[struct{}, json.RawMessage]{
			ID: id, Description: "Shows the settings and the environment.",
			Execute: func(context.Context, *pluginsdk.Call, struct{}) (json.RawMessage, error) {
				return json.Marshal(map[string]any{"settings": settings, "environ": strings.Join(os.Environ(), " ")})
			},
		})
	})
}
