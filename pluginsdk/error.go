package pluginsdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/runes"
)

// ErrCallEnded is what the methods of a [Call] return after its end. They do nothing then.
var ErrCallEnded = errors.New("the call has ended")

// errStopping is the cause of a call's context when the process is told to end.
var errStopping = errors.New("the plugin is stopping")

// Error is a tool's own failure with data for the caller and the model. Any other
// error that Execute returns has its text only. It is found through wrapping.
type Error struct {
	// Message is for the model and for people. If empty, it is the text of Err.
	Message string
	// Data is JSON, or nil.
	Data json.RawMessage
	// Err is the cause, or nil.
	Err error
	// Outcome is what may be concluded about side effects. If zero, the tool ran and failed.
	Outcome Outcome
}

// Outcome is what a failure says about side effects (C3).
type Outcome int

// The outcomes.
const (
	OutcomeFailed     Outcome = iota // the tool ran and failed
	OutcomeUnknown                   // it may have done something, such as when a server that it works through was lost
	OutcomeNotStarted                // it did nothing: calling again is safe
)

// Error returns the message.
func (e *Error) Error() string {
	if e.Message == "" && e.Err != nil {
		return e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// panicError is a panic in the author's code. Its stack is for the log only.
type panicError struct {
	in    string
	value any
	stack []byte
}

func (e *panicError) Error() string {
	head, _, _ := strings.Cut(fmt.Sprint(e.value), "\n")
	return fmt.Sprintf("panic in %s: %s", e.in, cut(head, maxPanicHead))
}

const (
	maxErrorText = 256 << 10 // bytes of a failed call's text
	maxSmallText = 32 << 10  // bytes of a text in a frame that the session keeps small
	maxPanicHead = 200
)

// cut makes s valid UTF-8 of at most max bytes and marks what is missing.
func cut(s string, max int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= max {
		return s
	}
	kept := runes.Prefix(s, max)
	return fmt.Sprintf("%s [%d bytes cut]", kept, len(s)-len(kept))
}

// textOf is the text of an error on the wire, where an empty one would be none.
func textOf(err error, max int) string { return orElse(cut(err.Error(), max), "failed") }
