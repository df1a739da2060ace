package host

import (
	"encoding/json"
	"errors"
)

// errorJSON is the error object of design section 6.
type errorJSON struct {
	Code       Code            `json:"code"`
	Message    string          `json:"message"`
	Outcome    Outcome         `json:"outcome"`
	Violations []Violation     `json:"violations,omitempty"`
	Data       json.RawMessage `json:"data,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Repairs    []Repair        `json:"repairs,omitempty"`
	Reason     string          `json:"reason,omitempty"` // why an answer to a suspension was refused
	Suspension *Suspension     `json:"suspension,omitempty"`
	Exit       *ExitError      `json:"exit,omitempty"`
}

// MarshalJSON returns the error object: code, message, outcome and what the cause adds to it (violations,
// data, output, exit).
func (e *Error) MarshalJSON() ([]byte, error) { return json.Marshal(errorObject(e)) }

func errorObject(e *Error) errorJSON {
	o := errorJSON{Code: e.Code, Message: e.Error(), Outcome: e.Outcome, Repairs: e.Repairs}
	if s, ok := errors.AsType[*SchemaError](e.Err); ok {
		o.Violations = s.Violations
	}
	if t, ok := errors.AsType[*ToolError](e.Err); ok {
		o.Data = t.Data
	}
	if out, ok := errors.AsType[*OutputError](e.Err); ok {
		o.Output = out.Output
	}
	if s, ok := errors.AsType[*SuspendedError](e.Err); ok {
		o.Suspension = &s.Suspension
	}
	if x, ok := errors.AsType[*ResumeError](e.Err); ok {
		o.Reason = x.Reason
	}
	if x, ok := errors.AsType[*ExitError](e.Err); ok {
		o.Exit = x
	}
	return o
}
