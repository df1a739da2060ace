package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// attempt is one call on one process.
type attempt struct {
	run  *run
	proc *process
	call *session.Call

	// Of a call whose input is still on its way, and which is therefore received on a goroutine of its own (M5):
	cancel context.CancelCauseFunc
	result chan received // one value: the outcome
}

// received is the outcome of an attempt.
type received struct {
	out *pb.Output
	err error
}

// receive starts to receive the call's frames. The goroutine ends with the call, which ends with ctx or a.cancel.
func (a *attempt) receive(ctx context.Context) {
	ctx, a.cancel = context.WithCancelCause(ctx)
	a.result = make(chan received, 1)
	a.run.host.work.Go(func() { // the host waits for the caller, which is one of its goroutines itself
		out, err := a.await(ctx)
		a.result <- received{out, err}
	})
}

// errNoInput is why a call ends whose input never became one.
var errNoInput = errors.New("the input is not usable")

// maxAttempts is how many processes a call tries that was never sent to one (C3).
const maxAttempts = 3

// execute runs the call in the plugin and returns what the tool returned. A call that was never sent is tried again on a
// fresh process; one that may have been sent never is (C3).
func (r *run) execute(ctx context.Context, input, reqContext []byte) (*pb.Output, error) {
	if err := r.takeSlot(ctx); err != nil {
		return nil, err
	}
	defer r.freeSlot()
	for n := 1; ; n++ {
		out, err := r.try(ctx, input, reqContext)
		e, failed := errors.AsType[*Error](err)
		if !failed || n == maxAttempts || !e.retry {
			return out, err
		}
	}
}

// try runs the call on one process.
func (r *run) try(ctx context.Context, input, reqContext []byte) (*pb.Output, error) {
	if r.streamed != nil {
		if a := r.streamed.attempt(ctx); a != nil {
			return a.finish(ctx, input)
		}
	}
	a, err := r.open(ctx, &pb.Open{Input: input, Run: true, Context: reqContext})
	if err != nil {
		return nil, err
	}
	return a.await(ctx)
}

// finish sends the whole input of a call that was opened before, and waits for the outcome.
func (a *attempt) finish(ctx context.Context, input []byte) (*pb.Output, error) {
	f := &pb.Frame{Body: &pb.Frame_Input{Input: &pb.Input{Input: input, Run: true}}}
	if err := a.call.Send(ctx, f); err != nil && !overErr(err) {
		a.cancel(err)
	}
	select {
	case got := <-a.result:
		return got.out, got.err
	case <-ctx.Done():
		a.cancel(context.Cause(ctx))
		got := <-a.result
		return got.out, got.err
	}
}

// takeSlot waits until the tool's own limit of concurrent calls lets this one in.
func (r *run) takeSlot(ctx context.Context) error {
	if r.entry.slots == nil {
		return nil
	}
	select {
	case r.entry.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return r.ended(ctx, NotStarted)
	}
}

func (r *run) freeSlot() {
	if r.entry.slots != nil {
		<-r.entry.slots
	}
}

// open begins the call on a process that is ready, starting one if need be.
func (r *run) open(ctx context.Context, open *pb.Open) (*attempt, error) {
	proc, err := r.entry.plugin.acquire(ctx)
	if err != nil {
		return nil, r.startError(ctx, err)
	}
	a, err := r.openOn(ctx, proc, open)
	if err != nil {
		proc.leave()
		return nil, err
	}
	return a, nil
}

func (r *run) openOn(ctx context.Context, proc *process, open *pb.Open) (*attempt, error) {
	open.Tool, open.CallId = r.entry.tool.ID, r.call.ID
	open.Answers = r.call.Elicit != nil
	open.Model = r.entry.wants[pb.Callback_CALLBACK_MODEL_OUTPUT]
	open.Confirm = r.entry.wants[pb.Callback_CALLBACK_OUTPUT]
	if deadline, ok := ctx.Deadline(); ok {
		open.TimeoutNs = uint64(max(time.Until(deadline), 1))
	}
	call, err := proc.sess.Open(open)
	if err == nil {
		return &attempt{run: r, proc: proc, call: call}, nil
	}
	if t, ok := errors.AsType[*session.TooLargeError](err); ok {
		return nil, r.fail(TooLarge, NotStarted, t)
	}
	e := r.fail(Unavailable, NotStarted, err)
	e.retry = true // the session ended between entering and opening
	return nil, e
}

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

// await receives the call's frames until its outcome.
func (a *attempt) await(ctx context.Context) (*pb.Output, error) {
	r := a.run
	for {
		f, err := a.call.Recv(ctx)
		if err != nil {
			return nil, a.recvError(ctx, err)
		}
		switch b := f.GetBody().(type) {
		case *pb.Frame_Progress:
			r.emit(ctx, Progress{r.head(), b.Progress.GetProgress(), b.Progress.GetTotal(), b.Progress.GetMessage()})
		case *pb.Frame_Write:
			r.emit(ctx, Output{r.head(), b.Write.GetData()})
		case *pb.Frame_Question:
			a.ask(ctx, b.Question)
		case *pb.Frame_Output:
			return a.output(ctx, b.Output)
		case *pb.Frame_Failed:
			a.flush(ctx, b.Failed.GetLastLog())
			err := r.failed(ctx, b.Failed)
			a.done(true)
			return nil, err
		case *pb.Frame_Suspended:
			a.flush(ctx, b.Suspended.GetLastLog())
			a.done(true)
			return nil, r.fail(Suspended, Failed, errors.New("the tool suspended the call; this host does not keep suspensions yet"))
		}
	}
}

// output takes the outcome: the log that belongs to it first (O4), then the plugin's OnOutput if it has one.
func (a *attempt) output(ctx context.Context, out *pb.Output) (*pb.Output, error) {
	a.flush(ctx, out.GetLastLog())
	if a.run.entry.wants[pb.Callback_CALLBACK_OUTPUT] && a.run.checkOutput(&Result{Output: out.Output}) == nil {
		// Best effort: the call has its outcome, whatever becomes of the callback.
		_ = a.call.Send(ctx, &pb.Frame{Body: &pb.Frame_Accepted{Accepted: &pb.Accepted{Final: true}}})
	}
	a.done(true)
	return out, nil
}

// flush delivers what the process said before the outcome.
func (a *attempt) flush(ctx context.Context, lastLog uint64) {
	if !a.run.host.logs() {
		return
	}
	a.proc.flush(ctx, lastLog)
}

// done ends the attempt after its outcome.
func (a *attempt) done(completed bool) {
	if completed {
		a.proc.completed.Store(true)
	}
	a.call.Close()
	a.proc.leave()
}

// end gives the attempt up.
func (a *attempt) end(reason pb.CancelReason) {
	a.call.Cancel(reason, "")
	a.proc.leave()
}

// ask puts a question of the tool to the caller. The goroutine ends with the caller's function, which is told by ctx when the
// call is over; nothing waits for it, since a caller's function that ignores that must not keep the host open (K1).
func (a *attempt) ask(ctx context.Context, q *pb.Question) {
	answer := func(ans *pb.Answer) {
		ans.Id = q.GetId()
		_ = a.call.Send(ctx, &pb.Frame{Body: &pb.Frame_Answer{Answer: ans}}) // fails only when the call is over
	}
	elicit := a.run.call.Elicit
	if elicit == nil {
		answer(&pb.Answer{Action: pb.AnswerAction_ANSWER_ACTION_DECLINE})
		return
	}
	go func() {
		got, err := elicit(ctx, Question{q.GetMessage(), q.GetSchema()})
		switch {
		case err != nil || got.Action == "cancel":
			answer(&pb.Answer{Action: pb.AnswerAction_ANSWER_ACTION_CANCEL})
		case got.Action == "accept":
			answer(&pb.Answer{Action: pb.AnswerAction_ANSWER_ACTION_ACCEPT, Content: got.Content})
		default:
			answer(&pb.Answer{Action: pb.AnswerAction_ANSWER_ACTION_DECLINE})
		}
	}()
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
	switch {
	case errors.Is(err, session.ErrEnded):
		return r.crashed(ctx, a.proc, outcome)
	case ctx.Err() != nil:
		return r.ended(ctx, outcome)
	}
	return r.fail(Protocol, outcome, fmt.Errorf("the plugin ended the call without an outcome: %w", err))
}

// overErr reports an error of sending that says that the call or its process is over: then receiving tells how.
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
	code := Unavailable
	if proc.stopping.Load() {
		code = Closed
	}
	e := r.fail(code, outcome, proc.exit)
	e.retry = outcome == NotStarted
	return e
}

// failed converts the plugin's word on a failure.
func (r *run) failed(ctx context.Context, f *pb.Failed) *Error {
	tool := &ToolError{Message: f.GetMessage(), Data: f.GetData()}
	switch f.GetKind() {
	case pb.FailureKind_FAILURE_KIND_PANIC:
		tool.Panic = true
		return r.fail(ToolFailed, Failed, tool)
	case pb.FailureKind_FAILURE_KIND_NO_TOOL:
		return r.fail(Protocol, NotStarted, tool)
	case pb.FailureKind_FAILURE_KIND_INPUT:
		return r.fail(InvalidInput, NotStarted, tool)
	case pb.FailureKind_FAILURE_KIND_OUTPUT:
		return r.fail(InvalidOutput, Failed, tool)
	case pb.FailureKind_FAILURE_KIND_TOO_LARGE:
		return r.fail(TooLarge, Failed, tool)
	case pb.FailureKind_FAILURE_KIND_CANCELED:
		if ctx.Err() != nil {
			return r.ended(ctx, Unknown)
		}
		// The host did not cancel: the plugin's clock, which got the same limit, was the first to say so.
		return r.fail(Timeout, Unknown, tool)
	case pb.FailureKind_FAILURE_KIND_BUSY:
		return r.fail(Busy, NotStarted, tool)
	}
	return r.fail(ToolFailed, Failed, tool)
}
