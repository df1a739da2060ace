// Package toolhost_test checks what holds of the whole tree: which way imports run, which
// dependency is behind which wall, and that the documents quote files that compile.
package toolhost_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/toolhost/toolhost/"

// imports lists, for every part of the tree, the other parts that it may import. A part is a
// directory with all below it that is not a part of its own.
var imports = map[string][]string{
	"proto/toolplugin":     {},
	"proto/wire":           {"proto/toolplugin"},
	"proto/rpc":            {"internal/runes"},
	"proto/session":        {"internal/lazy", "internal/runes", "proto/rpc", "proto/wire", "proto/toolplugin"},
	"proto/loopback":       {"proto/wire"},
	"proto/inherit":        {},
	"host/internal/near":   {},
	"host/internal/scan":   {"internal/jsonpointer"},
	"host/internal/schema": {"internal/jsonpointer", "internal/plain", "internal/runes"},
	"host/internal/policy": {"internal/jsonpointer", "internal/runes"},
	"host/internal/state":  {"internal/runes"},
	"host/internal/view":   {"internal/jsonpointer", "proto/wire"},
	"internal/partialjson": {},
	"internal/confine":     {},
	"internal/jsonpointer": {},
	"internal/rawjson":     {"internal/jsonpointer", "internal/plain"},
	"internal/plain":       {},
	"internal/lazy":        {},
	"internal/runes":       {},
	"internal/workers":     {},
	"host/internal/launch": {"internal/confine", "proto/inherit", "proto/loopback", "proto/rpc", "proto/session", "proto/wire", "proto/toolplugin"},
	"host": {"host/internal/launch", "host/internal/near", "host/internal/schema", "host/internal/policy", "host/internal/state",
		"host/internal/view", "host/internal/scan", "internal/confine", "internal/lazy", "internal/partialjson", "internal/runes", "proto/session", "proto/wire", "proto/toolplugin"},
	"host/oteltrace":                  {"host"},
	"host/config":                     {"internal/jsonpointer", "host", "host/internal/near", "host/internal/schema"},
	"host/conform":                    {"internal/jsonpointer", "internal/runes", "host", "proto/wire"},
	"host/mcpserver":                  {"host", "host/internal/schema", "host/mcpserver/internal/form", "host/mcpserver/internal/project", "internal/rawjson", "internal/workers"},
	"host/provider":                   {"host"},
	"host/mcpserver/internal/form":    {"host", "host/internal/schema", "host/mcpserver/internal/project", "internal/rawjson"},
	"host/mcpserver/internal/project": {"internal/jsonpointer", "host", "internal/rawjson", "internal/runes"},
	"pluginsdk":                       {"internal/jsonpointer", "internal/partialjson", "internal/plain", "internal/rawjson", "internal/runes", "internal/workers", "proto/inherit", "proto/loopback", "proto/rpc", "proto/session", "proto/wire", "proto/toolplugin"},
	"pluginsdk/plugintest":            {"host/conform", "host", "pluginsdk", "proto/wire"},
	"plugins":                         {"pluginsdk"},
	"plugins/mcp":                     {"internal/rawjson", "internal/runes", "pluginsdk"},
	"cmd/toolhost-sandbox":            {"internal/confine"},
	"cmd":                             {"internal/confine", "host/config", "host/mcpserver", "host/conform", "host/provider", "host", "proto/wire"},
	"examples/agent":                  {"host"},
	"examples/embed":                  {"host"},
	"examples/issues":                 {"pluginsdk"},
	"examples/plugin":                 {"pluginsdk"},
	"internal/faults":                 {"pluginsdk", "proto/wire", "proto/toolplugin"},
	"internal":                        {"host/config", "host", "pluginsdk", "pluginsdk/plugintest"},

	"internal/clients":            {"host/config", "host"},
	"internal/clients/plugin":     {"pluginsdk"},
	"internal/conformance":        {},
	"internal/conformance/client": {"host"},
	"internal/conformance/plugin": {"pluginsdk"},
}

// planned are the parts that have their place in the graph before they have code. A part that is there must not be planned.
var planned = []string{"host/provider"}

// jails lists the dependencies that only some parts may import.
var jails = map[string][]string{
	"github.com/hashicorp/go-plugin":         {"host/internal/launch"},
	"github.com/santhosh-tekuri/jsonschema":  {"host/internal/schema"},
	"github.com/invopop/jsonschema":          {"pluginsdk"},
	"go.opentelemetry.io/otel":               {"host/oteltrace"},
	"github.com/modelcontextprotocol/go-sdk": {"host/mcpserver", "plugins/mcp"},
}

// TestImportsRunOneWay holds the graph and the jails of the tree on every system, tests excepted.
func TestImportsRunOneWay(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, p := range list(t, "GOOS="+goos, "./...") {
			from, known := part(p.ImportPath)
			if !known && len(p.Imports) > 0 {
				t.Errorf("%s: %s is in no part of the tree: give it one in arch_test.go", goos, p.ImportPath)
			}
			for _, i := range p.Imports {
				if to, ok := part(i); ok && to != from && !slices.Contains(imports[from], to) {
					t.Errorf("%s: %s imports %s: %s may import %v", goos, p.ImportPath, i, from, imports[from])
				}
				for dep, may := range jails {
					if strings.HasPrefix(i, dep) && !within(p.ImportPath, may) {
						t.Errorf("%s: %s imports %s: only %v may", goos, p.ImportPath, i, may)
					}
				}
			}
		}
	}
}

// TestPartsAreThere holds that every part of the table is there or said to be planned, and that nothing else is said.
func TestPartsAreThere(t *testing.T) {
	there := map[string]bool{}
	for _, p := range list(t, "", "./...") {
		if dir, ok := part(p.ImportPath); ok {
			there[dir] = true
		}
	}
	for dir, may := range imports {
		if there[dir] == slices.Contains(planned, dir) {
			t.Errorf("%s: there: %t, and planned: %[2]t: take it out of the table or of planned", dir, there[dir])
		}
		for _, other := range may {
			if _, ok := imports[other]; !ok {
				t.Errorf("%s may import %s, which is no part of the tree", dir, other)
			}
		}
	}
	for _, dir := range planned {
		if _, ok := imports[dir]; !ok {
			t.Errorf("%s is planned and has no row in the table", dir)
		}
	}
}

// TestPluginsStayLight holds that a plugin never links what costs its start: the host's schema
// engine and the MCP SDK.
func TestPluginsStayLight(t *testing.T) {
	for _, p := range list(t, "", "-deps", "./pluginsdk") {
		for _, dep := range []string{"github.com/santhosh-tekuri/jsonschema", "github.com/modelcontextprotocol/go-sdk", module + "host"} {
			if strings.HasPrefix(p.ImportPath, dep) {
				t.Errorf("pluginsdk links %s", p.ImportPath)
			}
		}
	}
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath string
	Imports    []string
	Export     string // the file of its export data, with -export
}

func list(t *testing.T, env string, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Export"}, args...)...)
	if env != "" {
		cmd.Env = append(os.Environ(), env)
	}
	out, err := cmd.Output()
	if err != nil {
		if e, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("%v: %v\n%s", cmd, err, e.Stderr)
		}
		t.Fatalf("%v: %v", cmd, err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// part returns the part of the tree that the package path belongs to.
func part(path string) (string, bool) {
	dir, ours := strings.CutPrefix(path, module)
	for ours && dir != "" {
		if _, ok := imports[dir]; ok {
			return dir, true
		}
		dir = dir[:max(0, strings.LastIndexByte(dir, '/'))]
	}
	return "", false
}

func within(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		return path == module+dir || strings.HasPrefix(path, module+dir+"/")
	})
}
