//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/proto/wire"
)

// built is where TestMain puts what the tests run: toolhost, and the plugins in faults.
var built string

func TestMain(m *testing.M) {
	code, err := testMain(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func testMain(m *testing.M) (code int, err error) {
	if built, err = os.MkdirTemp("/tmp", "faults"); err != nil {
		return 1, err
	}
	defer func() {
		if rmErr := os.RemoveAll(built); err == nil {
			err = rmErr
		}
	}()
	for _, args := range [][]string{
		{"go", "build", "-o", built + "/toolhost", "../../cmd/toolhost"},
		{"go", "build", "-trimpath", "-ldflags=-s -w", "-o", built + "/install", "."},
		{built + "/install", "-install", built + "/faults"},
	} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return 1, fmt.Errorf("%v: %w\n%s", args, err, out)
		}
	}
	temp := built + "/tmp"
	if err := errors.Join(os.Mkdir(temp, 0o700), os.Setenv("TMPDIR", temp)); err != nil {
		return 1, err
	}
	code = m.Run()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		return 1, fmt.Errorf("files are left: %v, %v", left, err)
	}
	if left := running(built); len(left) > 0 {
		return 1, fmt.Errorf("left after the tests: %v", left)
	}
	return code, goleak.Find()
}

// row is one line of the table in docs/faults.md.
type row struct {
	plugin  string
	input   string // of the call
	config  string // of the plugin, a line of YAML
	exit    int
	code    string
	outcome string
	words   string
	found   string // the check of conform that fails
}

func (r row) String() string { return strings.TrimRight(r.plugin+" "+r.input+r.config, " ") }

var tableRow = regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| (?:`([^`]*)` )?\\| ([0-9]+) \\| (?:`([a-z_]+)` )?\\| (?:`([a-z_]+)` )?\\| `([^`]+)` \\| (?:`([a-z-]+)` )?\\|$")

// table reads the document.
func table(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, found := strings.Cut(string(text), "<!-- table: faults -->\n")
	body, _, _ := strings.Cut(text2, "\n\n")
	lines := strings.Count(body, "\n") + 1 - 2 // its head has two
	var rows []row
	for _, m := range tableRow.FindAllStringSubmatch(body, -1) {
		r := row{plugin: m[1], code: m[4], outcome: m[5], words: m[6], found: m[7]}
		if strings.HasPrefix(m[2], "{") {
			r.input = m[2]
		} else {
			r.config = m[2]
		}
		r.exit, _ = strconv.Atoi(m[3])
		rows = append(rows, r)
	}
	if !found || len(rows) != lines {
		t.Fatalf("docs/faults.md: the table has %d lines, and %d of them are understood", lines, len(rows))
	}
	return rows
}

// TestTableNamesEveryFault holds that the document and the kit name the same plugins.
func TestTableNamesEveryFault(t *testing.T) {
	documented := map[string]bool{}
	for _, r := range table(t) {
		documented[r.plugin] = true
	}
	for _, f := range all() {
		if !documented[f.name] {
			t.Errorf("docs/faults.md has no row for %s", f.name)
		}
		delete(documented, f.name)
	}
	for name := range documented {
		t.Errorf("docs/faults.md has a row for %s, which is no fault", name)
	}
}

// home is a directory for one caller, with the plugins under names of its own.
func home(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp(built, "home")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/plugins", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file := wire.BinaryPrefix + name
		if err := os.Link(filepath.Join(built, "faults", file), filepath.Join(dir, "plugins", file)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// gone fails the test if a process with the mark in its command line stays.
func gone(t *testing.T, mark string) {
	t.Helper()
	var left []string
	for end := time.Now().Add(25 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if left = running(mark); len(left) == 0 {
			return
		}
	}
	t.Errorf("processes are left: %v", left)
}

// running lists the processes with the mark in their command line.
func running(mark string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), mark) {
			found = append(found, file+": "+strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// namespaces reports whether the kernel gives this user a pid namespace.
func namespaces(t *testing.T) bool {
	t.Helper()
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if id := os.Geteuid(); id != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	return cmd.Run() == nil
}

// valid fails the test if text is not one JSON document.
func valid(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}
