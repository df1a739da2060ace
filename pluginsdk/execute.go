package pluginsdk

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

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
	if err := c.approve(in, run); err != nil {
		return err
	}
	c.announce(in)
	out, err := c.execute(in)
	if err != nil {
		return err
	}
	if err := c.deliver(in, out); err != nil || !c.open.GetConfirm() {
		return err
	}
	c.confirm(in, out)
	return nil
}

// receiveInput hands the input's pieces to the author one by one and returns the
// whole input, and whether it may be executed at once. A piece is taken from the session
// only when the author is done with the one before, so the model's side feels a slow author (M4).
func (c *Call) receiveInput() (raw []byte, run bool, err error) {
	if c.open.Input != nil {
		return c.open.Input, c.open.GetRun(), nil
	}
	for {
		f, err := c.receive(c.ctx)
		if err != nil {
			return nil, false, err
		}
		switch body := f.GetBody().(type) {
		case *pb.Frame_InputDelta:
			if c.tool.inputDelta != nil {
				c.callback("OnInputDelta", func() error { return c.tool.inputDelta(c.ctx, c, string(body.InputDelta.GetData())) })
			}
		case *pb.Frame_Input:
			return body.Input.GetInput(), body.Input.GetRun() || c.open.GetRun(), nil
		}
	}
}

// approve asks the author's NeedsApproval if the host wants to know, and returns when the call may run.
func (c *Call) approve(in any, run bool) error {
	c.resumed = c.open.GetResume()
	if c.open.GetAsk() {
		asked, err := c.needsApproval(in)
		if err != nil {
			return err
		}
		if err := c.send(c.ctx, &pb.Frame{Body: &pb.Frame_Asked{Asked: asked}}); err != nil {
			return err
		}
	}
	for !run && c.resumed == nil {
		f, err := c.receive(c.ctx)
		if err != nil {
			return err
		}
		run = f.GetRun() != nil
		c.resumed = f.GetResume()
	}
	return nil
}

// needsApproval fails for a panic only. An error of the author's goes to the host, which then asks (AP-3).
func (c *Call) needsApproval(in any) (*pb.Asked, error) {
	if c.tool.needsApproval == nil {
		return &pb.Asked{}, nil
	}
	asked := &pb.Asked{}
	err := guard("NeedsApproval", func() (err error) {
		asked.Needed, err = c.tool.needsApproval(c.ctx, c, in)
		return err
	})
	var p *panicError
	if errors.As(err, &p) {
		return nil, err
	}
	if err != nil {
		asked.Needed, asked.Error = true, orElse(cut(err.Error(), maxSmallText), "failed")
	}
	return asked, nil
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
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	c.exec = ctx
	err = guard("tool", func() (err error) { out, err = c.tool.execute(ctx, c, in); return err })
	return out, err
}

// deliver sends what Execute returned.
func (c *Call) deliver(in, out any) error {
	body := &pb.Output{Closed: !c.open.GetConfirm()}
	err := guard("the output's encoding", func() (err error) { body.Output, err = c.tool.encodeOutput(out); return err })
	if err != nil {
		return &failure{pb.FailureKind_FAILURE_KIND_OUTPUT, err}
	}
	if c.open.GetModel() {
		body.Derived = c.derive(in, out)
	}
	err = c.outcome(&pb.Frame{Body: &pb.Frame_Output{Output: body}})
	var size *session.TooLargeError
	if errors.As(err, &size) && len(body.GetDerived().GetModel()) > 0 { // the output alone may fit
		body.Derived = &pb.Derived{ModelError: size.Error()}
		err = c.outcome(&pb.Frame{Body: &pb.Frame_Output{Output: body}})
	}
	if errors.As(err, &size) {
		return &failure{pb.FailureKind_FAILURE_KIND_TOO_LARGE, fmt.Errorf("output: %w", err)}
	}
	return err
}

// derive makes what the model is shown. It cannot fail: the host falls back to the output (b39).
func (c *Call) derive(in, out any) *pb.Derived {
	if c.tool.modelOutput == nil {
		return &pb.Derived{}
	}
	d := &pb.Derived{}
	err := guard("ToModelOutput", func() error {
		m, err := c.tool.modelOutput(c.ctx, in, out)
		if err != nil {
			return err
		}
		d.Model, err = m.encode()
		return err
	})
	if err != nil {
		c.logFailure("ToModelOutput", err)
		d = &pb.Derived{ModelError: orElse(cut(err.Error(), maxErrorText), "failed")}
	}
	return d
}

// confirm waits for what the host says about the output: that it was accepted as
// it is, or, in either order, that it was accepted and that other forms are needed of what a hook made of it.
func (c *Call) confirm(in, out any) {
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
			if out, err = c.rederive(in, body.Derive); err != nil {
				return
			}
			derived = true
		}
	}
	if c.tool.output != nil {
		c.callback("OnOutput", func() error { return c.tool.output(c.ctx, c, out) })
	}
}

func (c *Call) rederive(in any, want *pb.Derive) (out any, err error) {
	d := &pb.Derived{}
	err = guard("the output's decoding", func() (err error) { out, err = c.tool.decodeOutput(want.GetOutput()); return err })
	switch {
	case err != nil:
		c.logFailure("derive", err)
		d.ModelError = orElse(cut(err.Error(), maxErrorText), "failed")
	case want.GetModel():
		d = c.derive(in, out)
	}
	if sendErr := c.wire.Send(context.Background(), &pb.Frame{Body: &pb.Frame_Derived{Derived: d}}); sendErr != nil {
		return nil, sendErr
	}
	return out, err
}

// fail sends what ended the call in place of an output.
func (c *Call) fail(err error) {
	if s, ok := asSuspension(err); ok {
		if err = c.suspend(s); err == nil {
			return
		}
	}
	failed := &pb.Failed{Kind: c.kindOf(err), Message: orElse(cut(err.Error(), maxErrorText), "failed"), Closed: true}
	var p *panicError
	if errors.As(err, &p) {
		c.logFailure("call", err)
	}
	var own *Error
	if errors.As(err, &own) && own.Data != nil {
		if dataErr := checkJSON(own.Data); dataErr != nil {
			c.logFailure("the error's data", dataErr)
		} else {
			failed.Data = own.Data
		}
	}
	err = c.outcome(&pb.Frame{Body: &pb.Frame_Failed{Failed: failed}})
	var size *session.TooLargeError
	if errors.As(err, &size) && failed.Data != nil {
		failed.Data = nil
		_ = c.outcome(&pb.Frame{Body: &pb.Frame_Failed{Failed: failed}}) // any other error: nobody listens
	}
}

func (c *Call) suspend(s *suspension) error {
	if s.err != nil {
		return &failure{pb.FailureKind_FAILURE_KIND_SUSPEND, s}
	}
	err := c.outcome(s.frame())
	var size *session.TooLargeError
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
	return pb.FailureKind_FAILURE_KIND_TOOL
}

// outcome sends the frame that ends the call. It never blocks, so no context ends it.
func (c *Call) outcome(f *pb.Frame) error { return c.wire.Send(context.Background(), f) }

// end runs also when the author's code ended the goroutine itself (runtime.Goexit).
func (c *Call) end() {
	if !c.returned {
		c.fail(&failure{pb.FailureKind_FAILURE_KIND_PANIC, errors.New("panic in tool: its goroutine ended")})
	}
	c.ended.Store(true)
	c.cancel(ErrCallEnded)
	c.wire.Close()
	c.conn.server.work.done()
}

// callback runs one of the author's functions whose failure changes nothing (H-3).
func (c *Call) callback(name string, f func() error) {
	if err := guard(name, f); err != nil {
		c.logFailure(name, err)
	}
}

func (c *Call) logFailure(what string, err error) {
	attrs := []any{slog.String("error", err.Error())}
	var p *panicError
	if errors.As(err, &p) {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	c.Logger().Error(what+" failed", attrs...)
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
