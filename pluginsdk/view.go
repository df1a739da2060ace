package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// Transform says what people see of a call in place of the real values. It
// changes nothing of what Execute gets and what the model sees; that is [Tool.ToModelOutput]'s.
// Where nothing is said, people see the real value with its sensitive fields masked. A view that
// fails or makes nothing shows a placeholder, and of a delta nothing; never the real value.
type Transform[In, Out any] struct {
	// Display is for whoever watches the call.
	Display Views[In, Out]
	// Transcript is for what is kept of it.
	Transcript Views[In, Out]
}

// Views has one view for each phase of a call: [Rules], which the host applies, also while
// the plugin is not running; or a function, which runs here; not both.
//
// A function must be pure: it may be called again, or not at all. It returns anything that
// encoding/json can encode; nil is no view. An error or a panic is logged.
type Views[In, Out any] struct {
	// Input is the validated input, as a tool-call event shows it.
	Input     Rules
	InputFunc func(ctx context.Context, call *Call, in In) (any, error)
	// InputDelta is a piece of the input's text. With Rules, which need a whole value, pieces are left out and the input's
	// own view shows it when it is complete; a function makes a text of each piece, and "" leaves it out.
	InputDelta     Rules
	InputDeltaFunc func(ctx context.Context, call *Call, delta string) (string, error)
	// Output is the accepted output.
	Output     Rules
	OutputFunc func(ctx context.Context, call *Call, in In, out Out) (any, error)
	// Error is the call's failure. Rules see its JSON form; a function sees what Execute returned, and is
	// not called for a failure that the host finds.
	Error     Rules
	ErrorFunc func(ctx context.Context, call *Call, err error) (any, error)
	// Approval is the input in a request to approve the call.
	Approval     Rules
	ApprovalFunc func(ctx context.Context, call *Call, in In) (any, error)
	// Suspend is the payload of a suspension or of AskApproval.
	Suspend     Rules
	SuspendFunc func(ctx context.Context, call *Call, payload json.RawMessage) (any, error)
	// Resume is the data that resumes a suspension.
	Resume     Rules
	ResumeFunc func(ctx context.Context, call *Call, data json.RawMessage) (any, error)
}

// Rules are a view without code: steps that apply in order, each to what the one before
// left. Paths are JSON Pointers in which "*" stands for every member or element of one level; the path "" is the whole
// value. A path that leads to nothing does nothing. The zero Rules are no view.
//
//	pluginsdk.Keep("/title", "/results/*/url").Mask("/results/0/url")
type Rules struct{ steps []step }

// Keep leaves only what is at paths, inside the containers that lead to it. A container in which nothing is
// kept is dropped.
func Keep(paths ...string) Rules { return Rules{}.Keep(paths...) }

// Mask puts "***" in place of what is at paths.
func Mask(paths ...string) Rules { return Rules{}.Mask(paths...) }

// Replace puts the JSON form of value in place of what is at path. It adds nothing where there is nothing.
func Replace(path string, value any) Rules { return Rules{}.Replace(path, value) }

// Keep returns r followed by [Keep].
func (r Rules) Keep(paths ...string) Rules {
	return r.with(step{action: pb.ViewAction_VIEW_ACTION_KEEP, paths: paths})
}

// Mask returns r followed by [Mask].
func (r Rules) Mask(paths ...string) Rules {
	return r.with(step{action: pb.ViewAction_VIEW_ACTION_MASK, paths: paths})
}

// Replace returns r followed by [Replace].
func (r Rules) Replace(path string, value any) Rules {
	return r.with(step{action: pb.ViewAction_VIEW_ACTION_REPLACE, paths: []string{path}, value: value})
}

// step is one rule.
type step struct {
	action pb.ViewAction
	paths  []string
	value  any // of replace
}

func (r Rules) with(s step) Rules {
	s.paths = slices.Clone(s.paths)
	return Rules{append(slices.Clip(r.steps), s)}
}

// encode checks the rules and puts them into the manifest's form.
func (r Rules) encode() ([]*pb.ViewRule, error) {
	if len(r.steps) > wire.MaxViewRules {
		return nil, fmt.Errorf("%d rules, the limit is %d", len(r.steps), wire.MaxViewRules)
	}
	var rules []*pb.ViewRule
	total := 0
	for i, s := range r.steps {
		rule := &pb.ViewRule{Action: s.action, Paths: s.paths}
		if len(s.paths) == 0 {
			return nil, fmt.Errorf("rule %d: no paths", i)
		}
		if total += len(s.paths); total > wire.MaxViewPaths {
			return nil, fmt.Errorf("more than %d paths", wire.MaxViewPaths)
		}
		for _, path := range s.paths {
			if err := checkPath(path); err != nil {
				return nil, fmt.Errorf("rule %d: path %q: %w", i, path, err)
			}
		}
		if s.action == pb.ViewAction_VIEW_ACTION_REPLACE {
			var err error
			if rule.Value, err = encode(s.value); err == nil && len(rule.Value) > wire.MaxViewValue {
				err = fmt.Errorf("a replacement of %d bytes, the limit is %d", len(rule.Value), wire.MaxViewValue)
			}
			if err != nil {
				return nil, fmt.Errorf("rule %d: path %q: %w", i, s.paths[0], err)
			}
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// checkPath says what keeps path from being a JSON Pointer.
func checkPath(path string) error {
	switch steps := strings.Count(path, "/"); {
	case path != "" && path[0] != '/':
		return errors.New(`a JSON Pointer begins with "/"`)
	case steps > wire.MaxViewDepth:
		return fmt.Errorf("%d steps, the limit is %d", steps, wire.MaxViewDepth)
	case strings.ToValidUTF8(path, "") != path:
		return errors.New("not UTF-8")
	}
	for rest, found := path, true; found; {
		if _, rest, found = strings.Cut(rest, "~"); found && (rest == "" || rest[0] != '0' && rest[0] != '1') {
			return errors.New(`"~" is written "~0", "/" within a step "~1"`)
		}
	}
	return nil
}

// viewKey names a view.
type viewKey struct {
	audience pb.Audience
	phase    pb.Phase
}

// viewed is what a function view is made of: what its phase has.
type viewed struct {
	in, out any // *In, *Out
	err     error
	raw     json.RawMessage
	delta   string
}

// viewFunc is an author's function without its types.
type viewFunc func(ctx context.Context, call *Call, of viewed) (any, error)

// viewer is one audience's views, or the views of one phase.
type viewer struct {
	key   viewKey
	name  string // of the field
	rules Rules
	both  bool // the field has rules and a function
	f     viewFunc
}

func (t Transform[In, Out]) list() []viewer {
	return append(t.Display.list("Display", pb.Audience_AUDIENCE_DISPLAY),
		t.Transcript.list("Transcript", pb.Audience_AUDIENCE_TRANSCRIPT)...)
}

// list returns the views that are set, in the order of the phases' numbers.
func (v Views[In, Out]) list(name string, audience pb.Audience) []viewer {
	var list []viewer
	add := func(field string, phase pb.Phase, rules Rules, set bool, f viewFunc) {
		if len(rules.steps) == 0 && !set {
			return
		}
		w := viewer{key: viewKey{audience, phase}, name: "Transform." + name + "." + field, rules: rules}
		if set {
			w.f, w.both = f, len(rules.steps) > 0
		}
		list = append(list, w)
	}
	add("InputDelta", pb.Phase_PHASE_INPUT_DELTA, v.InputDelta, v.InputDeltaFunc != nil,
		func(ctx context.Context, c *Call, of viewed) (any, error) { return v.InputDeltaFunc(ctx, c, of.delta) })
	add("Input", pb.Phase_PHASE_INPUT, v.Input, v.InputFunc != nil,
		func(ctx context.Context, c *Call, of viewed) (any, error) { return v.InputFunc(ctx, c, *of.in.(*In)) })
	add("Output", pb.Phase_PHASE_OUTPUT, v.Output, v.OutputFunc != nil,
		func(ctx context.Context, c *Call, of viewed) (any, error) {
			return v.OutputFunc(ctx, c, *of.in.(*In), *of.out.(*Out))
		})
	add("Error", pb.Phase_PHASE_ERROR, v.Error, v.ErrorFunc != nil,
		func(ctx context.Context, c *Call, of viewed) (any, error) { return v.ErrorFunc(ctx, c, of.err) })
	add("Approval", pb.Phase_PHASE_APPROVAL, v.Approval, v.ApprovalFunc != nil,
		func(ctx context.Context, c *Call, of viewed) (any, error) {
			return v.ApprovalFunc(ctx, c, *of.in.(*In))
		})
	add("Suspend", pb.Phase_PHASE_SUSPEND, v.Suspend, v.SuspendFunc != nil,
		func(ctx context.Context, c *Call, of viewed) (any, error) { return v.SuspendFunc(ctx, c, of.raw) })
	add("Resume", pb.Phase_PHASE_RESUME, v.Resume, v.ResumeFunc != nil,
		func(ctx context.Context, c *Call, of viewed) (any, error) { return v.ResumeFunc(ctx, c, of.raw) })
	return list
}

// encode returns the view in the manifest's form.
func (w viewer) encode() (*pb.View, error) {
	if w.both {
		return nil, fmt.Errorf("field %s: rules and a function", w.name)
	}
	rules, err := w.rules.encode()
	if err != nil {
		return nil, fmt.Errorf("field %s: %w", w.name, err)
	}
	return &pb.View{Audience: w.key.audience, Phase: w.key.phase, Function: w.f != nil, Rules: rules}, nil
}
