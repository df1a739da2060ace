package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/internal/near"
)

// NotFound is NotFoundFor a caller of whom nothing is known.
func (h *Host) NotFound(name string) *Error { return h.NotFoundFor(Caller{}, name) }

// NotFoundFor is the error of a call of a tool that does not exist: what resembles its name, or which tools
// there are, and what is known of a tool or plugin of that name that does not work.
func (h *Host) NotFoundFor(caller Caller, name string) *Error {
	return h.NotFoundAmong(h.namesFor(caller), name)
}

// namesFor are the names of the tools that exist for a caller.
func (h *Host) namesFor(caller Caller) (names []string) {
	for _, row := range h.registry.Load().listed {
		if h.visible(row.entry, caller) {
			names = append(names, row.tool.Name)
		}
	}
	return names
}

// NotFoundAmong is NotFoundFor callers who know the tools by these names.
func (h *Host) NotFoundAmong(names []string, name string) *Error {
	return &Error{Op: "call", Tool: name, Code: NotFound, Err: errors.New(strings.Join(h.whyNot(names, name), "; "))}
}

func (h *Host) whyNot(names []string, name string) []string {
	why := []string{"no tool has that name"}
	if target, ok := h.cfg.Tools[name]; ok && h.registry.Load().byName[target] == nil { // one that is hidden does not exist, either
		why[0] = fmt.Sprintf("it is another name for %s, which no plugin has", target)
	}
	if like := near.Names(name, names); len(like) > 0 {
		why = append(why, "did you mean "+strings.Join(like, " or ")+"?")
	} else if len(names) > 0 {
		const most = 8
		some := "there are " + strings.Join(names[:min(most, len(names))], ", ")
		if len(names) > most {
			some += fmt.Sprintf(" and %d more", len(names)-most)
		}
		why = append(why, some)
	}
	why = append(why, h.taken(name)...)
	for p := range h.Plugins() {
		if p.Error != "" && len(p.Tools) == 0 {
			why = append(why, fmt.Sprintf("plugin %s: %s: %s", p.Name, p.State, p.Error))
		}
	}
	return why
}

// taken is why tools of this name, which plugins do have, do not exist.
func (h *Host) taken(name string) (why []string) {
	for p := range h.Plugins() {
		for _, t := range p.BadTools {
			if t.ID == name || p.Name+"/"+t.ID == name {
				why = append(why, fmt.Sprintf("plugin %s has it, but it was refused: %s", p.Name, t.Reason))
			}
		}
		for _, t := range p.Findings {
			if t.Held && (t.Tool == name || p.Name+"/"+t.Tool == name) {
				why = append(why, fmt.Sprintf("plugin %s has it, but its definition has findings and waits for a person: see toolhost lint", p.Name))
			}
		}
		for i, c := range p.Changes {
			first := i == 0 || p.Changes[i-1].Tool != c.Tool
			if first && c.Held && (c.Tool == name || p.Name+"/"+c.Tool == name) {
				why = append(why, fmt.Sprintf("plugin %s has it, but it changed (%s) and waits for a person: see toolhost lint", p.Name, c))
			}
		}
	}
	return why
}

var errUnknown = errors.New("it did not say what tools it has")

// unsaid is the error of a call of a name that no known tool has, if it may be one of a plugin that did not say what tools it has:
// nil if there is none. failed are those that were asked for this call, and did not start.
func (r *run) unsaid(ctx context.Context, failed []unsaid) error {
	name, _, full := strings.Cut(r.call.Tool, "/")
	var causes []error
	for _, u := range failed {
		if m := u.plugin.manifest.Load(); m != nil && !m.late() {
			continue // it has said so to somebody else meanwhile
		}
		e, ok := errors.AsType[*Error](u.err)
		if !ok {
			e = u.plugin.unavailable(u.err)
		}
		if u.plugin.cfg.Name == name {
			return r.fail(e.Code, NotStarted, e.Err)
		}
		_, held := errors.AsType[*quarantineError](e)
		_, untried := errors.AsType[*untriedError](e)
		if !held && !untried { // these are known to be nobody's tools until a person does something
			causes = append(causes, e)
		}
	}
	p := r.host.plugin(name)
	if p != nil {
		if err := p.saysNothing(ctx); err != nil {
			return r.fail(Unavailable, NotStarted, err)
		}
	}
	if p != nil || full || len(causes) == 0 || r.host.taken(r.call.Tool) != nil {
		return nil
	}
	return r.fail(Unavailable, NotStarted, &unknownError{r.host.whyNot(r.host.namesFor(r.call.Caller), r.call.Tool), causes})
}

// saysNothing is why nothing is known of the plugin's tools, or why it has none yet; nil: it has said what it has.
func (p *plugin) saysNothing(ctx context.Context) error {
	m := p.manifest.Load()
	if m != nil && !m.late() {
		return nil
	}
	if pr := p.current.Load(); pr != nil {
		if pr.sess.Err() == nil {
			return errNoTools
		}
		if err := pr.wait(ctx); err != nil { // for the evidence
			return err
		}
	}
	return cmp.Or(p.lastError(), errUnknown)
}

var errNoTools = errors.New("it has no tools yet: they are still to come")

// unknownError says that no known tool has a name, and which plugins did not say what tools they have.
type unknownError struct {
	why    []string // that no tool has the name
	causes []error
}

// Error names the plugins and why they did not.
func (e *unknownError) Error() string {
	text := "no known tool has that name, and not every plugin said what tools it has"
	for _, w := range e.why[1:] {
		text += "; " + w
	}
	for _, c := range e.causes {
		said := c.Error()
		if start, ok := errors.AsType[*Error](c); ok && start.Err != nil {
			said = start.Err.Error()
		}
		if !strings.Contains(text, said) { // the plugin's state is another one by now
			text += "; " + c.Error()
		}
	}
	return text
}

// Unwrap returns why the plugins did not start.
func (e *unknownError) Unwrap() []error { return e.causes }
