//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// R29: a client that dies and leaves its end of stdin open elsewhere takes the server and its plugins along.
func TestR29_ParentDies(t *testing.T) {
	dir := t.TempDir()
	plugins, state := filepath.Join(dir, "plugins"), filepath.Join(dir, "state")
	if err := errors.Join(os.Mkdir(plugins, 0o755), placeBinary(filepath.Join(plugins, "toolplugin-fake"))); err != nil {
		t.Fatal(err)
	}
	stdin, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close() // only now: nothing but the parent's death ends the server
	parent := exec.Command("sh", "-c", `toolhost --plugins "$1" --state "$2" mcp <&3 3<&- & exec 3<&-; wait`, "sh", plugins, state)
	parent.ExtraFiles = []*os.File{stdin}
	parent.Env = append(os.Environ(), raceOptions)
	c, err := startClient(parent)
	if err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stubborn","arguments":{},"_meta":{"progressToken":1}}}`,
	} {
		if _, err := fmt.Fprintln(write, line); err != nil {
			t.Fatal(err)
		}
	}
	for running := false; !running; { // the plugin runs the call once it reports progress
		line, err := c.next()
		if err != nil {
			t.Fatalf("%v; stderr: %s", err, c.stderr())
		}
		running = bytes.Contains(line, []byte("notifications/progress"))
	}
	pids := livePlugins(t, state)
	if len(pids) != 1 {
		t.Fatalf("plugins %v run, want one", pids)
	}
	begun := time.Now()
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for { // stdout ends with the server, which is the last that has it
		if _, err := c.next(); errors.Is(err, io.ErrUnexpectedEOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(begun)
	t.Logf("the server ended after %v", took)
	if took > patience/2 { // two, on a machine that is not loaded
		t.Errorf("it took %v to end", took)
	}
	for pid := range pids {
		for exists := syscall.Kill(pid, 0) == nil; exists; exists = syscall.Kill(pid, 0) == nil {
			if time.Since(begun) > patience {
				t.Fatalf("plugin %d outlived the server", pid)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	_ = parent.Wait() // it was killed
}

// livePlugins returns the processes of the plugins of all hosts that run.
func livePlugins(t *testing.T, state string) map[int]bool {
	t.Helper()
	dirs, err := host.OpenStateDir(state)
	if err != nil {
		t.Fatal(err)
	}
	pids := map[int]bool{}
	for begun := time.Now(); len(pids) == 0 && time.Since(begun) < patience; time.Sleep(5 * time.Millisecond) { // it is written a little later
		hosts, err := dirs.Hosts()
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hosts {
			for _, p := range h.Plugins {
				if p.PID != 0 {
					pids[p.PID] = true
				}
			}
		}
	}
	return pids
}
