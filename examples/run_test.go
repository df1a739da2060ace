// Package examples_test builds what the README shows and runs it.
package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeExamplesRun builds the command and the plugins into a directory of their own, lays the
// README's script and configuration beside them, and runs them there.
func TestReadmeExamplesRun(t *testing.T) {
	dir := t.TempDir()
	for out, pkg := range map[string]string{
		"bin/agent":                        "./examples/agent",
		"bin/embed":                        "./examples/embed",
		"bin/toolhost":                     "./cmd/toolhost",
		"bin/toolplugin-mcp":               "./plugins/mcp",
		"bin/plugins/toolplugin-wordcount": "./examples/plugin",
		"bin/more/toolplugin-weather":      "./plugins/weather",
		"bin/more/toolplugin-webfetch":     "./plugins/webfetch",
	} {
		run(t, "..", "go", "build", "-trimpath", "-o", filepath.Join(dir, out), pkg)
	}
	for _, file := range []string{"tour.sh", "toolhost.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// The configuration names plugins that the tour's directory is better without.
		text = []byte(strings.ReplaceAll(string(text), "./bin/plugins/toolplugin-we", "./bin/more/toolplugin-we"))
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("tour", func(t *testing.T) {
		contains(t, run(t, dir, "sh", "-eu", "tour.sh"),
			"Counts the words of a text.", "the text whose words are counted", `{"words":3}`, `"type":"tool-call-delta"`, `"type":"tool-result"`)
	})
	t.Run("embed", func(t *testing.T) {
		contains(t, run(t, dir, "bin/embed", "bin/plugins"), "wordcount: Counts the words of a text.\n", `{"words":3}`)
	})
	t.Run("agent", func(t *testing.T) {
		contains(t, run(t, dir, "bin/agent", "bin/plugins"), "offer wordcount: ", `writes {"te`, `approve wordcount {"text": "one two three"}`, `the model reads {"words":3}`)
	})
	t.Run("doctor", func(t *testing.T) { // A3
		contains(t, run(t, dir, "bin/toolhost", "doctor", "bin/plugins/toolplugin-wordcount", "--input", `wordcount={"text":"one two"}`),
			"ok       call ", "ok       hard-kill ", "ok       stop ", "ok       leak ")
	})
	t.Run("configuration", func(t *testing.T) {
		contains(t, run(t, dir, "bin/toolhost", "--config", "toolhost.yaml", "list"), "weather", "webfetch")
		contains(t, run(t, dir, "bin/toolhost", "--config", "toolhost.yaml", "describe", "fetch"), "webfetch")
	})
	t.Run("mcp", func(t *testing.T) { testMCP(t, dir) })
}

// run runs a command in dir and returns what it wrote to stdout. The command sees no configuration
// and no state of the user's.
func run(t *testing.T, dir string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if name == "go" {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build does, whose cache it shares
	} else {
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TOOLHOST_STATE=" + filepath.Join(dir, "state")}
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\nstdout:\n%s\nstderr:\n%s", cmd, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in:\n%s", w, text)
		}
	}
}
