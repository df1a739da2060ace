package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
)

// request is one tools/call as the pipeline sees it, without transport and SDK.
type request struct {
	caller    host.Caller                // set by the transport, never from the body (T36)
	era       project.Era                // how the client speaks
	name      string                     // as the client calls the tool
	arguments json.RawMessage            // nil: there are none
	meta      meta                       // _meta; nil: there is none
	answers   map[string]json.RawMessage // inputResponses of a modern retry: the whole results
	state     string                     // requestState of a modern retry; hostile until its seal was opened
	can       capabilities               // what the client declared
	level     string                     // of the log that a legacy session set; empty: none, and it gets no log. A modern request has it in meta

	// notify sends a notification that belongs to this request. It does not block for long and drops what
	// cannot be sent. The pipeline calls it until it returns, and never after.
	notify func(method string, params any)
	// ask puts a request to a legacy client and returns its result. It is nil in the modern era and where
	// the client cannot be reached.
	ask func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// capabilities are what a client declared that it can be asked.
type capabilities struct {
	form, url, sampling, roots bool
}

// rpcError is a JSON-RPC error, such as that of an unknown tool or a missing capability.
type rpcError struct {
	code    int
	message string
	data    json.RawMessage // nil: none
}

func (e *rpcError) Error() string { return e.message }
