package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// attempt is one call on one process.
type attempt struct {
	run  *run
	proc *process
	call *session.Call

	// Of a call whose input is still on its way, and which is therefore received on a goroutine of its own
	// (M5):
	cancel context.CancelCauseFunc
	result chan received // one value: the outcome
}

// received is the outcome of an attempt.
type received struct {
	out *pb.Output
	err error
}

// receive starts to receive the call's frames. The goroutine ends with the call, which ends with ctx or
// a.cancel.
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

// finish sends the whole input of a call that was opened before, and waits for the outcome.
func (a *attempt) finish(ctx context.Context, asks bool) (*pb.Output, error) {
	if !asks {
		if err := a.run.spendForRun(); err != nil {
			a.cancel(err)
			<-a.result
			return nil, err
		}
	}
	f := &pb.Frame{Body: &pb.Frame_Input{Input: &pb.Input{Input: a.run.input.Bytes(), Run: !asks}}}
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

// open begins the call on a process that is ready, starting one if need be.
func (r *run) open(ctx context.Context, open *pb.Open) (*attempt, error) {
	proc, err := r.entry.plugin.acquire(ctx, r.entry)
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
	open.Views = audiences(r.entry)
	open.Confirm = r.entry.wants[pb.Callback_CALLBACK_OUTPUT] || r.entry.derives() && r.hasAfter()
	if r.entry.wantsMessages && r.entry.plugin.cfg.Grant.Messages {
		open.Messages = r.call.Messages
	}
	if open.Answers {
		open.Kinds = askedKinds
	}
	open.Traceparent, open.Tracestate = r.traceparent, r.tracestate
	// A call that is opened while its input is still on its way has no clock yet. While a person is asked the host's clock stands, and
	// the plugin's would not.
	if clock := r.clock(); !open.GetStreaming() && clock != nil && !open.Answers {
		open.TimeoutNs = uint64(max(clock.remaining(ctx), 1))
	}
	call, err := proc.callLogs.open(r.log, proc, open)
	if err == nil {
		a := &r.first
		if a.run != nil || open.GetStreaming() { // the latter on a goroutine of its own
			a = new(attempt)
		}
		a.run, a.proc, a.call = r, proc, call
		return a, nil
	}
	if t, ok := errors.AsType[*session.TooLargeError](err); ok {
		return nil, r.fail(TooLarge, NotStarted, t)
	}
	e := r.fail(Unavailable, NotStarted, err)
	e.retry = true // the session ended between entering and opening
	return nil, e
}

// await receives the call's frames until its outcome. A panic on the way ends the attempt (H6).
func (a *attempt) await(ctx context.Context) (out *pb.Output, err error) {
	r := a.run
	defer func() {
		if v := recover(); v != nil {
			a.end(pb.CancelReason_CANCEL_REASON_UNSPECIFIED)
			err = r.panicked(v)
		}
	}()
	for {
		f, err := a.call.Recv(ctx)
		if err != nil {
			return nil, a.recvError(ctx, err)
		}
		switch b := f.GetBody().(type) {
		case *pb.Frame_Progress:
			if !finite(b.Progress) {
				continue
			}
			r.progress(ctx, b.Progress)
		case *pb.Frame_Write:
			if !json.Valid(b.Write.GetData()) {
				a.end(pb.CancelReason_CANCEL_REASON_UNSPECIFIED)
				return nil, r.fail(Protocol, Unknown, errors.New("the plugin wrote custom output that is not JSON"))
			}
			r.emit(ctx, Output{r.head(), r.written(b.Write.GetData())})
		case *pb.Frame_Question:
			a.ask(ctx, b.Question)
		case *pb.Frame_Span:
			r.pluginSpan(b.Span)
		case *pb.Frame_DeltaView:
			r.showDeltaView(ctx, b.DeltaView)
		case *pb.Frame_Asked:
			if err := a.asked(ctx, b.Asked); err != nil {
				return nil, err
			}
		case *pb.Frame_Output:
			return a.output(ctx, b.Output)
		case *pb.Frame_Failed:
			a.flush(ctx, b.Failed.GetLastLog())
			r.errorViews = b.Failed.GetViews()
			a.done()
			defer a.call.Release()
			return nil, a.failed(ctx, b.Failed)
		case *pb.Frame_Suspended:
			a.flush(ctx, b.Suspended.GetLastLog())
			a.done()
			defer a.call.Release()
			return nil, r.suspended(ctx, b.Suspended)
		}
	}
}

// progress tells whoever watches. A sensitive value within its text is masked (b15).
func (r *run) progress(ctx context.Context, p *pb.Progress) {
	if r.running == nil && r.call.Progress == nil {
		return
	}
	text := p.GetMessage()
	if r.call.View != Raw {
		text = r.maskText(text)
	}
	e := Progress{r.head(), p.GetProgress(), p.GetTotal(), text}
	if r.call.Progress != nil {
		r.call.Progress(e)
	}
	r.emit(ctx, e)
}

// finite reports a progress that can be shown: JSON has no infinity.
func finite(p *pb.Progress) bool {
	sum := p.GetProgress() + p.GetTotal()
	return sum-sum == 0
}

// asked takes the plugin's word on whether to ask, and lets the call run if nobody must be asked.
func (a *attempt) asked(ctx context.Context, w *pb.Asked) error {
	err := a.run.asked(ctx, w)
	if err == nil {
		err = a.run.spendForRun()
	}
	if err != nil {
		a.end(pb.CancelReason_CANCEL_REASON_UNSPECIFIED)
		return err
	}
	f := &pb.Frame{Body: &pb.Frame_Run{Run: &pb.Run{}}}
	if err := a.call.Send(ctx, f); err != nil && !overErr(err) {
		return a.recvError(ctx, err)
	}
	return nil
}

// suspended checks what the tool suspends with (b24) and makes the suspension.
func (r *run) suspended(ctx context.Context, s *pb.Suspended) error {
	payload := s.GetPayload()
	if payload == nil {
		payload = []byte("null")
	}
	lim := r.entry.plugin.lim
	doc, err := schema.Parse(payload, lim.document(lim.Input))
	if err == nil {
		err = r.entry.suspend.Validate(doc)
	}
	if err != nil {
		return r.fail(ToolFailed, Failed, &ToolError{Message: fmt.Sprintf("it suspended with a payload that breaks its suspendSchema: %v", schemaError(err))})
	}
	w := suspending{kind: KindData, payload: payload, made: s.GetViews()}
	if s.GetApproval() {
		w.kind, w.byTool = KindApproval, true
		r.ask("the tool asks while it runs")
	}
	return r.suspend(ctx, w)
}

// output takes the outcome: the log that belongs to it first (O4). A call that has more to do in the plugin
// stays open until it settles.
func (a *attempt) output(ctx context.Context, out *pb.Output) (*pb.Output, error) {
	a.run.first.call = a.call // its output is still to be checked
	a.flush(ctx, out.GetLastLog())
	if out.GetClosed() {
		a.done()
	} else {
		a.run.live = a
	}
	return out, nil
}

// flush delivers what the process said before the outcome: to the caller's log and to the host's.
func (a *attempt) flush(ctx context.Context, lastLog uint64) {
	a.run.log.flush(ctx)
	if !a.run.host.logs() {
		return
	}
	a.proc.flush(ctx, lastLog)
}

// done ends the attempt after its outcome.
func (a *attempt) done() {
	a.proc.completed.Store(true)
	a.proc.program.good.Store(true)
	a.call.Close()
	a.proc.leave()
}

// end gives the attempt up.
func (a *attempt) end(reason pb.CancelReason) {
	a.call.Cancel(reason, "")
	a.call.Release()
	a.proc.leave()
}
