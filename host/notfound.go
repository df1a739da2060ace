package host

import (
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
	var names []string
	for _, row := range h.registry.Load().listed {
		if h.visible(row.entry, caller) {
			names = append(names, row.tool.Name)
		}
	}
	return h.NotFoundAmong(names, name)
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
		if p.Error != "" && len(p.Tools) == 0 {
			why = append(why, fmt.Sprintf("plugin %s: %s: %s", p.Name, p.State, p.Error))
		}
	}
	return why
}
