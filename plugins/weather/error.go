package main

import (
	"encoding/json"
	"errors"

	"github.com/toolhost/toolhost/pluginsdk"
)

// The kinds of failure.
const (
	kindInput       = "invalid_input" // the tool cannot understand what it was given
	kindNotFound    = "not_found"     // no such place
	kindRejected    = "rejected"      // the service refuses the request (4xx)
	kindLimited     = "rate_limited"  // 429
	kindServer      = "server_error"  // 5xx
	kindMalformed   = "malformed"     // the answer is not what the service promises
	kindTooLarge    = "too_large"     // the answer is larger than any honest one
	kindTimeout     = "timeout"       // no answer in time
	kindUnreachable = "unreachable"   // no connection, or it broke
)

// failure is why there is no report: which provider, which host, and what.
// Its JSON is what the model gets as data beside the message.
type failure struct {
	Provider   string `json:"provider,omitempty"` // absent if the input is at fault
	Host       string `json:"host,omitempty"`
	Kind       string `json:"kind"`
	Status     int    `json:"status,omitempty"` // HTTP status, if there was an answer
	Retryable  bool   `json:"retryable"`        // the same call may succeed later
	RetryAfter int    `json:"retryAfterSeconds,omitempty"`

	cause string // what happened, without provider and host
	err   error  // the error below it, if any
}

func (f *failure) Error() string {
	text := f.cause
	if f.Host != "" {
		text = f.Host + ": " + text
	}
	if f.Provider != "" {
		text = f.Provider + ": " + text
	}
	return text
}

func (f *failure) Unwrap() error { return f.err }

// forModel gives a failure its data for the model. Other errors, such as the
// end of the call's context, stay as they are.
func forModel(err error) error {
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	data, jsonErr := json.Marshal(f)
	if jsonErr != nil {
		return err
	}
	return &pluginsdk.Error{Message: err.Error(), Data: data, Err: err}
}
