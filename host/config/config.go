// Package config reads toolhost.yaml.
//
// A file is checked with the published JSON Schema (see [Schema]) and then
// turned into the plain data of package host. The schema is what decides which
// keys exist and what they hold: there is no second list in the code.
//
//	plugins:
//	  weather: {path: ./bin/toolplugin-weather, settings: {units: metric}}
//	tools: {forecast: weather}
//	policy: {default: ask, rules: [{allow: {tool: "weather/*"}}]}
//	limits: {call: 30s, output: 8MiB}
//	mcp:
//	  files: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", /srv]}
//	serve: {prefix: true}
package config

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host"
)

// MaxSize is the largest file that Load reads, in bytes.
const MaxSize = 1 << 20

// File is what one toolhost.yaml says.
type File struct {
	Path    string            // as it was named
	Plugins []host.Plugin     // of the block plugins, by name; paths are absolute or relative to the working directory, never to the file
	Servers []Server          // of the block mcp, by name; disabled ones are left out
	Tools   map[string]string // alias -> tool id or plugin/id
	Policy  host.Policy       // compiles; Source of every rule is file:line
	Limits  host.Limits       // zero fields were not given

	Watch       time.Duration    // how often files are looked at; 0: never
	Early       host.Early       // when pieces of an input may reach a plugin; EarlyDecided if it was not given
	Definitions host.Definitions // what becomes of tools whose definitions seem to speak to the model
	Serve       Serve            // how toolhost mcp offers the tools

	// Importer is the program that makes an MCP server a plugin. It is not read from the file. If empty, toolplugin-mcp
	// beside the running program, or in ../libexec/toolhost.
	Importer string
}

// Config returns a host configuration that holds the file's content and nothing else. Every server of the block mcp is a
// plugin of its name.
func (f *File) Config() host.Config {
	plugins := f.Plugins
	if len(f.Servers) > 0 {
		plugins = slices.Clone(plugins)
		for _, s := range f.Servers {
			plugins = append(plugins, s.Plugin(f.Importer))
		}
	}
	return host.Config{Plugins: plugins, Tools: f.Tools, Policy: f.Policy, Early: f.Early, Limits: f.Limits, Watch: f.Watch, Definitions: f.Definitions}
}

// Load reads the file at path. If it cannot be read, the error is the *fs.PathError of the operating system;
// if its content is wrong, an *Error.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readBounded(f)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a toolhost.yaml. path names it in errors, and relative plugin paths are relative to
// its directory. An empty text is an empty configuration. The error is an *Error.
func Parse(path string, text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, &Error{File: path, Faults: []Fault{{Message: "the file is larger than 1 MiB"}}}
	}
	doc, faults := parseYAML(text)
	if len(faults) > 0 {
		return nil, &Error{File: path, Faults: faults}
	}
	if err := check(path, doc, schemaText); err != nil {
		return nil, err
	}
	d := decoder{name: path, dir: filepath.Dir(path), doc: doc}
	file := d.file(path)
	if len(d.faults) > 0 {
		return nil, &Error{File: path, Faults: d.faults}
	}
	return file, nil
}
