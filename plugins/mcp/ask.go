package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pluginsdk"
)

// Codes of answers to a server's questions.
const (
	codeMethod   = -32601 // it cannot be answered here
	codeParams   = -32602
	codeRejected = -1 // what MCP's sampling has for a user who says no
)

// asker puts the server's questions about a call to whoever made the call.
type asker struct{ call *pluginsdk.Call }

// answers answers questions that the server put at once, in one round. The error is a *rpcError for the server, or why nobody
// was asked.
func (a asker) answers(ctx context.Context, list []question) ([]json.RawMessage, error) {
	results := make([]json.RawMessage, len(list))
	var asked []pluginsdk.Question
	var places []int
	for i, q := range list {
		put, known, err := a.read(q)
		switch {
		case err != nil:
			return nil, err
		case known != nil:
			results[i] = known
		default:
			asked, places = append(asked, put), append(places, i)
		}
	}
	answers, err := a.call.ElicitAll(ctx, asked...)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil: // the questions themselves cannot be put
		return nil, &rpcError{code: codeParams, message: err.Error()}
	}
	for n, i := range places {
		if results[i], err = resultOf(asked[n].Kind, answers[n]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// read makes a request of the server a question, or knows the answer.
func (a asker) read(q question) (put pluginsdk.Question, known json.RawMessage, err error) {
	switch q.method {
	case "sampling/createMessage":
		return pluginsdk.Question{Message: "The server asks for a message of the model.", Kind: pluginsdk.QuestionSampling, Params: q.params}, nil, nil
	case "roots/list":
		return pluginsdk.Question{Message: "The server asks for the roots.", Kind: pluginsdk.QuestionRoots}, nil, nil
	case "elicitation/create":
	default:
		return put, nil, &rpcError{code: codeMethod, message: fmt.Sprintf("this client answers no %q", q.method)}
	}
	fault := func(why string) error {
		return &rpcError{code: codeParams, message: "elicitation/create: params: " + why}
	}
	o, ok := rawjson.ParseObject(q.params)
	if !ok {
		return put, nil, fault("no JSON object")
	}
	if mode, ok := o.Text("mode"); ok && mode != "form" { // who answers cannot be shown where a URL leads
		a.call.Logger().Warn("the server's question was declined: it asks by another way than a form", "mode", mode)
		return put, action("decline", nil), nil
	}
	message, isText := o.Text("message")
	if !isText {
		return put, nil, fault("message is no string")
	}
	schema := o.Get("requestedSchema")
	if rawjson.Kind(schema) == 'n' {
		schema = nil
	}
	return pluginsdk.Question{Message: message, Schema: schema, Kind: pluginsdk.QuestionForm}, nil, nil
}

// resultOf is the answer as the server's request wants it: of a form what was done with it, of a request that only a program can
// answer that program's own result.
func resultOf(kind pluginsdk.QuestionKind, answer pluginsdk.Answer) (json.RawMessage, error) {
	switch {
	case kind == pluginsdk.QuestionForm && answer.Accepted():
		return action("accept", answer.Content), nil
	case kind == pluginsdk.QuestionForm:
		return action(answer.Action, nil), nil
	case !answer.Accepted():
		return nil, &rpcError{code: codeRejected, message: "the caller does not answer this question"}
	case !json.Valid(answer.Content) || rawjson.Kind(answer.Content) != '{':
		return nil, &rpcError{code: codeRejected, message: "the caller's answer is no JSON object"}
	}
	return answer.Content, nil
}

// action is the result of elicitation/create.
func action(name string, content json.RawMessage) json.RawMessage {
	o := rawjson.Object{{"action", rawjson.Quote(name)}}
	if content != nil {
		o = append(o, rawjson.Member{"content", content})
	}
	return o.Raw()
}
