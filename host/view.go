package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/internal/view"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// View is a form of a call's data. Raw data travel in no other channel than the one that asked for Raw
// (b12).
type View int

// The views.
const (
	Display    View = iota // what a person sees
	Transcript             // what is kept for people to read
	Raw                    // the data as they are
)

// Phase is the part of a call that a view is made of.
type Phase string

// The phases.
const (
	PhaseInput      Phase = "input-available"
	PhaseInputDelta Phase = "input-delta"
	PhaseOutput     Phase = "output-available"
	PhaseError      Phase = "error"
	PhaseApproval   Phase = "approval"
	PhaseSuspend    Phase = "suspend"
	PhaseResume     Phase = "resume"
)

// Transform is the host-wide policy for display and transcript, tried before the tool's own views (X-3,
// A nil function has no say. One that returns nil has no opinion: then the tool's own view counts, if it has one of that phase. Where something is configured, by
// the host or by the tool, and makes no form, or fails, a placeholder takes the place of the data, and a
// delta is left out: never the raw data. So a function that is about one phase only returns Payload.Value for the others,
// if they may be shown as they are; sensitive values are not masked in that. The functions must be pure: they may be called again,
// and concurrently.
type Transform struct {
	Display, Transcript func(ctx context.Context, p Payload) (json.RawMessage, error)
}

// Payload is what a Transform makes a form of.
type Payload struct {
	Phase        Phase
	Tool, CallID string
	Value        json.RawMessage // of an error {"message","data"}, of a delta a JSON string
}

// toolViews are one tool's views for one audience. An empty one is configured, too: it shows placeholders
// only.
type toolViews map[Phase]*toolView

// toolView makes one form: by rules, or by a function in the plugin.
type toolView struct{ rules *view.View }

var phases = map[pb.Phase]Phase{
	pb.Phase_PHASE_INPUT_DELTA: PhaseInputDelta, pb.Phase_PHASE_INPUT: PhaseInput, pb.Phase_PHASE_OUTPUT: PhaseOutput,
	pb.Phase_PHASE_ERROR: PhaseError, pb.Phase_PHASE_APPROVAL: PhaseApproval, pb.Phase_PHASE_SUSPEND: PhaseSuspend,
	pb.Phase_PHASE_RESUME: PhaseResume,
}

var audienceViews = map[pb.Audience]View{
	pb.Audience_AUDIENCE_DISPLAY: Display, pb.Audience_AUDIENCE_TRANSCRIPT: Transcript,
}

// form is the form of the call's own view.
func (r *run) form(p Phase, value []byte, made []*pb.DerivedView) json.RawMessage {
	return r.formFor(r.call.View, p, value, made)
}

// personForm is what the person sees who decides: the approval's view, else the input's, else the display
// form.
func (r *run) personForm(p Phase, value []byte, made []*pb.DerivedView) json.RawMessage {
	made = append(made, r.views...)
	tool := r.entry.views[Display]
	if p == PhaseApproval && tool != nil && tool[PhaseApproval] == nil {
		p = PhaseInput
	}
	return r.formFor(Display, p, value, made)
}

// formFor makes one form of a value: by the host's policy, else by the tool's view, else raw with sensitive
// values masked.
func (r *run) formFor(v View, p Phase, value []byte, made []*pb.DerivedView) json.RawMessage {
	if v == Raw || value == nil && p == PhaseOutput {
		return value
	}
	policy, tool := r.host.transform(v), r.entry.views[v]
	if policy == nil && tool == nil {
		return r.masked(p, value)
	}
	if policy != nil {
		out, err := r.transformed(policy, p, value)
		if err != nil {
			r.host.log.Warn("transform failed", "tool", r.call.Tool, "call", r.call.ID, "phase", p, "error", err)
			return placeholder(p)
		}
		if out != nil {
			return out
		}
	}
	if tool[p] == nil {
		return placeholder(p)
	}
	out, err := tool[p].apply(v, p, value, made)
	if err != nil {
		r.host.log.Warn("view failed", "tool", r.call.Tool, "call", r.call.ID, "phase", p, "error", r.maskText(err.Error()))
		return placeholder(p)
	}
	return out
}

func (h *Host) transform(v View) func(context.Context, Payload) (json.RawMessage, error) {
	switch t := h.cfg.Transform; {
	case t == nil:
		return nil
	case v == Display:
		return t.Display
	default:
		return t.Transcript
	}
}

func (r *run) transformed(policy func(context.Context, Payload) (json.RawMessage, error), p Phase, value []byte) (out json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.New("it panicked") // the value may hold data
		}
	}()
	out, err = policy(r.host.life, Payload{Phase: p, Tool: r.call.Tool, CallID: r.call.ID, Value: value})
	if err == nil && out != nil && !json.Valid(out) {
		err = errors.New("it is not JSON")
	}
	return out, err
}

// apply makes the form, or takes the one that the plugin made.
func (t *toolView) apply(v View, p Phase, value []byte, made []*pb.DerivedView) (json.RawMessage, error) {
	if t.rules != nil {
		return t.rules.Apply(value)
	}
	for _, m := range made {
		if audienceViews[m.GetAudience()] != v || phases[m.GetPhase()] != p {
			continue
		}
		switch {
		case m.GetError() != "":
			return nil, errors.New("its function failed") // what it said may hold what the view hides
		case !json.Valid(m.GetValue()):
			return nil, errors.New("it is not JSON")
		}
		return m.GetValue(), nil
	}
	return nil, errors.New("the plugin made none")
}

func placeholder(p Phase) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"message":"Tool %s payload unavailable"}`, p))
}

// emitDelta tells whoever watches of a piece of the input.
func (r *run) emitDelta(ctx context.Context, text string) {
	r.running.feed.show(text)
	r.emit(ctx, InputDelta{r.head(), text})
}

// showDelta tells whoever watches of a piece of the input, unless it may show what must not be seen: then
// it is left out.
func (r *run) showDelta(ctx context.Context, text string) {
	if r.running == nil {
		return
	}
	if r.call.View == Raw {
		r.emitDelta(ctx, text)
		return
	}
	policy, tool := r.host.transform(r.call.View), r.entry.views[r.call.View]
	if policy == nil && tool == nil {
		if !r.entry.input.Sensitive() {
			r.emitDelta(ctx, text)
		}
		return
	}
	if policy == nil {
		return // the tool's own view comes from the plugin, as delta_view
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		return
	}
	out, err := r.transformed(policy, PhaseInputDelta, quoted)
	if (out != nil || err != nil) && !r.deltaSaid.Swap(true) && err != nil {
		r.host.log.Warn("transform failed", "tool", r.call.Tool, "call", r.call.ID, "phase", PhaseInputDelta, "error", err)
	}
	var shown string
	if err == nil && out != nil && json.Unmarshal(out, &shown) == nil {
		r.emitDelta(ctx, shown)
	}
}

// showDeltaView takes the plugin's view of a piece of the input, if the host's policy has said nothing of any piece.
func (r *run) showDeltaView(ctx context.Context, d *pb.DeltaView) {
	if r.running == nil || audienceViews[d.GetAudience()] != r.call.View || r.call.View == Raw || d.GetSuppress() || d.GetFailed() || r.deltaSaid.Load() {
		return
	}
	r.emitDelta(ctx, string(d.GetText()))
}

// hides reports whether views are configured for whoever watches, so that no text may quote a value beside them.
func (r *run) hides() bool {
	v := r.call.View
	return v != Raw && (r.host.transform(v) != nil || r.entry.views[v] != nil)
}

// warningsForm are the warnings of a result as the call's view may show them: their texts may quote the output.
func (r *run) warningsForm(warnings []string) []string {
	if len(warnings) == 0 || !r.hides() {
		return warnings
	}
	return []string{fmt.Sprintf("Tool warnings unavailable: %d", len(warnings))}
}

// errorForm is an error as the call's view may show it.
func (r *run) errorForm(e *Error, made []*pb.DerivedView) *Error {
	if r.call.View == Raw || r.entry == nil {
		return e
	}
	shown := *e
	if o, ok := errors.AsType[*OutputError](e.Err); ok {
		shown.Err = o.Err // without the output
	}
	if !r.hides() {
		return &shown
	}
	if s, ok := errors.AsType[*SchemaError](e.Err); ok {
		shown.Err = s.unquoted()
	}
	t, failed := errors.AsType[*ToolError](e.Err)
	if !failed {
		return &shown
	}
	value, err := json.Marshal(struct {
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}{t.Message, t.Data})
	if err != nil {
		value = nil
	}
	form := r.formFor(r.call.View, PhaseError, value, made)
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(form, &said) != nil || said.Message == "" {
		said.Message = "Tool error payload unavailable"
	}
	shown.Err = &ToolError{Message: said.Message, Data: form, Panic: t.Panic}
	return &shown
}

// written is custom output as the call's view may show it.
func (r *run) written(data []byte) json.RawMessage {
	if r.call.View == Raw {
		return data
	}
	if r.host.transform(r.call.View) != nil || r.entry.views[r.call.View] != nil {
		return r.formFor(r.call.View, PhaseOutput, data, nil)
	}
	return r.maskSecrets(data)
}

// approvalForm is what the event of an approval shows.
func (r *run) approvalForm(s Suspension) json.RawMessage {
	if r.input == nil {
		return s.Display
	}
	return r.formFor(r.call.View, PhaseApproval, r.input.Bytes(), r.views)
}
