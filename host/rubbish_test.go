//go:build unix

package host_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// D1, D2, D3: a directory with rubbish of many kinds, a foreign Go program among it, and with plugins that are none, runs
// its one good plugin; nothing that is not one is executed, and of each the log or the list says why.
func TestD1_D2_D3_RubbishBesideAPlugin(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	ran := filepath.Join(outside, "ran")
	me, err := os.ReadFile(mustExecutable(t))
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, body []byte, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "toolplugin-"+name), body, mode); err != nil {
			t.Fatal(err)
		}
	}
	put("good", me, 0o755)
	put("script", fmt.Appendf(nil, "#!/bin/sh\necho script >>%s\n", ran), 0o755)
	put("text", []byte("hello"), 0o755)
	put("empty", nil, 0o755)
	put("plain", me, 0o644)
	put("cut", me[:5000], 0o755)
	put("elf", append([]byte("\x7fELF"), me[4:20]...), 0o755)
	put("foreign", foreignProgram(t, ran), 0o755)
	put("windows", []byte("MZ\x90\x00"), 0o755)
	for link, target := range map[string]string{
		"outside": filepath.Join(outside, "x"), "c": "/bin/sleep", "broken": "nowhere", "loop": "toolplugin-loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, "toolplugin-"+link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "x"), me, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "toolplugin-dir"), 0o755), syscall.Mkfifo(filepath.Join(dir, "toolplugin-fifo"), 0o755)); err != nil {
		t.Fatal(err)
	}
	_, skips := host.Discover(dir)
	for _, bad := range []string{"script", "text", "empty", "plain", "cut", "elf", "foreign", "windows", "outside", "c", "broken", "loop", "dir", "fifo"} {
		if !strings.Contains(fmt.Sprint(skips), "toolplugin-"+bad+": ") {
			t.Errorf("nothing says why %s is no plugin: %v", bad, skips)
		}
	}
	hangs := wired("hangs", "describe hangs")
	hangs.Limits.Describe = time.Second
	h := open(t, host.Config{Dirs: []string{dir}},
		host.Plugin{Name: "good", Path: filepath.Join(dir, "toolplugin-good"), Env: self("", "").Env},
		wired("crashes", "describe crashes:"), hangs, self("dies", "die"))
	call(t, h, "echo", `{"text":"x"}`)
	states := map[string]host.State{}
	for s := range h.Plugins() {
		states[s.Name] = s.State
		if (s.Error == "") != (s.Name == "good") {
			t.Errorf("%+v", s)
		}
	}
	if len(states) != 4 || states["good"] != host.Ready {
		t.Errorf("%v", states)
	}
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("these were executed: %s", b)
	}
}

// foreignProgram is a Go program of another module; run, it says so in a file.
func foreignProgram(t *testing.T, ran string) []byte {
	t.Helper()
	src, bin := t.TempDir(), filepath.Join(t.TempDir(), "foreign")
	main := fmt.Sprintf("package main\n\nimport \"os\"\n\nfunc main() { os.WriteFile(%q, []byte(\"foreign\"), 0o600) }\n", ran)
	if err := errors.Join(os.WriteFile(filepath.Join(src, "main.go"), []byte(main), 0o600), os.WriteFile(filepath.Join(src, "go.mod"), []byte("module example.com/foreign\n\ngo 1.24\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", bin, ".")
	cmd.Dir = src
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
