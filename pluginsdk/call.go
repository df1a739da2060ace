package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/partialjson"
	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Call is one call of a tool, as its author sees it. Its methods may be called
// concurrently, until the call ends; after that they do nothing and return [ErrCallEnded] where
// they return an error.
//
// The zero Call belongs to no host, for a test that calls Execute itself: nothing is sent, questions are
// declined, and it never resumes.
type Call struct {
	conn *connection
	wire *session.Call
	open *pb.Open
	tool *tool

	ctx     context.Context // ends with the call
	exec    *execContext    // &execContext; nil before Execute
	resumed *pb.Resume      // nil on a first run; written before Execute
	input   any             // *In; nil until the whole input is there

	execContext execContext // ends when Execute returns

	alone     bool        // it was when it came
	returned  bool        // run came to its end; false after runtime.Goexit
	ended     atomic.Bool // the call's goroutine is done
	receiving token       // whoever has it may call wire.Recv

	// Guarded by the token:
	questions  uint32 // asked so far
	unanswered int    // of them

	partialM sync.Mutex
	partial  partialjson.Reader // of the input's text; its memory is the text
}

// InputSoFar is the input's text so far as valid JSON, for OnInputDelta: open strings and containers are
// closed, and a member whose value has not begun is left out, so that every string is the beginning of the
// final one. It is "null" before anything is readable. It copies the text: ask for it when it is worth
// that, not at every piece of a long input. Without OnInputDelta there is none, and it is nil.
func (c *Call) InputSoFar() json.RawMessage {
	if c.tool == nil || c.tool.inputDelta == nil {
		return nil
	}
	c.partialM.Lock()
	defer c.partialM.Unlock()
	return c.partial.Value()
}

// ID is the caller's id of the call, such as the model's tool call id.
func (c *Call) ID() string { return c.open.GetCallId() }

// Tool is the tool's id.
func (c *Call) Tool() string { return c.open.GetTool() }

// Traceparent is the W3C traceparent of the caller's span, or "".
func (c *Call) Traceparent() string { return c.open.GetTraceparent() }

// Tracestate is the W3C tracestate that belongs to Traceparent, or "".
func (c *Call) Tracestate() string { return c.open.GetTracestate() }

// Messages is the JSON array of the conversation's messages. It is nil unless the
// tool has WantsMessages and the operator grants them.
func (c *Call) Messages() json.RawMessage { return c.open.GetMessages() }

// RequestContext decodes into v, a pointer, the part of the request context that the
// tool's RequestContextSchema asks for. Without any, v stays as it is.
func (c *Call) RequestContext(v any) error {
	raw := c.open.GetContext()
	if len(raw) == 0 {
		return nil
	}
	if err := decode(raw, v); err != nil {
		return fmt.Errorf("request context: %w", err)
	}
	return nil
}

// Settings decodes the plugin's settings into v, a pointer; no settings are {}. A
// name that v does not have is an error. A plugin whose settings should be checked before
// the first call uses [Registry.Settings].
func (c *Call) Settings(v any) error {
	if c.conn == nil {
		return decodeSettings(nil, v)
	}
	return c.conn.reg.decodeSettings(v)
}

// Progress reports how far the call has come; total is 0 if it is not known. It
// never blocks: the latest report wins. Numbers that are not finite are ignored.
func (c *Call) Progress(progress, total float64, message string) {
	if !finite(progress) || !finite(total) {
		return
	}
	// Whoever reports progress cannot do anything about its loss.
	_ = c.send(context.Background(), &pb.Frame{Body: &pb.Frame_Progress{Progress: &pb.Progress{
		Progress: progress, Total: total, Message: cut(message, maxSmallText),
	}}})
}

// Write sends v, encoded as JSON, to the caller as a piece of custom output. It
// blocks while the caller is behind. json.RawMessage goes as it is.
func (c *Call) Write(ctx context.Context, v any) error {
	raw, err := encodeOutput(v)
	if err == nil && raw == nil {
		raw = []byte("null")
	}
	if err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return c.send(ctx, &pb.Frame{Body: &pb.Frame_Write{Write: &pb.Write{Data: raw}}})
}

// send sends one frame of the author's.
func (c *Call) send(ctx context.Context, f *pb.Frame) error {
	switch {
	case c.wire == nil:
		return nil
	case c.ended.Load():
		return ErrCallEnded
	}
	err := c.wire.Send(ctx, f)
	var state *session.StateError
	if errors.Is(err, session.ErrClosed) || errors.As(err, &state) {
		return ErrCallEnded
	}
	return err
}

// receive returns the host's next frame. One goroutine at a time may be in it; the others wait.
func (c *Call) receive(ctx context.Context) (*pb.Frame, error) {
	if err := c.receiving.take(ctx); err != nil {
		return nil, err
	}
	defer c.receiving.giveBack()
	return c.recv(ctx)
}

// recv is receive for who has the token.
func (c *Call) recv(ctx context.Context) (*pb.Frame, error) {
	c.tool.pace.waits()
	return c.wire.Recv(ctx)
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
