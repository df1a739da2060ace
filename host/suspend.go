package host

import (
	"encoding/json"

	"fmt"
	"time"
)

// Kind is what a suspension waits for.
type Kind string

// The kinds.
const (
	KindApproval Kind = "approval" // a yes or no
	KindData     Kind = "data"     // an answer that fits Suspension.Schema
)

// Suspension is a call that waits. It is plain data: it marshals to JSON, survives a restart of the host
// and of the plugin, and turns into the next Call. Every field is protected: a changed one makes the answer
// fail. What is private (the input, the context, what was decided so far) is encrypted in Sealed; the
// visible fields hold the display form only.
type Suspension struct {
	ID      string          `json:"id"`     // this round's; never used twice
	CallID  string          `json:"callId"` // the call's, the same in every round
	Tool    string          `json:"tool"`   // as it was called
	Plugin  string          `json:"plugin"` // the plugin's name
	Title   string          `json:"title,omitempty"`
	Kind    Kind            `json:"kind"`
	Reasons []string        `json:"reasons,omitempty"` // why it is asked, in the host's words
	Display json.RawMessage `json:"display"`           // of an approval the input, of a question what the tool shows
	Schema  json.RawMessage `json:"schema,omitempty"`  // of the data that resumes it
	Expires time.Time       `json:"expires"`
	Sealed  []byte          `json:"sealed"`
}

// SuspendedError is the cause of the error of a call that waits.
type SuspendedError struct{ Suspension Suspension }

// Error says what it waits for.
func (e *SuspendedError) Error() string {
	if e.Suspension.Kind == KindApproval {
		return "waiting for an approval"
	}
	return "waiting for an answer"
}

// Approve turns an approval into the call to make. Caller is that of whoever answers; set the rest of the
// call's options as for any other call. Input and context are those that were approved, whatever the new
// call says.
func (s *Suspension) Approve() Call { return s.answer(verdict{approve: true}) }

// Deny turns any suspension into a call that ends with Denied, and spends it. The tool does not run.
func (s *Suspension) Deny(reason string) Call { return s.answer(verdict{deny: true, reason: reason}) }

// Resume turns a question into the call to make. data is any JSON value, null too. Data that breaks Schema
// fails with InvalidResume and leaves the suspension as it is (b25).
func (s *Suspension) Resume(data json.RawMessage) Call {
	return s.answer(verdict{data: data, hasData: true})
}

func (s *Suspension) answer(d verdict) Call {
	return Call{ID: s.CallID, Tool: s.Tool, resume: &resumption{suspension: *s, decision: d}}
}

// resumption is what makes a call the next round of another one.
type resumption struct {
	suspension Suspension
	decision   verdict
}

// verdict is an answer to a suspension.
type verdict struct {
	approve, deny bool
	reason        string
	data          json.RawMessage
	hasData       bool
}

// ResumeError says why an answer to a suspension is not accepted.
type ResumeError struct {
	Reason string // "tampered", "foreign", "expired", "wrong_kind", "spent"
	Err    error
}

// Error says so.
func (e *ResumeError) Error() string { return fmt.Sprintf("the suspension is not accepted: %v", e.Err) }

// Unwrap returns the cause.
func (e *ResumeError) Unwrap() error { return e.Err }

// sealed is the private part of a suspension.
type sealed struct {
	Input    json.RawMessage `json:"input"`              // validated
	Context  json.RawMessage `json:"context,omitempty"`  // as the caller gave it
	Messages json.RawMessage `json:"messages,omitempty"` // likewise
	Payload  json.RawMessage `json:"payload,omitempty"`  // what the tool suspended with
	Approved bool            `json:"approved,omitempty"` // a person approved an earlier round
	AskedBy  bool            `json:"askedBy,omitempty"`  // the tool asked at run time: the approval resumes it
	Caller   Caller          `json:"caller"`
	Rules    string          `json:"rules"`   // the policy's digest
	Tool     string          `json:"tool"`    // hash of the definition
	Program  string          `json:"program"` // hash of the bytes of the plugin that it was, or of its manifest
	Round    int             `json:"round"`
}

// visible is what the seal protects beside the private part.
func (s Suspension) visible() ([]byte, error) {
	s.Sealed = nil
	s.Expires = s.Expires.UTC()
	return json.Marshal(s)
}
