//go:build unix

package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host"
)

// C3, C4: a plugin that is killed during its first start, at whatever stage, fails the call that waits for it with how the process
// ended and what it said last, by whatever name the tool is called: that the host does not know the tool is no news of the tool.
func TestC4_KilledDuringTheFirstStart(t *testing.T) {
	for _, stage := range []string{"fork", "handshake", "describe", "hello"} {
		for _, name := range []string{"evil/do", "evil", "do"} {
			t.Run(stage+" "+name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "stopped")
				before := children(os.Getpid())
				h := open(t, host.Config{}, wired("evil", "stops at:"+stage+":"+file))
				result := make(chan error, 1)
				go func() { // ends with its call
					_, err := h.Call(t.Context(), host.Call{Tool: name})
					result <- err
				}()
				eventually(t, "it has stopped", func() bool { b, _ := os.ReadFile(file); return len(b) > 0 })
				killOthers(t, before)
				e := wantError(t, nil, <-result, host.Unavailable, host.NotStarted)
				x, ok := errors.AsType[*host.ExitError](e)
				if !ok || x.Signal != "SIGKILL" || !strings.Contains(x.Stderr, "stopped at "+stage) || !strings.Contains(e.Error(), "was ended by SIGKILL") {
					t.Errorf("%v: %+v", e, x)
				}
			})
		}
	}
}

// C14: a call that comes between the registration of a plugin, which another call has started, and the list that has its tools, finds
// them, and so does who lists them.
func TestC14_BetweenRegistrationAndList(t *testing.T) {
	h := open(t, host.Config{}, self("more", "more"))
	call(t, h, "more/echo", `{"text":"x"}`)
	for _, name := range []string{"echo", "more/echo"} {
		h.Unlist()
		call(t, h, name, `{"text":"x"}`)
	}
	h.Unlist()
	if _, ok := h.Tool("echo"); !ok {
		t.Error("the tool is not there")
	}
	h.Unlist()
	for range h.Tools() {
		return
	}
	t.Error("no tools are listed")
}

// A name that no known tool has may be a tool of the plugin that was killed: that is said, beside what else is known of the name. Once
// every plugin has spoken, it is nobody's.
func TestC4_ANameOfNobody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "stopped")
	before := children(os.Getpid())
	h := open(t, host.Config{}, wired("evil", "stops once at:describe:"+file))
	result := make(chan error, 1)
	go func() { // ends with its call
		_, err := h.Call(t.Context(), host.Call{Tool: "dto"})
		result <- err
	}()
	eventually(t, "it has stopped", func() bool { b, _ := os.ReadFile(file); return len(b) > 0 })
	killOthers(t, before)
	e := wantError(t, nil, <-result, host.Unavailable, host.NotStarted)
	if text := e.Error(); !strings.HasPrefix(text, "call dto: unavailable: no known tool has that name, and not every plugin said what tools it has; plugin evil: ") || strings.Count(text, "SIGKILL") != 1 {
		t.Error(text)
	}
	e = fails(t, h, "dto", `{}`, host.NotFound, host.NotStarted)
	if !strings.Contains(e.Error(), "did you mean do") {
		t.Error(e)
	}
}

// killOthers kills the children of this process that were not there before.
func killOthers(t *testing.T, before []int) {
	t.Helper()
	known := map[int]bool{}
	for _, pid := range before {
		known[pid] = true
	}
	killed := 0
	for _, pid := range children(os.Getpid()) {
		if !known[pid] {
			killed++
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	if killed == 0 {
		t.Error("there was nobody to kill")
	}
}
