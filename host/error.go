package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/runes"
)

// Code says what kind of error ended a call. Codes are append-only; in JSON they
// are the snake_case words that String returns.
type Code int

// The codes.
const (
	Internal       Code = iota // a fault of the host itself
	NotFound                   // no such tool
	InvalidInput               // the input is no JSON or breaks the input schema
	InvalidContext             // the request context breaks its schema
	InvalidResume              // the resume data or the suspension is not acceptable
	InvalidOutput              // the output breaks the output schema
	AlreadyDecided             // the suspension was used before
	Denied                     // policy, a hook or a person said no
	ToolFailed                 // the tool ran and reported an error
	Timeout                    // the call's time was over
	Canceled                   // the caller cancelled
	Busy                       // too many calls
	Unavailable                // the plugin cannot be started, or died
	Protocol                   // the plugin broke the wire's rules
	TooLarge                   // a message is over its limit
	Closed                     // the host is closed
	Suspended                  // the call waits for an approval or for data
	InvalidConfig              // what Open was given cannot work
)

var codeWords = [...]string{
	"internal", "not_found", "invalid_input", "invalid_context", "invalid_resume", "invalid_output",
	"already_decided", "denied", "tool", "timeout", "canceled", "busy", "unavailable", "protocol",
	"too_large", "closed", "suspended", "invalid_config",
}

// String returns the code's word, such as "invalid_input".
func (c Code) String() string { return word(codeWords[:], int(c)) }

// MarshalText returns String.
func (c Code) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Outcome is what the caller may conclude about side effects (C3).
type Outcome int

// The outcomes.
const (
	NotStarted Outcome = iota // the tool did not run; calling again is safe
	Unknown                   // the tool may have run
	Failed                    // the tool ran and failed
	Done                      // the tool ran; its output is in the error
)

var outcomeWords = [...]string{"not_started", "unknown", "failed", "done"}

// String returns the outcome's word, such as "not_started".
func (o Outcome) String() string { return word(outcomeWords[:], int(o)) }

// MarshalText returns String.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

func word(words []string, i int) string {
	if i < 0 || i >= len(words) {
		return fmt.Sprintf("unknown_%d", i)
	}
	return words[i]
}

// Error is the one error type of this package: every error of a call and of Open is an *Error. Its
// cause is one of the leaves *SchemaError, *ToolError, *ExitError and *OutputError, or any other
// error. errors.Is finds context.DeadlineExceeded in every Timeout, and the cause of the
// cancellation in every Canceled.
type Error struct {
	Op      string   // what was tried: "call", "open", "start", ...
	Tool    string   // the tool's (or plugin's) name; may be empty
	Code    Code     // what kind of error
	Outcome Outcome  // what may be concluded about side effects
	Repairs []Repair // of an input that still was not acceptable
	Err     error    // the cause; nil only if Code says it all

	retry bool // nothing of the call left the host, and another process may take it
}

// Error reads "op tool: code: cause", the code in words: "call weather: invalid input: at /location: ...".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Tool != "" {
		b.WriteString(" " + e.Tool)
	}
	b.WriteString(": " + strings.ReplaceAll(e.Code.String(), "_", " "))
	if e.Code == ToolFailed {
		b.WriteString(" failed")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the *Error in err's chain. ok is false if there is none.
func CodeOf(err error) (code Code, ok bool) {
	if e, found := errors.AsType[*Error](err); found {
		return e.Code, true
	}
	return Internal, false
}

// Violation is one way in which a value breaks its schema.
type Violation struct {
	Path     string `json:"path"`     // JSON Pointer; a missing or extra property is named by its own path
	Keyword  string `json:"keyword"`  // the schema keyword
	Expected string `json:"expected"` // what the schema wants
	Got      string `json:"got"`      // what is there, cut to 100 characters; masked if sensitive
	Message  string `json:"message"`  // "at /location: missing required property"
}

// SchemaError says how a value breaks its schema, or why a text is not JSON.
type SchemaError struct {
	Violations []Violation // at most 100, at most 16 KiB of text; at least one
	More       int         // how many more there are, at least
}

// Error lists the violations, separated by semicolons.
func (e *SchemaError) Error() string {
	var b strings.Builder
	for i, v := range e.Violations {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(v.Message)
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "; and %d more", e.More)
	}
	return b.String()
}

// ToolError is the error that the tool itself reported. It is meant for the model to read.
type ToolError struct {
	Message string
	Data    []byte // JSON; nil if the tool gave none
	Panic   bool   // the tool's code panicked; the stack is in the log
}

// Error returns the tool's message.
func (e *ToolError) Error() string { return e.Message }

// ExitError is the evidence of a plugin process that ended, or never became ready (C5, L2). It marshals to
// the member exit of the error object.
type ExitError struct {
	Plugin  string `json:"plugin"`
	Cause   string `json:"cause,omitempty"`        // likely cause: "panic", "memory", "signal", "architecture", ...
	Limit   string `json:"limit,omitempty"`        // the limit of its sandbox that it exceeded, such as "memory limit of 512 MiB" (S12)
	Status  int    `json:"status"`                 // exit status; -1 if a signal ended it or it did not run
	Signal  string `json:"signal,omitempty"`       // such as "SIGKILL"; empty if none
	Panic   string `json:"panic,omitempty"`        // the head of a Go panic, if one was found
	Stderr  string `json:"stderr,omitempty"`       // the last 64 KiB
	PeakRSS int64  `json:"peakRssBytes,omitempty"` // 0 if unknown
	Err     error  `json:"-"`                      // what the launcher said; may be nil
}

// Error says what happened in one line: of a panic, what it says, without the stacks, which are in Panic.
func (e *ExitError) Error() string {
	msg := "plugin " + e.Plugin
	switch {
	case e.Limit != "" && e.Signal != "":
		msg += " exceeded its " + e.Limit + " and was ended by " + e.Signal
	case e.Limit != "":
		msg += fmt.Sprintf(" exceeded its %s and exited with status %d", e.Limit, e.Status)
	case e.Signal != "":
		msg += " was ended by " + e.Signal
		if e.Cause == "memory" {
			msg += fmt.Sprintf(", not sent by the host: probably out of memory, or killed by hand; peak %d MiB", e.PeakRSS>>20)
		}
	case e.Err != nil && e.Cause == "sandbox":
		msg += ": sandbox: " + e.Err.Error()
	case e.Err != nil:
		msg += ": " + e.Err.Error()
	default:
		msg += fmt.Sprintf(" exited with status %d", e.Status)
	}
	switch {
	case e.Panic != "":
		msg += ": " + firstParagraph(e.Panic)
	case e.Stderr != "":
		msg += ": stderr ends: " + lastLine(e.Stderr)
	}
	return msg
}

// Unwrap returns what the launcher said.
func (e *ExitError) Unwrap() error { return e.Err }

// firstParagraph is a panic without its stacks, on one line.
func firstParagraph(panic string) string {
	head, _, _ := strings.Cut(panic, "\n\n")
	const most = 1000
	return runes.Cut(strings.Join(strings.Fields(head), " "), most)
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	s = s[strings.LastIndexByte(s, '\n')+1:]
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return s
}

// OutputError carries an output that the host did not accept (b23).
type OutputError struct {
	Output []byte // JSON, as the tool returned it; nil if it returned nothing
	Err    error  // why: usually a *SchemaError
}

// Error says why.
func (e *OutputError) Error() string { return e.Err.Error() }

// Unwrap returns why.
func (e *OutputError) Unwrap() error { return e.Err }
