package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

func TestExitCodes(t *testing.T) {
	call := func(code host.Code, outcome host.Outcome) error {
		return fmt.Errorf("wrapped: %w", &host.Error{Op: "call", Tool: "t", Code: code, Outcome: outcome})
	}
	tests := []struct {
		name string
		err  error
		want int
	}{
		{"ok", nil, 0},
		{"internal", call(host.Internal, host.Unknown), 1},
		{"any other error", errors.New("x"), 1},
		{"usage", fmt.Errorf("w: %w", usagef("x")), 2},
		{"configuration", &config.Error{File: "f", Faults: []config.Fault{{Message: "m"}}}, 2},
		{"not found", call(host.NotFound, host.NotStarted), 3},
		{"input", call(host.InvalidInput, host.NotStarted), 4},
		{"context", call(host.InvalidContext, host.NotStarted), 4},
		{"resume", call(host.InvalidResume, host.NotStarted), 4},
		{"decided", call(host.AlreadyDecided, host.NotStarted), 4},
		{"large input", call(host.TooLarge, host.NotStarted), 4},
		{"large output", call(host.TooLarge, host.Done), 5},
		{"large, unknown", call(host.TooLarge, host.Unknown), 5},
		{"output", call(host.InvalidOutput, host.Done), 5},
		{"denied", call(host.Denied, host.NotStarted), 6},
		{"tool", call(host.ToolFailed, host.Failed), 7},
		{"unavailable", call(host.Unavailable, host.Unknown), 8},
		{"protocol", call(host.Protocol, host.Unknown), 8},
		{"busy", call(host.Busy, host.NotStarted), 8},
		{"closed", call(host.Closed, host.NotStarted), 8},
		{"invalid config", call(host.InvalidConfig, host.NotStarted), 2},
		{"doctor", &brokenError{2}, 8},
		{"suspended", call(host.Suspended, host.Unknown), 9},
		{"timeout", call(host.Timeout, host.Unknown), 10},
		{"cancelled", call(host.Canceled, host.Unknown), 130},
		{"cancelled before the call", fmt.Errorf("open: %w", context.Canceled), 130},
	}
	for _, tt := range tests {
		if got := exitCode(tt.err); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestEveryCodeHasAnExitCode(t *testing.T) {
	n := 0
	for code := host.Code(0); !strings.HasPrefix(code.String(), "unknown_"); code++ {
		if _, ok := exitCodes[code]; !ok {
			t.Errorf("%v has no exit code", code)
		}
		n++
	}
	if n != len(exitCodes) {
		t.Errorf("%d codes, %d exit codes", n, len(exitCodes))
	}
}

func TestReport(t *testing.T) {
	missing := &host.Error{Op: "call", Tool: "weather", Code: host.InvalidInput, Err: &host.SchemaError{Violations: []host.Violation{
		{Path: "/location", Keyword: "required", Expected: "location", Got: "nothing", Message: "at /location: missing required property"},
	}}}
	died := &host.Error{Op: "call", Tool: "w", Code: host.Unavailable, Outcome: host.Unknown, Err: &host.ExitError{
		Plugin: "w", Cause: "panic", Status: 2, Panic: "panic: boom", Stderr: "panic: boom\nmore\n",
	}}
	tests := []struct {
		name       string
		err        error
		text, json string
	}{
		{
			"invalid input", missing,
			"toolhost: call weather: invalid input: at /location: missing required property\n",
			`{"error":{"code":"invalid_input","message":"call weather: invalid input: at /location: missing required property","outcome":"not_started",` +
				`"violations":[{"path":"/location","keyword":"required","expected":"location","got":"nothing","message":"at /location: missing required property"}]}}` + "\n",
		},
		{
			"plugin died", died,
			"toolhost: call w: unavailable: plugin w exited with status 2: panic: boom\n",
			`{"error":{"code":"unavailable","message":"call w: unavailable: plugin w exited with status 2: panic: boom","outcome":"unknown",` +
				`"exit":{"plugin":"w","cause":"panic","status":2,"panic":"panic: boom","stderr":"panic: boom\nmore\n"}}}` + "\n",
		},
		{
			"plugin panicked", &host.Error{Op: "call", Tool: "w", Code: host.Unavailable, Outcome: host.Unknown, Err: &host.ExitError{
				Plugin: "w", Cause: "panic", Status: 2, Panic: "panic: runtime error\n[signal SIGSEGV]\n\ngoroutine 1 [running]:\ntoolhost: main.go:1", Stderr: "x\n",
			}},
			"toolhost: call w: unavailable: plugin w exited with status 2: panic: runtime error [signal SIGSEGV]\n    goroutine 1 [running]:\n    toolhost: main.go:1\n",
			`{"error":{"code":"unavailable","message":"call w: unavailable: plugin w exited with status 2: panic: runtime error [signal SIGSEGV]","outcome":"unknown",` +
				`"exit":{"plugin":"w","cause":"panic","status":2,"panic":"panic: runtime error\n[signal SIGSEGV]\n\ngoroutine 1 [running]:\ntoolhost: main.go:1","stderr":"x\n"}}}` + "\n",
		},
		{
			"plugin gave up", &host.Error{Op: "call", Tool: "w", Code: host.Unavailable, Outcome: host.Unknown, Err: &host.ExitError{
				Plugin: "w", Cause: "exited", Status: 3, Stderr: "Traceback:\n  x.py:1\r\nKeyError: 7\n",
			}},
			"toolhost: call w: unavailable: plugin w exited with status 3: stderr ends: KeyError: 7\n    Traceback:\n      x.py:1\n    KeyError: 7\n",
			`{"error":{"code":"unavailable","message":"call w: unavailable: plugin w exited with status 3: stderr ends: KeyError: 7","outcome":"unknown",` +
				`"exit":{"plugin":"w","cause":"exited","status":3,"stderr":"Traceback:\n  x.py:1\r\nKeyError: 7\n"}}}` + "\n",
		},
		{
			"usage", usagef("no such flag"),
			"toolhost: no such flag\n",
			`{"error":{"code":"usage","message":"no such flag","outcome":"not_started"}}` + "\n",
		},
		{
			"a tool that writes lines",
			&host.Error{Op: "call", Tool: "t", Code: host.ToolFailed, Outcome: host.Failed, Err: &host.ToolError{Message: "one\ntoolhost: two\r\n", Data: []byte(`{"a":1}`)}},
			`toolhost: call t: tool failed: one\ntoolhost: two` + "\n",
			`{"error":{"code":"tool","message":"call t: tool failed: one\ntoolhost: two\r\n","outcome":"failed","data":{"a":1}}}` + "\n",
		},
		{
			"a file with two faults", &config.Error{File: "t.yaml", Faults: []config.Fault{{Line: 1, Column: 2, Path: "a", Message: "x"}, {Line: 3, Column: 4, Message: "y"}}},
			"toolhost: t.yaml:1:2: a: x\ntoolhost: t.yaml:3:4: y\n",
			`{"error":{"code":"usage","message":"t.yaml:1:2: a: x\nt.yaml:3:4: y","outcome":"not_started"}}` + "\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, asJSON := range []bool{false, true} {
				var b bytes.Buffer
				report(&terminal{file: &b}, tt.err, asJSON)
				want := tt.text
				if asJSON {
					want = tt.json
					if !json.Valid(b.Bytes()) {
						t.Errorf("no JSON: %s", b.Bytes())
					}
				}
				if diff := cmp.Diff(want, b.String()); diff != "" {
					t.Errorf("json %v (-want +got):\n%s", asJSON, diff)
				}
			}
		})
	}
}

func TestConfigErrorNamesTheFile(t *testing.T) {
	err := configError(&fs.PathError{Op: "open", Path: "/x/toolhost.yaml", Err: fs.ErrPermission})
	if want := "configuration /x/toolhost.yaml: permission denied"; err.Error() != want || exitCode(err) != exitUsage {
		t.Errorf("got %q, exit %d; want %q, exit 2", err, exitCode(err), want)
	}
}
