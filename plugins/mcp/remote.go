package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// remote is one MCP server as the tools see it: a connection that is made anew when it was lost.
type remote interface {
	// list returns the server's tools, each as the server wrote it, and what was odd about the list: pages that repeat, entries that
	// are no objects. It connects if need be.
	list(ctx context.Context) (tools []json.RawMessage, warnings []string, err error)
	// call calls a tool by the server's own name for it and returns the result as the server wrote it. It connects if need be. Cancelling ctx
	// tells the server. The error is a *rpcError of the server, a *lostError, or the cause of ctx's end.
	call(ctx context.Context, c remoteCall) (json.RawMessage, error)
	// close ends the connection and the process, if there is one, with all that it started.
	close() error
}

// remoteCall is one tools/call.
type remoteCall struct {
	name      string
	arguments json.RawMessage // an object
	meta      json.RawMessage // what _meta holds beside the progress token, such as traceparent; nil: nothing
	repeat    bool            // it may be sent again after an outcome that is not known (C3)
	owner     string          // who is asked: a question that may be about calls of several owners is put to none

	progress func(progress, total float64, message string) // of each notification for this call
	log      func(level, text string)                      // of the server's log messages
	// ask answers questions that the server put at once about this call, in their order; nil: nobody can be asked.
	ask func(ctx context.Context, list []question) ([]json.RawMessage, error)
}

// question is elicitation/create, sampling/createMessage or roots/list, with the request's params. Its answer is the result to send back.
type question struct {
	method string
	params json.RawMessage
}

// rpcError is an error that the server answered.
type rpcError struct {
	code    int
	message string
	data    json.RawMessage
}

func (e *rpcError) Error() string { return fmt.Sprintf("%s (%d)", e.message, e.code) }

// lostError says that the server could not be reached or was lost.
type lostError struct {
	sent bool   // the call may have reached the server: what became of it is not known
	text string // what happened, with exit status and the last words of a process
	err  error

	again bool // the connection is gone: another one may serve
}

func (e *lostError) Error() string { return e.text }
func (e *lostError) Unwrap() error { return e.err }
