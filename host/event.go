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
//	Progress       tool-progress
//	Output         tool-output
//
// and the terminal ones, of which every call has exactly one, last:
//
//	ResultEvent    tool-result
//	ErrorEvent     tool-error
//	DeniedEvent    tool-output-denied
//	SuspendedEvent tool-call-suspended
//
// Each marshals to one flat JSON object with type, toolCallId and toolName.
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

// CallStarted: the input was accepted and the tool is about to run.
type CallStarted struct {
	Head
	Input json.RawMessage `json:"args"`
}

// Progress says how far the call has come. Events may be skipped when the reader is slow; the latest is kept.
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

// ResultEvent ends a call that succeeded.
type ResultEvent struct {
	Head
	Result *Result
}

// ErrorEvent ends a call that failed.
type ErrorEvent struct {
	Head
	Err *Error
}

// DeniedEvent ends a call that was denied.
type DeniedEvent struct {
	Head
	Reason string `json:"reason"`
}

// SuspendedEvent ends a round of a call that waits for data.
type SuspendedEvent struct {
	Head
	Err *Error
}

func (InputStart) event() string     { return "tool-call-input-streaming-start" }
func (InputDelta) event() string     { return "tool-call-delta" }
func (InputEnd) event() string       { return "tool-call-input-streaming-end" }
func (CallStarted) event() string    { return "tool-call" }
func (Progress) event() string       { return "tool-progress" }
func (Output) event() string         { return "tool-output" }
func (ResultEvent) event() string    { return "tool-result" }
func (ErrorEvent) event() string     { return "tool-error" }
func (DeniedEvent) event() string    { return "tool-output-denied" }
func (SuspendedEvent) event() string { return "tool-call-suspended" }

// MarshalEvent returns the event as one JSON object on one line, as the --events option prints it.
func MarshalEvent(e Event) ([]byte, error) {
	fields := any(e)
	switch e := e.(type) {
	case ResultEvent:
		fields = struct {
			Head
			Result json.RawMessage `json:"result"`
		}{e.Head, rawOr(e.Result.Display, e.Result.Output)}
	case ErrorEvent:
		fields = failedJSON{e.Head, errorObject(e.Err)}
	case SuspendedEvent:
		fields = failedJSON{e.Head, errorObject(e.Err)}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, &Error{Op: "marshal event", Code: Internal, Err: err}
	}
	return append([]byte(`{"type":"`+e.event()+`",`), body[1:]...), nil
}

type failedJSON struct {
	Head
	Error errorJSON `json:"error"`
}

func rawOr(first, second json.RawMessage) json.RawMessage {
	if first != nil {
		return first
	}
	return second
}

// EventType returns the event's name, such as "tool-result".
func EventType(e Event) string { return e.event() }

// Result is what a call that succeeded produced.
type Result struct {
	Output   json.RawMessage // as the tool returned it, byte for byte; nil if it returned nothing
	Display  json.RawMessage // the form for people; nil: the same as Output
	Model    ModelOutput     // the form for the model
	Warnings []string        // what the caller should know, such as an output that broke its schema in mode warn
	Duration time.Duration   // from the call's start to its outcome
}
