package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/config"
)

// The exit codes (design section 6).
const (
	exitOK          = 0
	exitInternal    = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitInput       = 4
	exitOutput      = 5
	exitDenied      = 6
	exitTool        = 7
	exitUnavailable = 8
	exitSuspended   = 9
	exitTimeout     = 10
	exitCanceled    = 130
)

var exitCodes = map[host.Code]int{
	host.Internal:       exitInternal,
	host.NotFound:       exitNotFound,
	host.InvalidInput:   exitInput,
	host.InvalidContext: exitInput,
	host.InvalidResume:  exitInput,
	host.AlreadyDecided: exitInput,
	host.InvalidOutput:  exitOutput,
	host.TooLarge:       exitOutput, // if the tool did not run it was the input: exitInput
	host.Denied:         exitDenied,
	host.ToolFailed:     exitTool,
	host.Unavailable:    exitUnavailable,
	host.Protocol:       exitUnavailable,
	host.Busy:           exitUnavailable,
	host.Closed:         exitUnavailable,
	host.InvalidConfig:  exitUsage,
	host.Suspended:      exitSuspended,
	host.Timeout:        exitTimeout,
	host.Canceled:       exitCanceled,
}

// usageError is a mistake in the command line, the environment or the configuration file.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// brokenError is what doctor returns when something does not work. Its report is on stdout.
type brokenError struct{ count int }

func (e *brokenError) Error() string {
	if e.count == 1 {
		return "doctor: 1 thing is broken"
	}
	return fmt.Sprintf("doctor: %d things are broken", e.count)
}

// exitCode returns the exit code for err.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*host.Error](err); ok {
		if e.Code == host.TooLarge && e.Outcome == host.NotStarted {
			return exitInput
		}
		if code, ok := exitCodes[e.Code]; ok {
			return code
		}
		return exitInternal
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*config.Error](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*brokenError](err); ok {
		return exitUnavailable
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted) {
		return exitCanceled
	}
	return exitInternal
}

// report writes err to stderr: for people one line, "toolhost: " and the error (a faulty configuration file:
// one line a fault; a plugin that died: its last words below), or one JSON object.
func report(out *terminal, err error, asJSON bool) {
	if !asJSON {
		lines := []string{err.Error()}
		if _, ok := errors.AsType[*config.Error](err); ok {
			lines = strings.Split(err.Error(), "\n")
		}
		var b strings.Builder
		for _, line := range lines {
			b.WriteString("toolhost: " + lineBreaks.Replace(strings.TrimSpace(line)) + "\n")
		}
		for _, line := range lastWords(err) {
			b.WriteString("    " + lineBreaks.Replace(line) + "\n")
		}
		_, _ = out.Write([]byte(b.String())) // there is nowhere left to say that stderr is gone
		return
	}
	text, jsonErr := json.Marshal(struct {
		Error json.RawMessage `json:"error"`
	}{errorObject(err)})
	if jsonErr != nil {
		text = []byte(`{"error":{"code":"internal","message":"the error is no JSON","outcome":"unknown"}}`)
	}
	_ = out.JSON(append(text, '\n'))
}

// lastWords are lines of what a plugin that died left behind, where the error itself says less: the stacks of a Go panic, or else
// the end of its stderr.
func lastWords(err error) []string {
	const most = 20
	x, ok := errors.AsType[*host.ExitError](err)
	if !ok {
		return nil
	}
	if x.Panic != "" {
		_, stacks, _ := strings.Cut(x.Panic, "\n\n")
		lines := slices.Collect(strings.Lines(strings.TrimRight(stacks, "\n")))
		return trimmed(lines[:min(len(lines), most)])
	}
	lines := slices.Collect(strings.Lines(strings.TrimRight(x.Stderr, "\n")))
	if len(lines) < 2 { // the error has it
		return nil
	}
	return trimmed(lines[max(0, len(lines)-most):])
}

func trimmed(lines []string) []string {
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, "\r\n")
	}
	return lines
}

// lineBreaks keeps a message on its line.
var lineBreaks = strings.NewReplacer("\r\n", `\n`, "\n", `\n`, "\r", `\r`)

// errorObject is the error object of design section 6.
func errorObject(err error) json.RawMessage {
	if e, ok := errors.AsType[*host.Error](err); ok {
		if text, jsonErr := json.Marshal(e); jsonErr == nil {
			return text
		}
	}
	code := host.Internal.String()
	switch exitCode(err) {
	case exitUsage:
		code = "usage"
	case exitUnavailable:
		code = host.Unavailable.String()
	case exitCanceled:
		code = host.Canceled.String()
	}
	text, jsonErr := json.Marshal(struct {
		Code    string       `json:"code"`
		Message string       `json:"message"`
		Outcome host.Outcome `json:"outcome"`
	}{code, err.Error(), host.NotStarted})
	if jsonErr != nil { // cannot happen: three strings
		return nil
	}
	return text
}
