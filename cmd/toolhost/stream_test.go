//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// eventReader reads the lines of --events.
type eventReader struct {
	t     *testing.T
	lines *bufio.Scanner
}

func newEventReader(t *testing.T, r io.Reader) *eventReader {
	return &eventReader{t, bufio.NewScanner(r)}
}

// next returns the next event's type and all its members.
func (r *eventReader) next() (string, map[string]any) {
	r.t.Helper()
	if !r.lines.Scan() {
		r.t.Fatalf("no more events: %v", r.lines.Err())
	}
	var e map[string]any
	if err := json.Unmarshal(r.lines.Bytes(), &e); err != nil {
		r.t.Fatalf("%s: %v", r.lines.Text(), err)
	}
	for _, key := range []string{"type", "toolCallId", "toolName"} {
		if s, ok := e[key].(string); !ok || s == "" {
			r.t.Errorf("%s has no %s", r.lines.Text(), key)
		}
	}
	return fmt.Sprint(e["type"]), e
}

// await returns the next event of the type; others are skipped.
func (r *eventReader) await(name string) map[string]any {
	r.t.Helper()
	for {
		if got, e := r.next(); got == name {
			return e
		}
	}
}

// Each piece is written only after the piece before it was seen as an event and by the plugin: whatever
// buffers, hangs.
func TestStreamForwardsEveryReadAtOnce(t *testing.T) {
	cmd, stdin, stdout, stderr := piped(t, pluginsDir(t, "toolplugin-fake"), "--log-level", "info", "call", "deltas", "--stream", "--events")
	events := newEventReader(t, stdout)
	for i, piece := range []string{`{"te`, `x`, `t":"`, "\xc3", "\xa9\"", "}"} {
		if _, err := io.WriteString(stdin, piece); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if got, _ := events.next(); got != "tool-call-input-streaming-start" {
				t.Errorf("first event %s", got)
			}
		}
		if piece == "\xc3" {
			continue // half a character is held back until it is whole
		}
		want := strings.Replace(piece, "\xa9", "\xc3\xa9", 1)
		if got := events.await("tool-call-delta")["argsTextDelta"]; got != want {
			t.Errorf("delta %q, want %q", got, want)
		}
		stderr.await(t, strings.ReplaceAll("saw <"+want+">", `"`, `\"`)) // the plugin's own word
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tool-call-input-streaming-end", "tool-call", "tool-result"} {
		events.await(want)
	}
	if events.lines.Scan() {
		t.Errorf("an event after the terminal one: %s", events.lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v; stderr %s", err, stderr)
	}
}

func TestStreamOfABrokenTool(t *testing.T) {
	cmd, stdin, stdout, stderr := piped(t, pluginsDir(t, "toolplugin-fake"), "call", "nosuch", "--stream", "--events")
	defer stdin.Close() // stays open: the end of the call does not wait for it
	if got, _ := newEventReader(t, stdout).next(); got != "tool-error" {
		t.Errorf("event %s, want tool-error", got)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitNotFound {
		t.Errorf("exit code %d, want %d; stderr %s", code, exitNotFound, stderr)
	}
}

func TestSignals(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run("first "+sig.String(), func(t *testing.T) {
			cmd, _, stdout, stderr := piped(t, pluginsDir(t, "toolplugin-fake"), "call", "wait", "--events")
			events := newEventReader(t, stdout)
			events.await("tool-progress")
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if code := events.await("tool-error")["error"].(map[string]any)["code"]; code != "canceled" {
				t.Errorf("code %v, want canceled", code)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitCanceled {
				t.Errorf("exit code %d, want %d; stderr %s", code, exitCanceled, stderr)
			}
			<-stderr.ended
			if got := stderr.String(); !strings.HasPrefix(got, "toolhost: call wait: canceled") {
				t.Errorf("stderr %q", got)
			}
		})
		t.Run("second "+sig.String(), func(t *testing.T) {
			cmd, _, stdout, stderr := piped(t, pluginsDir(t, "toolplugin-fake"), "call", "stubborn", "--events")
			events := newEventReader(t, stdout)
			events.await("tool-progress")
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			events.await("tool-error") // now the host waits for the plugin to drain
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitCanceled {
				t.Errorf("exit code %d, want %d; stderr %s", code, exitCanceled, stderr)
			}
			<-stderr.ended
			if stderr.String() != "" {
				t.Errorf("stderr %q, want nothing: the second signal ends the process at once", stderr)
			}
		})
	}
}
