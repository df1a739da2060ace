package host

import (
	"encoding/json"
	"time"
)

// Event is one thing that happened to a call. It is sealed; the cases are
//
//	InputStart     tool-call-input-streaming-start
//	InputDelta     tool-call-delta
//	InputEnd       tool-call-input-streaming-end
//	CallStarted    tool-call
//	CallResumed    tool-call-resumed
//	Progress       tool-progress
//	Output         tool-output
//
// and the terminal ones, of which every call has exactly one, last:
//
//	ResultEvent    tool-result
//	ErrorEvent     tool-error
//	DeniedEvent    tool-output-denied
//	ApprovalEvent  tool-call-approval
//	SuspendedEvent tool-call-suspended
//
// Each carries one form of the call's data only, that of Call.View, and marshals to one flat JSON object
// with type, toolCallId and toolName.
type Event interface {
	// Of returns the call's id and the tool's name.
	Of() Head
	event() string
}

// Head is common to all events.
type Head struct {
	CallID string `json:"toolCallId"`
	Tool   string `json:"toolName"`
}

// Of returns h.
func (h Head) Of() Head { return h }

// InputStart: the model began to write the input.
type InputStart struct{ Head }

// InputDelta is a piece of the input's text.
type InputDelta struct {
	Head
	Text string `json:"argsTextDelta"`
}

// InputEnd: the input's text is complete.
type InputEnd struct{ Head }

// CallStarted: the input was accepted: parsed, repaired and valid.
type CallStarted struct {
	Head
	Input   json.RawMessage `json:"args"`
	Repairs []Repair        `json:"repairs,omitempty"` // what of it was mended
}

// CallResumed: a suspended call goes on.
type CallResumed struct {
	Head
	Data json.RawMessage `json:"data,omitempty"` // the answer; nil for an approval
}

// Progress says how far the call has come. Events may be skipped when the reader is slow; the latest is
// kept.
type Progress struct {
	Head
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"` // 0: unknown
	Message  string  `json:"message,omitempty"`
}

// Output is a piece of custom output. None is ever skipped.
type Output struct {
	Head
	Data json.RawMessage `json:"output"`
}

// ResultEvent ends a call that succeeded. Running.Result has every form.
type ResultEvent struct {
	Head
	Result   json.RawMessage `json:"result"` // nil if the tool returned nothing
	Warnings []string        `json:"warnings,omitempty"`
}

// ErrorEvent ends a call that failed.
type ErrorEvent struct {
	Head
	Err *Error `json:"error"`
}

// DeniedEvent ends a call that was denied. The tool did not run.
type DeniedEvent struct {
	Head
	Reason string `json:"reason"`
}

// ApprovalEvent ends a round of a call that waits for an approval. Its Display is the approval's view;
// whoever decides sees Suspension.Display.
type ApprovalEvent struct {
	Head
	Display    json.RawMessage `json:"display"`
	Suspension Suspension      `json:"suspension"`
}

// SuspendedEvent ends a round of a call that waits for data.
type SuspendedEvent struct {
	Head
	Suspension Suspension `json:"suspension"`
}

func (InputStart) event() string     { return "tool-call-input-streaming-start" }
func (InputDelta) event() string     { return "tool-call-delta" }
func (InputEnd) event() string       { return "tool-call-input-streaming-end" }
func (CallStarted) event() string    { return "tool-call" }
func (CallResumed) event() string    { return "tool-call-resumed" }
func (Progress) event() string       { return "tool-progress" }
func (Output) event() string         { return "tool-output" }
func (ResultEvent) event() string    { return "tool-result" }
func (ErrorEvent) event() string     { return "tool-error" }
func (DeniedEvent) event() string    { return "tool-output-denied" }
func (ApprovalEvent) event() string  { return "tool-call-approval" }
func (SuspendedEvent) event() string { return "tool-call-suspended" }

// MarshalEvent returns the event as one JSON object on one line, as the --events option prints it.
func MarshalEvent(e Event) ([]byte, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return nil, &Error{Op: "marshal event", Code: Internal, Err: err}
	}
	return append([]byte(`{"type":"`+e.event()+`",`), body[1:]...), nil
}

func rawOr(first, second json.RawMessage) json.RawMessage {
	if first != nil {
		return first
	}
	return second
}

// isTerminal reports whether e ends its call.
func isTerminal(e Event) bool {
	switch e.(type) {
	case ResultEvent, ErrorEvent, DeniedEvent, ApprovalEvent, SuspendedEvent:
		return true
	}
	return false
}

// EventType returns the event's name, such as "tool-result".
func EventType(e Event) string { return e.event() }

// Repair says what of an input was mended.
type Repair struct {
	Path string `json:"path"` // JSON Pointer
	Kind string `json:"kind"` // "text", "whole-argument", "stringified", "null", "number", "boolean" or "alias"
}

// Result is what a call that succeeded produced.
type Result struct {
	Output     json.RawMessage // as the tool returned it, byte for byte; nil if it returned nothing
	Display    json.RawMessage // the form for people
	Transcript json.RawMessage // the form to keep for people
	Model      ModelOutput     // the form for the model
	Repairs    []Repair        // what of the input was mended
	Warnings   []string        // what the caller should know, such as an output that broke its schema in mode warn
	Duration   time.Duration   // from the call's start to its outcome
}
