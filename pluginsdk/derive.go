package pluginsdk

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// audiences are all that a view is made for.
var audiences = []pb.Audience{pb.Audience_AUDIENCE_DISPLAY, pb.Audience_AUDIENCE_TRANSCRIPT}

// derive makes the forms of an output that are wanted: what the model is shown, and the views. It cannot
// fail: the host falls back to the output for the model (b39), and to a placeholder for people.
func (c *Call) derive(out any, model bool, wanted []pb.Audience) *pb.Derived {
	if !model && len(wanted) == 0 {
		return nil
	}
	d := &pb.Derived{Views: c.views(wanted, viewed{in: c.input, out: out}, pb.Phase_PHASE_OUTPUT)}
	if !model || c.tool.modelOutput == nil {
		return d
	}
	err := c.mapping(func() error {
		m, err := c.tool.modelOutput(c.ctx, c.input, out)
		if err != nil {
			return err
		}
		d.Model, err = m.encode()
		return err
	})
	if err != nil {
		c.logFailure("ToModelOutput", err)
		d.Model, d.ModelError = nil, textOf(err, maxErrorText)
	}
	return d
}

// mapping runs f, which makes what the model is shown, under a span of its own if the call is traced.
func (c *Call) mapping(f func() error) error {
	guarded := func(context.Context) error { return guard("ToModelOutput", f) }
	if c.open.GetTraceparent() == "" {
		return guarded(c.ctx)
	}
	return c.Span(c.ctx, "tool output mapping", guarded)
}

// undone is d without anything in it, for a reason that holds for all of it.
func undone(d *pb.Derived, why error) *pb.Derived {
	none := &pb.Derived{Views: failedViews(d.GetViews(), why)}
	if len(d.GetModel()) > 0 {
		none.ModelError = cut(why.Error(), maxErrorText)
	}
	return none
}

// views makes the function views of phases that the tool has and the host wants, those of one phase after the other.
func (c *Call) views(wanted []pb.Audience, of viewed, phases ...pb.Phase) (views []*pb.DerivedView) {
	for _, phase := range phases {
		for _, audience := range audiences {
			w, ok := c.tool.views[viewKey{audience, phase}]
			if !ok || !slices.Contains(wanted, audience) {
				continue
			}
			view := &pb.DerivedView{Audience: audience, Phase: phase}
			err := guard(w.name, func() error {
				v, err := w.f(c.ctx, c, of)
				if err != nil {
					return err
				}
				view.Value, err = encodeOutput(v)
				return err
			})
			if err != nil {
				c.logFailure(w.name, err)
				view.Value, view.Error = nil, textOf(err, maxSmallText)
			}
			views = append(views, view)
		}
	}
	return views
}

// failedViews are views that could not be sent.
func failedViews(views []*pb.DerivedView, why error) []*pb.DerivedView {
	failed := make([]*pb.DerivedView, len(views))
	for i, v := range views {
		failed[i] = &pb.DerivedView{Audience: v.GetAudience(), Phase: v.GetPhase(), Error: cut(why.Error(), maxSmallText)}
	}
	return failed
}

// viewDelta sends what each audience sees of a piece of the input.
func (c *Call) viewDelta(delta string) error {
	for _, audience := range audiences {
		w, ok := c.tool.views[viewKey{audience, pb.Phase_PHASE_INPUT_DELTA}]
		if !ok || !slices.Contains(c.open.GetViews(), audience) {
			continue
		}
		err := c.sendDelta(c.deltaView(w, delta))
		if _, large := errors.AsType[*session.TooLargeError](err); large {
			c.logFailure(w.name, err)
			err = c.sendDelta(&pb.DeltaView{Audience: audience, Suppress: true, Failed: true})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Call) deltaView(w viewer, delta string) *pb.DeltaView {
	view := &pb.DeltaView{Audience: w.key.audience}
	err := guard(w.name, func() error {
		v, err := w.f(c.ctx, c, viewed{delta: delta})
		text, _ := v.(string) // nothing else comes from a view of deltas
		view.Text = []byte(strings.ToValidUTF8(text, "\uFFFD"))
		return err
	})
	if err != nil {
		c.logFailure(w.name, err)
		view.Text, view.Failed = nil, true
	}
	view.Suppress = len(view.Text) == 0
	return view
}

func (c *Call) sendDelta(view *pb.DeltaView) error {
	return c.send(c.ctx, &pb.Frame{Body: &pb.Frame_DeltaView{DeltaView: view}})
}

// rederive makes the forms of an output that a hook rewrote, and returns that output.
func (c *Call) rederive(want *pb.Derive) (out any, err error) {
	var d *pb.Derived
	err = guard("the output's decoding", func() (err error) { out, err = c.tool.decodeOutput(want.GetOutput()); return err })
	if err == nil {
		d = c.derive(out, want.GetModel(), want.GetViews())
	} else {
		c.logFailure("derive", err)
		d = c.underivable(want, err)
	}
	if d == nil {
		d = &pb.Derived{}
	}
	sendErr := c.sendDerived(d)
	if size, ok := errors.AsType[*session.TooLargeError](sendErr); ok {
		sendErr = c.sendDerived(undone(d, size))
	}
	if sendErr != nil {
		return nil, sendErr
	}
	return out, err
}

func (c *Call) sendDerived(d *pb.Derived) error {
	return c.wire.Send(context.Background(), &pb.Frame{Body: &pb.Frame_Derived{Derived: d}})
}

// underivable says of every form that is wanted why there is none.
func (c *Call) underivable(want *pb.Derive, why error) *pb.Derived {
	d := &pb.Derived{}
	if want.GetModel() && c.tool.modelOutput != nil {
		d.ModelError = textOf(why, maxErrorText)
	}
	for _, audience := range audiences {
		if _, ok := c.tool.views[viewKey{audience, pb.Phase_PHASE_OUTPUT}]; ok && slices.Contains(want.GetViews(), audience) {
			d.Views = append(d.Views, &pb.DerivedView{Audience: audience, Phase: pb.Phase_PHASE_OUTPUT})
		}
	}
	d.Views = failedViews(d.Views, why)
	return d
}
