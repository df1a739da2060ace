package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
)

// target is a tool that may be called.
type target struct {
	tool   host.Tool
	calls  []Call // at least one; the first is the plain one
	madeUp bool   // it may also be called with inputs that nobody gave

	answered bool          // it answered the plain call in time
	late     bool          // it did not answer in time, and the process lived on
	took     time.Duration // the plain call
}

// find sorts the tools into those that may be called and those that may not.
func (r *run) find(ctx context.Context, g *rig) {
	for t := range g.Tools() {
		given := r.given(t)
		harmless := isTrue(t.Annotations.ReadOnly) || isTrue(t.Annotations.Idempotent) || t.Idempotent
		switch {
		case r.cfg.Unsafe, len(given) > 0:
		case !harmless:
			r.uncalled.changing = append(r.uncalled.changing, t.ID)
			continue
		case isTrue(t.Annotations.OpenWorld):
			r.uncalled.open = append(r.uncalled.open, t.ID)
			continue
		}
		c := &target{tool: t, calls: given, madeUp: r.cfg.Unsafe || harmless && !isTrue(t.Annotations.OpenWorld)}
		var why error
		for _, in := range r.candidates(t, c.madeUp) {
			if len(given) > 0 {
				break
			}
			if why = r.accepts(ctx, g, in); why == nil {
				c.calls = append(c.calls, in)
			}
		}
		if len(c.calls) == 0 {
			r.uncalled.unknown = append(r.uncalled.unknown, fmt.Sprintf("%s (%v)", t.ID, why))
			continue
		}
		r.targets = append(r.targets, c)
	}
}

// given returns the inputs of the configuration for a tool.
func (r *run) given(t host.Tool) (list []Call) {
	for _, c := range r.cfg.Calls {
		if c.Tool == t.ID || c.Tool == t.Name {
			list = append(list, Call{Tool: t.Name, Input: c.Input, Context: c.Context})
		}
	}
	return list
}

// candidates returns the tool's examples, or an input made from its schema.
func (r *run) candidates(t host.Tool, madeUp bool) (list []Call) {
	for _, x := range t.Examples {
		list = append(list, Call{Tool: t.Name, Input: x})
	}
	if len(list) == 0 && madeUp {
		list = append(list, Call{Tool: t.Name, Input: plain(t.InputSchema)})
	}
	return list
}

// errDry ends a call after its input was accepted, and before anything of it reaches the plugin.
var errDry = errors.New("the input is valid")

// accepts reports whether the host takes an input, and if not why. Nothing of it reaches the plugin.
func (r *run) accepts(ctx context.Context, g *rig, in Call) error {
	_, err := g.Call(ctx, host.Call{Tool: in.Tool, Input: in.Input, Context: in.Context, Hooks: []host.Hook{{
		Before: func(context.Context, *host.Call) (*host.Result, error) { return nil, errDry },
	}}})
	if errors.Is(err, errDry) {
		return nil
	}
	return err
}

// answering returns the tools that answered a plain call.
func (r *run) answering() (list []*target) {
	for _, t := range r.targets {
		if t.answered {
			list = append(list, t)
		}
	}
	return list
}

// running returns those, and the tools whose plain call was still running in time.
func (r *run) running() (list []*target) {
	for _, t := range r.targets {
		if t.answered || t.late {
			list = append(list, t)
		}
	}
	return list
}

// without is the finding of a check that has no tool to call.
func (r *run) without() finding {
	if len(r.targets) > 0 {
		return skip("no tool answers a plain call; see the check call")
	}
	return skip("no tool is called; see the check call")
}

// uncalled are the tools that may not be called.
type uncalled struct {
	changing, open, unknown []string
}

// String says which, and why; empty if there are none.
func (u uncalled) String() string {
	var parts []string
	for _, p := range []struct {
		tools []string
		why   string
	}{
		{u.changing, "not said to be read-only or idempotent"},
		{u.open, "said to reach an open world"},
		{u.unknown, "no input is known that is valid"},
	} {
		if len(p.tools) > 0 {
			parts = append(parts, p.why+": "+join(p.tools))
		}
	}
	return strings.Join(parts, "; ")
}

// finding is that of the check call if no tool may be called.
func (u uncalled) finding() finding {
	why := u.String()
	if why == "" {
		return skip("it has no tools")
	}
	return finding{Skipped, "no tool may be called; " + why, "give inputs (Config.Calls, --input), or call everything (Config.Unsafe, --unsafe)"}
}

func isTrue(b *bool) bool { return b != nil && *b }
