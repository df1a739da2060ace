package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/toolhost/toolhost/plugins/internal/upstream"
)

// configTemplate is a toolhost.yaml. Its strings are JSON strings, which YAML
// reads as they are.
const configTemplate = `# Written by plugins/upstream: the plugins use RECORDED data from loopback.
plugins:
  weather:
    path: {{json .Weather}}
    settings:
      openMeteo: {{json .OpenMeteo}}
      geocoding: {{json .Geocoding}}
      metNo: {{json .MetNo}}
      wttr: {{json .Wttr}}
  webfetch:
    path: {{json .Webfetch}}
    settings:
      allow: [{{json .Addr}}]
`

// writeConfig writes a toolhost.yaml whose plugins are the binaries below dir,
// by absolute path, and use the recorded services at addr.
func writeConfig(file, dir, addr string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	quote := func(s string) (string, error) {
		b, err := json.Marshal(s)
		return string(b), err
	}
	t, err := template.New("toolhost.yaml").Funcs(template.FuncMap{"json": quote}).Parse(configTemplate)
	if err != nil {
		return err
	}
	root := "http://" + addr
	var text strings.Builder
	err = t.Execute(&text, map[string]string{
		"Addr":      addr,
		"Weather":   filepath.Join(dir, "toolplugin-weather"),
		"Webfetch":  filepath.Join(dir, "toolplugin-webfetch"),
		"OpenMeteo": root + upstream.OpenMeteoPath,
		"Geocoding": root + upstream.GeocodingPath,
		"MetNo":     root + upstream.MetNoPath,
		"Wttr":      root + upstream.WttrPath,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text.String()), 0o600)
}
