package mcpserver

import (
	"cmp"
	"slices"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
)

// Remark is something about a tool that MCP clients, or the model APIs behind them, do not take as it is.
type Remark struct {
	Plugin string `json:"plugin"`
	Tool   string `json:"tool"` // id
	Name   string `json:"name"` // by which clients call it; of an alias too
	Rule   string `json:"rule"` // name, root (it is not exported), root_rule, dialect, pattern, ref, output_root, output_mode, icons or extra
	Path   string `json:"path"` // JSON Pointer into the tool as it is listed
	Text   string `json:"text"` // what is so, and what follows
}

// Lint says what is odd about tools as a server of cfg would export them, in either era, by name: rules at the root of an
// input schema (R1, R2), roots that cannot be exported, older drafts (R6), patterns that not every client takes (R7), and
// names that are cut or mapped (R8, R9). tools are those of Host.Tools. Of cfg only Prefix, NameBudget and Profile count.
// It may be called concurrently.
func Lint(tools []host.Tool, cfg Config) []Remark {
	cfg = cfg.withDefaults()
	var list []Remark
	for _, r := range project.Names(tools, cfg.Prefix, cfg.NameBudget) {
		add := func(x project.Note) {
			m := Remark{r.Tool.Plugin, r.Tool.ID, r.Name, x.Rule, x.Path, x.Text}
			if !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
		if r.Why != "" {
			add(project.Note{Rule: "name", Path: "/name", Text: "exported as " + r.Name + ": " + r.Why})
		}
		for _, e := range []project.Era{project.Modern, project.Legacy} {
			_, notes := project.Tool(r.Tool, r.Name, e, cfg.strict())
			for _, n := range notes {
				add(n)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Remark) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path)) })
	return list
}
