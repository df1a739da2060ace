package host

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/toolhost/toolhost/host/internal/schema"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// accept checks the output and makes the result.
func (r *run) accept(out *pb.Output) (*Result, error) {
	var warning string
	if err := r.checkOutput(out.Output); err != nil {
		if r.entry.tool.OutputMode != OutputWarn || err.Code == TooLarge || err.Code == Protocol {
			return nil, err
		}
		warning = err.Error()
	}
	res := r.result(out.Output, out.GetDerived())
	if warning != "" {
		res.Warnings = append(res.Warnings, warning)
	}
	return res, nil
}

// result makes every form of an accepted output.
func (r *run) result(output []byte, d *pb.Derived) *Result {
	res := &Result{Output: output, Repairs: r.repairs, Duration: time.Since(r.begun)}
	res.Display = r.formFor(Display, PhaseOutput, output, d.GetViews())
	res.Transcript = r.formFor(Transcript, PhaseOutput, output, d.GetViews())
	var unseen int
	if res.Model = modelOutput(output, d); !same(res.Model.Value, r.plain) { // else checkOutput has seen all of it
		res.Model, unseen = res.Model.visible()
	}
	switch {
	case d.GetModelError() != "":
		res.Warnings = append(res.Warnings, "toModelOutput failed, so the model gets the raw output: "+r.maskText(d.GetModelError()))
	case d == nil && r.entry.wants[pb.Callback_CALLBACK_MODEL_OUTPUT]:
		res.Warnings = append(res.Warnings, "the plugin made no form for the model, so it gets the raw output")
	}
	if unseen > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("%d characters that nobody sees were taken out of the form for the model", unseen))
	}
	return res
}

// same reports whether two texts are the same memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}

// checkOutput checks an output against its schema. A void output is checked as null.
func (r *run) checkOutput(output []byte) *Error {
	text := output
	if text == nil {
		if r.entry.output == nil || r.entry.tool.OutputMode == OutputOff {
			return nil
		}
		text = []byte("null")
	}
	lim := r.entry.plugin.lim
	if len(text) > lim.Output {
		return r.fail(TooLarge, Done, &OutputError{output, fmt.Errorf("an output of %d bytes; the limit is %d", len(text), lim.Output)})
	}
	want := r.entry.output
	if r.entry.tool.OutputMode == OutputOff {
		want = nil
	}
	valid, plain := want.ValidPlain(text, lim.document(lim.Output))
	if r.plain = nil; plain {
		r.plain = text
	}
	if valid {
		return nil
	}
	doc, err := schema.Parse(text, lim.document(lim.Output)) // it is not, or that cannot be told without the values
	if err != nil {
		return r.fail(Protocol, Done, fmt.Errorf("the output is not valid JSON: %w", schemaError(err)))
	}
	if err := want.Validate(doc); err != nil {
		return r.breaks(InvalidOutput, Done, &OutputError{output, schemaError(err)})
	}
	return nil
}

// rewrite takes what an After hook made of a result: validated again. The forms that the plugin makes are
// still missing.
func (r *run) rewrite(was, now *Result) (*Result, error) {
	if err := r.checkOutput(now.Output); err != nil {
		cause := err.Err
		if o, ok := errors.AsType[*OutputError](cause); ok {
			cause = o.Err // the output to keep is the tool's, not the hook's
		}
		err.Err = &OutputError{was.Output, fmt.Errorf("an after hook made it invalid: %w", cause)}
		return nil, err
	}
	res := r.result(now.Output, &pb.Derived{})
	res.Warnings = now.Warnings
	return res, nil
}

// rederived is a rewritten result with every form made anew (b14), of what the last hook left: the wire takes
// one derive a call.
func (r *run) rederived(ctx context.Context, rewritten *Result) *Result {
	res := r.result(rewritten.Output, r.derive(ctx, rewritten.Output))
	res.Warnings = append(rewritten.Warnings, res.Warnings...)
	return res
}

// derive has the plugin make the forms of a rewritten output, which is also the one that OnOutput gets. nil:
// it made none.
func (r *run) derive(ctx context.Context, output []byte) *pb.Derived {
	if r.live == nil || !r.entry.derives() && !r.entry.wants[pb.Callback_CALLBACK_OUTPUT] {
		return nil
	}
	f := &pb.Frame{Body: &pb.Frame_Derive{Derive: &pb.Derive{
		Output: output, Views: audiences(r.entry), Model: r.entry.wants[pb.Callback_CALLBACK_MODEL_OUTPUT],
	}}}
	if err := r.live.call.Send(ctx, f); err != nil {
		return nil
	}
	for {
		f, err := r.live.call.Recv(ctx)
		if err != nil {
			return nil
		}
		if d := f.GetDerived(); d != nil {
			return d
		}
	}
}

// settle ends what is left of the call in the plugin and in the ledger.
func (r *run) settle(ctx context.Context, err error) {
	if a := r.live; a != nil {
		r.live = nil
		if err == nil {
			// Best effort: the call has its outcome, whatever becomes of the callback.
			_ = a.call.Send(ctx, &pb.Frame{Body: &pb.Frame_Accepted{Accepted: &pb.Accepted{Final: true}}})
		}
		a.done()
	}
	r.recordOutcome(err)
}
