package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/pluginsdk"
)

// The error codes of answers to a server's questions.
const (
	codeMethod   = -32601 // the question cannot be answered here
	codeParams   = -32602
	codeRejected = -1 // what MCP's sampling has for a user who says no
)

// ask puts a question of the server to whoever made the call. The error is a *rpcError for the server, or why nobody was asked.
func ask(ctx context.Context, call *pluginsdk.Call, method string, params json.RawMessage) (json.RawMessage, error) {
	switch method {
	case "elicitation/create":
		return elicit(ctx, call, params)
	case "sampling/createMessage":
		return relay(call.Sample(ctx, params))
	case "roots/list":
		return relay(call.Roots(ctx))
	}
	return nil, &rpcError{code: codeMethod, message: fmt.Sprintf("this client answers no %q", method)}
}

// elicit asks with a form. A URL that the server wants opened is declined: whoever answers cannot be shown where it leads.
func elicit(ctx context.Context, call *pluginsdk.Call, params json.RawMessage) (json.RawMessage, error) {
	o, err := parseObject(params)
	if err != nil {
		return nil, &rpcError{code: codeParams, message: "elicitation/create: params: " + err.Error()}
	}
	if mode, ok := o.text("mode"); ok && mode != "form" {
		call.Logger().Warn("the server's question was declined: it asks by another way than a form", "mode", mode)
		return action("decline", nil), nil
	}
	message, ok := o.text("message")
	if !ok {
		return nil, &rpcError{code: codeParams, message: "elicitation/create: params: message is no string"}
	}
	schema := o.get("requestedSchema")
	if isNull(schema) {
		schema = nil
	}
	answer, err := call.Elicit(ctx, pluginsdk.Question{Message: message, Schema: schema})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil: // the question itself cannot be put
		return nil, &rpcError{code: codeParams, message: "elicitation/create: " + err.Error()}
	case answer.Accepted():
		return action("accept", answer.Content), nil
	}
	return action(answer.Action, nil), nil
}

func action(name string, content json.RawMessage) json.RawMessage {
	o := object{{"action", encodeText(name)}}
	if content != nil {
		o = append(o, member{"content", content})
	}
	return o.raw()
}

// relay is the caller's own result of a request that only a program can answer.
func relay(answer pluginsdk.Answer, err error) (json.RawMessage, error) {
	switch {
	case err != nil:
		return nil, err
	case answer.Accepted() && isObject(answer.Content):
		return answer.Content, nil
	case answer.Accepted():
		return nil, &rpcError{code: codeRejected, message: "the caller's answer is no JSON object"}
	}
	return nil, &rpcError{code: codeRejected, message: "the caller does not answer this question"}
}
