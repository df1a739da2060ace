package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// breaks is the error of a value that breaks its schema. A panic of the engine, which is nobody's fault but
// the host's, is Internal (T1).
func (r *run) breaks(code Code, outcome Outcome, err error) *Error {
	if p, ok := errors.AsType[*schema.PanicError](err); ok {
		r.host.log.Error("schema engine panicked", "tool", r.call.Tool, "error", p, "stack", string(p.Stack))
		return r.fail(Internal, outcome, p)
	}
	return r.fail(code, outcome, schemaError(err))
}

func (r *run) fail(code Code, outcome Outcome, err error) *Error {
	return &Error{Op: "call", Tool: r.call.Tool, Code: code, Outcome: outcome, Err: err}
}

// withRepairs says in an error what of the input was mended. The error may be a hook's own, so it is not changed itself.
func (r *run) withRepairs(err error) error {
	e, ok := err.(*Error)
	if !ok || r.repairs == nil {
		return err
	}
	said := *e
	said.Repairs = r.repairs
	return &said
}

// ended is the error of a call whose context ended.
func (r *run) ended(ctx context.Context, outcome Outcome) *Error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errHostClosed):
		return r.fail(Closed, outcome, errHostClosed)
	case errors.Is(cause, context.DeadlineExceeded):
		return r.fail(Timeout, outcome, &timeoutError{time.Since(r.begun)})
	default:
		return r.fail(Canceled, outcome, cause)
	}
}

// timeoutError says how long the caller waited.
type timeoutError struct{ waited time.Duration }

func (e *timeoutError) Error() string {
	unit := time.Millisecond
	if e.waited < unit {
		unit = time.Microsecond
	}
	return fmt.Sprintf("no answer after %v", e.waited.Round(unit))
}

// Is makes a timeout what its context says it is.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// startError is the error of a call whose plugin did not start.
func (r *run) startError(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return r.ended(ctx, NotStarted)
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return r.fail(e.Code, NotStarted, e.Err)
	}
	return r.fail(Unavailable, NotStarted, err)
}

// recvError is the error of a call that has no outcome from the plugin.
func (a *attempt) recvError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	a.end(reasonOf(err))
	r, outcome := a.run, NotStarted
	if a.call.Started() {
		outcome = Unknown
	}
	if t, ok := errors.AsType[*session.TooLargeError](err); ok {
		return r.fail(TooLarge, outcome, t)
	}
	if f, ok := errors.AsType[*session.FullError](err); ok {
		return r.fail(TooLarge, outcome, fmt.Errorf("%w (limits.held); the plugin does not wait for room: build it with a newer SDK, raise the limit or make fewer calls at once", f))
	}
	switch {
	case errors.Is(err, session.ErrEnded):
		return r.crashed(ctx, a.proc, outcome)
	case ctx.Err() != nil:
		return r.ended(ctx, outcome)
	}
	return r.fail(Protocol, outcome, fmt.Errorf("the plugin ended the call without an outcome: %w", err))
}

// overErr reports an error of sending that says that the call or its process is over: then receiving tells
// how.
func overErr(err error) bool {
	return errors.Is(err, session.ErrEnded) || errors.Is(err, session.ErrClosed)
}

// reasonOf is what the plugin is told of the end of a call.
func reasonOf(err error) pb.CancelReason {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return pb.CancelReason_CANCEL_REASON_TIMEOUT
	case errors.Is(err, errNoInput):
		return pb.CancelReason_CANCEL_REASON_INVALID_INPUT
	case errors.Is(err, errHostClosed):
		return pb.CancelReason_CANCEL_REASON_SHUTDOWN
	}
	return pb.CancelReason_CANCEL_REASON_CALLER
}

// crashed waits for the evidence of a process whose session ended, and ties it to the call (C4, C5).
func (r *run) crashed(ctx context.Context, proc *process, outcome Outcome) *Error {
	if proc.wait(ctx) != nil {
		return r.ended(ctx, outcome)
	}
	r.log.flush(ctx)
	code, exit := Unavailable, *proc.exit
	switch {
	case !proc.stopping.Load():
	case r.host.closed.Load():
		code = Closed
	case exit.Err == nil:
		exit.Err = fmt.Errorf("it was replaced by another version, and the call did not end within %v", proc.plugin.lim.Drain)
	}
	e := r.fail(code, outcome, &exit)
	e.retry = outcome == NotStarted
	return e
}

// failed converts the plugin's word on a failure.
func (a *attempt) failed(ctx context.Context, f *pb.Failed) *Error {
	r := a.run
	tool := &ToolError{Message: r.maskText(f.GetMessage())}
	if data := f.GetData(); json.Valid(data) {
		tool.Data = r.maskSecrets(data)
	}
	switch f.GetKind() {
	case pb.FailureKind_FAILURE_KIND_PANIC:
		tool.Panic = true
		return r.fail(ToolFailed, Failed, tool)
	case pb.FailureKind_FAILURE_KIND_OUTCOME_UNKNOWN:
		return r.fail(ToolFailed, Unknown, tool)
	case pb.FailureKind_FAILURE_KIND_NOTHING_DONE:
		return r.fail(ToolFailed, NotStarted, tool)
	case pb.FailureKind_FAILURE_KIND_NO_TOOL:
		return r.fail(Protocol, NotStarted, tool)
	case pb.FailureKind_FAILURE_KIND_INPUT:
		return r.fail(InvalidInput, NotStarted, tool)
	case pb.FailureKind_FAILURE_KIND_OUTPUT:
		return r.fail(InvalidOutput, Failed, tool)
	case pb.FailureKind_FAILURE_KIND_TOO_LARGE:
		return r.fail(TooLarge, Failed, tool)
	case pb.FailureKind_FAILURE_KIND_CANCELED:
		return a.canceled(ctx, tool)
	case pb.FailureKind_FAILURE_KIND_BUSY:
		e := r.fail(Busy, NotStarted, tool)
		e.retry = a.leaves(ctx) // it was stopping: a fresh process may take the call
		return e
	}
	return r.fail(ToolFailed, Failed, tool)
}

// canceled says why a call that the plugin calls cancelled has no outcome: the caller or the clock, the end
// of the host or of the plugin.
func (a *attempt) canceled(ctx context.Context, tool *ToolError) *Error {
	r, clock := a.run, a.run.clock()
	switch {
	case ctx.Err() != nil:
		return r.ended(ctx, Unknown)
	case r.host.closed.Load():
		return r.fail(Closed, Unknown, errHostClosed)
	case a.proc.stopping.Load():
		return r.fail(Unavailable, Unknown, errReplaced)
	case clock != nil && clock.remaining(ctx) < clockSkew: // the plugin's clock was the first to say so
		return r.fail(Timeout, Unknown, &timeoutError{time.Since(r.begun)})
	case a.leaves(ctx):
		return r.fail(Unavailable, Unknown, a.proc.exit)
	}
	return r.fail(Canceled, Unknown, tool)
}

var errReplaced = errors.New("the plugin was replaced, and the time that its running calls had is over")

// clockSkew is how much earlier than the host's clock the plugin's may end a call.
const clockSkew = 100 * time.Millisecond

// leaves reports whether the process is about to end, which it may have said before it shows.
func (a *attempt) leaves(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, ownEnd)
	defer cancel()
	return a.proc.wait(ctx) == nil
}

// ownEnd is how long a process that says that it ends has to do so.
const ownEnd = 300 * time.Millisecond
