package pluginsdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// work runs the call, and notes how long that took if it is alone.
func (c *Call) work() {
	if !c.alone || c.tool == nil {
		c.run()
		return
	}
	began, t := time.Now(), c.tool
	defer func() { t.pace.took(time.Since(began)) }()
	c.run()
}

// quick reports whether the call is expected to be over soon, and nothing that it needs is still to come from the host.
func (c *Call) quick() bool {
	return c.tool != nil && c.tool.pace.quick() && c.open.Input != nil && c.open.GetRun() && !c.open.GetConfirm()
}

// run is the plugin's side of one call, from open to closed. It is the body of the call's
// one goroutine.
func (c *Call) run() {
	defer c.end()
	if err := c.steps(); err != nil {
		c.fail(err)
	}
	c.returned = true
}

// steps returns nil when the host knows the outcome.
func (c *Call) steps() error {
	if c.tool == nil {
		return &failure{pb.FailureKind_FAILURE_KIND_NO_TOOL, fmt.Errorf("no tool %q in this plugin", c.Tool())}
	}
	if c.open.GetInputStart() && c.tool.inputStart != nil {
		c.callback("OnInputStart", func() error { return c.tool.inputStart(c.ctx, c) })
	}
	raw, run, err := c.receiveInput()
	if err != nil {
		return err
	}
	var in any
	err = guard("the input's decoding", func() (err error) { in, err = c.tool.decodeInput(raw); return err })
	if err != nil {
		return &failure{pb.FailureKind_FAILURE_KIND_INPUT, err}
	}
	c.input = in
	if err := c.approve(run); err != nil {
		return err
	}
	c.announce(in)
	out, err := c.execute(in)
	if err != nil {
		return err
	}
	if err := c.deliver(out); err != nil || !c.open.GetConfirm() {
		return err
	}
	c.confirm(out)
	return nil
}

// receiveInput hands the input's pieces to the author one by one and returns the
// whole input, and whether it may be executed at once. A piece is taken from the session
// only when the author is done with the one before, so the model's side feels a slow author (M4).
func (c *Call) receiveInput() (raw []byte, run bool, err error) {
	run = c.open.GetRun() || c.open.GetResume() != nil && !c.awaitsAsked()
	if c.open.Input != nil {
		return c.open.Input, run, nil
	}
	for {
		f, err := c.receive(c.ctx)
		if err != nil {
			return nil, false, err
		}
		switch body := f.GetBody().(type) {
		case *pb.Frame_InputDelta:
			if err := c.takeDelta(string(body.InputDelta.GetData())); err != nil {
				return nil, false, err
			}
		case *pb.Frame_Input:
			return body.Input.GetInput(), body.Input.GetRun() || run, nil
		}
	}
}

// takeDelta is the one place where a piece of the input comes in: whatever is known of the input so far is known from here.
func (c *Call) takeDelta(delta string) error {
	if c.tool.inputDelta != nil {
		c.partialM.Lock()
		_ = c.partial.Feed([]byte(delta)) // a text that is not JSON stays at what was good; the host says what is wrong with it
		c.partialM.Unlock()
		c.callback("OnInputDelta", func() error { return c.tool.inputDelta(c.ctx, c, delta) })
	}
	return c.viewDelta(delta)
}

// awaitsAsked reports whether the host waits for asked before it sends run, unless the input says that it does not.
func (c *Call) awaitsAsked() bool { return c.open.GetAsk() || len(c.open.GetViews()) > 0 }

// approve tells the host what it wants to know before the call runs, and returns when it may.
func (c *Call) approve(run bool) error {
	c.resumed = c.open.GetResume()
	if !run && c.awaitsAsked() {
		if err := c.sendAsked(); err != nil {
			return err
		}
	}
	for !run {
		f, err := c.receive(c.ctx)
		switch {
		case err != nil:
			return err
		case f.GetResume() != nil:
			c.resumed, run = f.GetResume(), true
		case f.GetRun() != nil:
			run = true
		}
	}
	return nil
}

// sendAsked sends NeedsApproval's answer and the views of the input.
func (c *Call) sendAsked() error {
	asked := &pb.Asked{}
	if c.open.GetAsk() {
		asked = c.needsApproval(c.input)
	}
	asked.Views = c.views(c.open.GetViews(), viewed{in: c.input}, pb.Phase_PHASE_INPUT, pb.Phase_PHASE_APPROVAL)
	if data := c.resumed.GetData(); data != nil {
		asked.Views = append(asked.Views, c.views(c.open.GetViews(), viewed{raw: data}, pb.Phase_PHASE_RESUME)...)
	}
	err := c.send(c.ctx, &pb.Frame{Body: &pb.Frame_Asked{Asked: asked}})
	if size, ok := errors.AsType[*session.TooLargeError](err); ok {
		asked.Views = failedViews(asked.Views, size)
		err = c.send(c.ctx, &pb.Frame{Body: &pb.Frame_Asked{Asked: asked}})
	}
	return err
}

// needsApproval asks the author. An error or a panic goes to the host, which then asks a person (AP-3).
func (c *Call) needsApproval(in any) *pb.Asked {
	asked := &pb.Asked{}
	if c.tool.needsApproval == nil {
		return asked
	}
	err := guard("NeedsApproval", func() (err error) {
		asked.Needed, err = c.tool.needsApproval(c.ctx, c, in)
		return err
	})
	if err != nil {
		asked.Needed, asked.Error = true, textOf(err, maxSmallText)
	}
	if p, panicked := errors.AsType[*panicError](err); panicked {
		c.logFailure("NeedsApproval", p)
	}
	return asked
}

func (c *Call) announce(in any) {
	switch {
	case c.resumed != nil:
		if c.tool.resume != nil && c.resumed.Data != nil {
			c.callback("OnResume", func() error { return c.tool.resume(c.ctx, c, c.resumed.Data) })
		}
	case c.tool.inputAvailable != nil:
		c.callback("OnInputAvailable", func() error { return c.tool.inputAvailable(c.ctx, c, in) })
	}
}

func (c *Call) execute(in any) (out any, err error) {
	switch err := context.Cause(c.ctx); {
	case err == errStopping: // nothing ran, so the host may try elsewhere
		return nil, &failure{pb.FailureKind_FAILURE_KIND_BUSY, err}
	case err != nil:
		return nil, err
	}
	if !c.tool.acquire() {
		return nil, &failure{pb.FailureKind_FAILURE_KIND_BUSY, fmt.Errorf("%d calls are running, the most that this tool allows", c.tool.def.GetMaxConcurrency())}
	}
	defer c.tool.release() // before the outcome is sent: the host may open the next call at once
	c.execContext.call = c.ctx
	c.exec = &c.execContext
	defer c.exec.end()
	err = guard("tool", func() (err error) { out, err = c.tool.execute(c.exec, c, in); return err })
	return out, err
}

// deliver sends what Execute returned.
func (c *Call) deliver(out any) error {
	f := &struct { // one allocation
		frame pb.Frame
		of    pb.Frame_Output
		body  pb.Output
	}{}
	f.frame.Body, f.of.Output = &f.of, &f.body
	f.body.Closed = !c.open.GetConfirm()
	err := guard("the output's encoding", func() (err error) { f.body.Output, err = c.tool.encodeOutput(out); return err })
	if err != nil {
		return &failure{pb.FailureKind_FAILURE_KIND_OUTPUT, err}
	}
	f.body.Derived = c.derive(out, c.open.GetModel(), c.open.GetViews())
	err = c.outcome(&f.frame)
	size, large := errors.AsType[*session.TooLargeError](err)
	if large && f.body.Derived != nil { // the output alone may fit
		f.body.Derived = undone(f.body.Derived, size)
		err = c.outcome(&f.frame)
		_, large = errors.AsType[*session.TooLargeError](err)
	}
	if large {
		return &failure{pb.FailureKind_FAILURE_KIND_TOO_LARGE, fmt.Errorf("output: %w", err)}
	}
	return err
}

// confirm waits for what the host says about the output: that it was accepted as
// it is, or, in either order, that it was accepted and that other forms are needed of what a hook made of it.
func (c *Call) confirm(out any) {
	accepted, derived := false, false
	for !accepted || !derived {
		f, err := c.receive(c.ctx)
		if err != nil {
			return // not accepted
		}
		switch body := f.GetBody().(type) {
		case *pb.Frame_Accepted:
			accepted = true
			derived = derived || body.Accepted.GetFinal()
		case *pb.Frame_Derive:
			if out, err = c.rederive(body.Derive); err != nil {
				return
			}
			derived = true
		}
	}
	if c.tool.output != nil {
		c.callback("OnOutput", func() error { return c.tool.output(c.ctx, c, out) })
	}
}

// fail sends what ended the call in place of an output.
func (c *Call) fail(err error) {
	if s, ok := asSuspension(err); ok {
		if err = c.suspend(s); err == nil {
			return
		}
	}
	var views []*pb.DerivedView
	if c.tool != nil {
		views = c.views(c.open.GetViews(), viewed{err: err}, pb.Phase_PHASE_ERROR)
	}
	c.sendFailed(err, views)
}

func (c *Call) sendFailed(err error, views []*pb.DerivedView) {
	failed := &pb.Failed{Kind: c.kindOf(err), Views: views, Message: textOf(err, maxErrorText), Closed: true}
	if _, panicked := errors.AsType[*panicError](err); panicked {
		c.logFailure("call", err)
	}
	if own, ok := errors.AsType[*Error](err); ok && own.Data != nil {
		if dataErr := checkJSON(own.Data); dataErr != nil {
			c.logFailure("the error's data", dataErr)
		} else {
			failed.Data = own.Data
		}
	}
	err = c.outcome(&pb.Frame{Body: &pb.Frame_Failed{Failed: failed}})
	if size, ok := errors.AsType[*session.TooLargeError](err); ok {
		failed.Data, failed.Views = nil, failedViews(views, size)
		_ = c.outcome(&pb.Frame{Body: &pb.Frame_Failed{Failed: failed}}) // any other error: nobody listens
	}
}

func (c *Call) suspend(s *suspension) error {
	if s.err != nil {
		return &failure{pb.FailureKind_FAILURE_KIND_SUSPEND, s}
	}
	phases := []pb.Phase{pb.Phase_PHASE_SUSPEND}
	if s.approval {
		phases = append(phases, pb.Phase_PHASE_APPROVAL)
	}
	views := c.views(c.open.GetViews(), viewed{in: c.input, raw: s.payload}, phases...)
	err := c.outcome(s.frame(views))
	var size *session.TooLargeError
	if errors.As(err, &size) && len(views) > 0 { // the payload alone may fit
		err = c.outcome(s.frame(failedViews(views, size)))
	}
	if errors.As(err, &size) {
		return &failure{pb.FailureKind_FAILURE_KIND_TOO_LARGE, fmt.Errorf("suspend payload: %w", err)}
	}
	return err
}

func (c *Call) kindOf(err error) pb.FailureKind {
	var f *failure
	var p *panicError
	switch {
	case errors.As(err, &f):
		return f.kind
	case errors.As(err, &p):
		return pb.FailureKind_FAILURE_KIND_PANIC
	case c.ctx.Err() != nil && (errors.Is(err, c.ctx.Err()) || errors.Is(err, context.Cause(c.ctx)) || errors.Is(err, context.Canceled)):
		return pb.FailureKind_FAILURE_KIND_CANCELED
	}
	if own, ok := errors.AsType[*Error](err); ok {
		switch own.Outcome {
		case OutcomeUnknown:
			return pb.FailureKind_FAILURE_KIND_OUTCOME_UNKNOWN
		case OutcomeNotStarted:
			return pb.FailureKind_FAILURE_KIND_NOTHING_DONE
		}
	}
	return pb.FailureKind_FAILURE_KIND_TOOL
}

// outcome sends the frame that ends the call. It never blocks, so no context ends it.
func (c *Call) outcome(f *pb.Frame) error { return c.wire.Send(context.Background(), f) }

// end runs also when the author's code ended the goroutine itself (runtime.Goexit).
func (c *Call) end() {
	if !c.returned {
		c.sendFailed(&failure{pb.FailureKind_FAILURE_KIND_PANIC, errors.New("panic in tool: its goroutine ended")}, nil)
	}
	c.ended.Store(true)
	c.wire.EndContext(ErrCallEnded)
	c.wire.Close()
	c.conn.server.work.done()
}

// callback runs one of the author's functions whose failure changes nothing (H-3).
func (c *Call) callback(name string, f func() error) {
	if err := guard(name, f); err != nil {
		c.logFailure(name, err)
	}
}

// logFailure logs an error of the author's functions. Of a panic it logs the stack and not the value, which may hold what the
// caller sent and is not to be found in a log (b15, b16); where it is the call's error, the error has it.
func (c *Call) logFailure(what string, err error) {
	if p, panicked := errors.AsType[*panicError](err); panicked {
		c.Logger().Error(what+" panicked", slog.String("stack", string(p.stack)))
		return
	}
	c.Logger().Error(what+" failed", slog.String("error", err.Error()))
}

// failure is an error whose kind on the wire is known.
type failure struct {
	kind pb.FailureKind
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// guard makes a panic of f its error.
func guard(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{what, v, debug.Stack()}
		}
	}()
	return f()
}
