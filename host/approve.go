package host

import (
	"context"
	"fmt"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// ask makes the call wait for an approval.
func (r *run) ask(reason string) { r.reasons = append(r.reasons, reason) }

func (r *run) policyCall() PolicyCall {
	return PolicyCall{Tool: r.entry.tool, Trusted: r.entry.plugin.cfg.Trusted, Caller: r.call.Caller, Input: r.call.Input}
}

// decide is the strictest of policy, tool and caller. What was approved before and has not changed is not
// asked again (AP-15). The tool's own function is asked later, by execute, if nothing else asks.
func (r *run) decide(ctx context.Context) error {
	if !r.host.rules.open {
		switch d := r.host.rules.Decide(ctx, r.policyCall()); d.Action {
		case Deny:
			return r.fail(Denied, NotStarted, fmt.Errorf("the policy forbids it: %s", d.words()))
		case Ask:
			r.ask("the policy asks: " + d.words())
		}
	}
	if r.call.Ask {
		r.ask("the caller asks")
	}
	if r.entry.tool.RequireApproval {
		r.ask("the tool requires an approval")
	}
	if r.round != nil {
		r.reconsider()
	}
	if len(r.reasons) > 0 {
		r.begin(ctx, nil)
		return r.suspend(ctx, suspending{kind: KindApproval})
	}
	return nil
}

func (d Decision) words() string {
	if d.Source != "" {
		return fmt.Sprintf("%s (%s): %s", d.Rule, d.Source, d.Why)
	}
	return d.Rule + ": " + d.Why
}

// asks reports whether the plugin has a say before the call runs: its approval function, or function views
// of the input.
func (r *run) asks() bool {
	return r.entry.wants[pb.Callback_CALLBACK_NEEDS_APPROVAL] && !r.round.approved() || len(r.entry.inputViews) > 0
}

// asked takes the plugin's word. It returns the error of a call that now waits for an approval.
func (r *run) asked(ctx context.Context, a *pb.Asked) error {
	r.views = a.GetViews()
	r.begin(ctx, a.GetViews())
	if r.entry.wants[pb.Callback_CALLBACK_NEEDS_APPROVAL] && !r.round.approved() {
		switch {
		case a.GetError() != "":
			r.ask("the tool's own check failed") // the text is the author's and may hold anything
			r.host.log.Warn("needsApproval failed", "tool", r.call.Tool, "call", r.call.ID, "error", r.maskText(a.GetError()))
		case a.GetNeeded():
			r.ask("the tool asks for an approval of this input")
		}
	}
	if len(r.reasons) > 0 {
		return r.suspend(ctx, suspending{kind: KindApproval})
	}
	return nil
}

// begin tells whoever watches that the input is accepted.
func (r *run) begin(ctx context.Context, made []*pb.DerivedView) {
	if r.running == nil {
		return
	}
	if r.round == nil {
		r.emit(ctx, CallStarted{r.head(), r.form(PhaseInput, r.input.Bytes(), made), r.repairs})
		return
	}
	e := CallResumed{Head: r.head()}
	if r.round.answer.hasData {
		e.Data = r.form(PhaseResume, r.round.answer.data, made)
	}
	r.emit(ctx, e)
}
