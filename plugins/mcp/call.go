package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/pluginsdk"
)

// caller calls one of the server's tools.
type caller struct {
	remote     remote
	place      string // of the server, for messages
	name       string // the server's own for the tool
	repeat     bool   // the operator says that it may be called again after an unknown outcome (C3)
	structured bool   // a result without structuredContent is a failure (R19)
	calls      *atomic.Int64
}

// execute sends the validated input as it is and reads the result.
func (c caller) execute(ctx context.Context, call *pluginsdk.Call, in json.RawMessage) (any, error) {
	raw, err := c.remote.call(ctx, remoteCall{
		name: c.name, arguments: in, meta: traceMeta(call.Traceparent()), repeat: c.repeat,
		owner:    fmt.Sprint(c.calls.Add(1)), // two calls may be those of two people, and a plugin is not told (T34)
		progress: call.Progress,
		log: func(level, text string) {
			call.Logger().Log(ctx, logLevel(level), text, "from", "server")
		},
		ask: asker{call}.answers,
	})
	if err != nil {
		return nil, c.failure(ctx, err)
	}
	out, err := parseResult(raw, c.structured)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// toModelOutput shows the model the content blocks. Of an output that a hook rewrote there are none: it is shown itself.
func toModelOutput(_ context.Context, _ json.RawMessage, out any) (pluginsdk.ModelOutput, error) {
	if o, ok := out.(*outcome); ok {
		return o.model()
	}
	return pluginsdk.ModelOutput{}, nil
}

// failure makes an error of the connection one for the model.
func (c caller) failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var rpc *rpcError
	if errors.As(err, &rpc) {
		o := rawjson.Object{{"code", json.RawMessage(fmt.Sprint(rpc.code))}, {"message", rawjson.Quote(rpc.message)}}
		if rpc.data != nil {
			o = append(o, rawjson.Member{"data", rpc.data})
		}
		return &pluginsdk.Error{Message: rpc.Error(), Data: rawjson.Object{{"error", o.Raw()}}.Raw(), Err: err}
	}
	var lost *lostError
	if errors.As(err, &lost) {
		known, outcome := "the call was not sent", pluginsdk.OutcomeNotStarted
		if lost.sent {
			known, outcome = "whether the tool did anything is not known", pluginsdk.OutcomeUnknown
		}
		return &pluginsdk.Error{Message: fmt.Sprintf("MCP server %s: %s; %s", c.place, lost.text, known), Err: err, Outcome: outcome}
	}
	return err
}

// traceMeta is what _meta holds of the call: the trace context and nothing else, whatever the caller's own _meta held (T38).
func traceMeta(traceparent string) json.RawMessage {
	if traceparent == "" {
		return nil
	}
	return rawjson.Object{{"traceparent", rawjson.Quote(traceparent)}}.Raw()
}

// logLevel reads one of MCP's levels.
func logLevel(level string) slog.Level {
	switch level {
	case "debug":
		return slog.LevelDebug
	case "warning":
		return slog.LevelWarn
	case "error", "critical", "alert", "emergency":
		return slog.LevelError
	}
	return slog.LevelInfo
}
