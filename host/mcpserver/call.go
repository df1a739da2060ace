package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/workers"
)

// The JSON-RPC errors of a tools/call.
const (
	codeInvalidParams     = -32602
	codeInternal          = -32603
	codeMissingCapability = -32021
)

// calls is the pipeline of tools/call: from a request to a result, whatever transport it came by.
type calls struct {
	cfg    Config
	host   *host.Host
	log    *slog.Logger
	known  func(host.Caller) *listing // what is exported to a caller
	sealer *sealer
	lot    *lot

	life context.Context // ends when close begins
	end  context.CancelCauseFunc

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup // the flights

	workers *workers.Pool[func()]
}

// newCalls returns the pipeline of a server with this configuration, its defaults filled in. Whoever owns the workers closes them after it.
func newCalls(cfg Config, known func(host.Caller) *listing, workers *workers.Pool[func()]) (*calls, error) {
	s, err := newSealer(cfg.StateKey)
	if err != nil {
		return nil, fmt.Errorf("mcpserver: Config.StateKey: %w", err)
	}
	c := &calls{cfg: cfg, host: cfg.Host, log: cfg.Logger, known: known, sealer: s, lot: newLot(cfg.Park), workers: workers}
	c.life, c.end = context.WithCancelCause(context.Background())
	return c, nil
}

// close cancels every call and returns when all have ended.
func (c *calls) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end(errServerClosed)
	c.work.Wait()
	c.lot.empty()
}

// call makes one tools/call. The result is a CallToolResult, complete or input_required, as the era of the request wants it; the
// transport adds what every result of the era has. The error is a *rpcError, or that of ctx: then nobody waits for an answer.
func (c *calls) call(ctx context.Context, r request) (json.RawMessage, error) {
	list := c.known(r.caller)
	tool, ok := list.find(r.name)
	if !ok {
		return nil, c.unknown(r.name, list)
	}
	if len(r.arguments) > 0 && rawjson.Kind(r.arguments) != '{' {
		return project.Error(tool.Tool, &host.Error{Op: "call", Tool: tool.Name, Code: host.InvalidInput,
			Err: fmt.Errorf("the arguments must be a JSON object, and are of type %s", rawjson.Type(r.arguments))}), nil
	}
	if r.era == project.Modern && r.state != "" {
		return c.goOn(ctx, r, tool)
	}
	f := newFlight(tool, r.caller)
	if r.era == project.Modern {
		f.early = r.answers
	}
	call := host.Call{Tool: tool.Name, Input: r.arguments}
	if len(call.Input) == 0 {
		call.Input = json.RawMessage("{}") // nil would wait for pieces
	}
	return c.run(ctx, f, r, call)
}

// unknown is the error of a tool that does not exist for the caller.
func (c *calls) unknown(name string, list *listing) *rpcError {
	names := make([]string, 0, len(list.tools))
	for _, t := range list.tools {
		names = append(names, t.name)
	}
	return &rpcError{code: codeInvalidParams, message: c.host.NotFoundAmong(names, project.Clip(name, maxSaid)).Error()}
}

// maxSaid is how many bytes of an unknown name are said again.
const maxSaid = 200

// goOn takes up what waits for the answers of this request.
func (c *calls) goOn(ctx context.Context, r request, tool *exported) (json.RawMessage, error) {
	t, err := c.sealer.open(r.state, bound(r), time.Now())
	if err != nil {
		return nil, err
	}
	if t.Suspension != "" {
		return c.decide(ctx, r, tool, t)
	}
	f := c.lot.take(t.Flight, t.Round)
	if f == nil {
		return nil, badState("the call that it belongs to does not wait for it: it was answered, has ended or waited too long, or the server was started anew")
	}
	return c.attend(ctx, f, r)
}

// run begins a call and attends it.
func (c *calls) run(ctx context.Context, f *flight, r request, call host.Call) (json.RawMessage, error) {
	call.Caller = r.caller
	call.Context = r.meta.context(c.cfg.Context)
	call.Traceparent, call.Tracestate = r.meta.trace()
	call.Elicit = c.elicitor(f, r)
	p := c.pace(r)
	parks := r.era == project.Modern && r.can.any() // then who attends later may want what this request does not
	if p.token != nil || parks {
		call.Progress = func(p host.Progress) { f.note(note{progress: &p, size: len(p.Message)}) }
	}
	if p.level != never || parks {
		call.Log = slog.New(logHandler{flight: f})
	}
	f.attend(r, p)
	here := call.Progress == nil && call.Log == nil // there is nothing to tell before the result
	life := ctx
	if !here {
		life = context.WithoutCancel(ctx) // the request may be the first of several: the call ends by flight.cancel
	}
	work := c.begin(life, f, call)
	if work == nil {
		return project.Error(f.tool.Tool, &host.Error{Op: "call", Tool: call.Tool, Code: host.Closed, Err: errServerClosed}), nil
	}
	if !here {
		c.workers.Run(work) // ends with the call
		return c.stay(ctx, f, r, p)
	}
	if work(); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return c.finish(ctx, f, r)
}

// attend continues a flight that was parked, with the answers that the request brings.
func (c *calls) attend(ctx context.Context, f *flight, r request) (json.RawMessage, error) {
	p := c.pace(r)
	f.attend(r, p)
	f.answer(r.answers)
	return c.stay(ctx, f, r, p)
}

// begin returns what makes the call, which ends with ctx or by flight.cancel, and has to be run once; nil: the server is closed.
func (c *calls) begin(ctx context.Context, f *flight, call host.Call) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	ctx, f.cancel = context.WithCancelCause(ctx)
	c.work.Add(1)
	return func() {
		defer c.work.Done()
		defer f.cancel(nil)
		defer context.AfterFunc(c.life, func() { f.cancel(errServerClosed) })()
		c.make(ctx, f, call)
	}
}

// make makes the call in the host. A panic costs only this call (R43).
func (c *calls) make(ctx context.Context, f *flight, call host.Call) {
	defer close(f.done)
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a call made the server panic", "tool", call.Tool, "panic", p, "stack", string(debug.Stack()))
			f.err = &host.Error{Op: "call", Tool: call.Tool, Code: host.Internal, Outcome: host.Unknown, Err: errors.New("internal error")}
		}
	}()
	f.res, f.err = c.host.Call(ctx, call)
}

// stay tells the client what happens until the call ends or asks something that a later request will answer.
func (c *calls) stay(ctx context.Context, f *flight, r request, p *pace) (json.RawMessage, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-f.done:
			if ctx.Err() == nil { // nothing is told after a cancellation (R36)
				p.end(f)
				f.leave()
				return c.finish(ctx, f, r)
			}
		default:
		}
		if ctx.Err() != nil {
			f.leave()
			f.cancel(context.Cause(ctx))
			return nil, ctx.Err()
		}
		now := time.Now()
		next := p.tell(f, now)
		qs, until := f.toAsk(now)
		if len(qs) > 0 {
			return c.park(f, r, qs)
		}
		timer.Reset(time.Until(sooner(next, until)))
		select {
		case <-ctx.Done():
		case <-f.done:
		case <-f.wake:
		case <-timer.C:
		}
	}
}

// sooner is the earlier of two times, of which a zero one does not count; far away if both are zero.
func sooner(a, b time.Time) time.Time {
	switch {
	case a.IsZero() && b.IsZero():
		return time.Now().Add(time.Hour)
	case a.IsZero() || !b.IsZero() && b.Before(a):
		return b
	}
	return a
}

// park leaves the call to wait for the request that brings the answers, and asks for them.
func (c *calls) park(f *flight, r request, qs []*question) (json.RawMessage, error) {
	f.leave()
	round, err := c.lot.put(f)
	if err != nil {
		f.cancel(err)
		return project.Error(f.tool.Tool, &host.Error{Op: "call", Tool: f.tool.Name, Code: host.Busy, Outcome: host.Unknown, Err: err}), nil
	}
	state, err := c.sealer.seal(ticket{Flight: f.id, Round: round, Expires: time.Now().Add(c.lot.wait).Unix() + 1}, bound(r))
	if err != nil {
		return nil, err
	}
	return inputRequired(inputRequests(qs), state), nil
}

// finish is the result of a call that is over, or the error that ends it.
func (c *calls) finish(ctx context.Context, f *flight, r request) (json.RawMessage, error) {
	if f.err == nil {
		return project.Result(f.tool.Tool, f.tool.wraps[r.era], f.res, r.era, c.cfg.Result), nil
	}
	if s, ok := errors.AsType[*host.SuspendedError](f.err); ok {
		return c.suspended(ctx, f, r, s.Suspension)
	}
	code, _ := host.CodeOf(f.err)
	failed, _ := errors.AsType[*host.Error](f.err)
	f.mu.Lock()
	required := f.missing.required()
	f.mu.Unlock()
	switch {
	case code == host.NotFound:
		return nil, c.unknown(r.name, c.known(r.caller))
	case code == host.ToolFailed && failed.Outcome != host.Unknown && r.era == project.Modern && required != nil: // one that was lost did not fail for it
		return nil, &rpcError{
			code:    codeMissingCapability,
			message: fmt.Sprintf("the tool %s needs what the client did not declare that it can be asked: %v", r.name, f.err),
			data:    fmt.Appendf(nil, `{"requiredCapabilities":%s}`, required),
		}
	}
	return project.Error(f.tool.Tool, f.err), nil
}
