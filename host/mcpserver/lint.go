package mcpserver

import (
	"cmp"
	"slices"

	"github.com/toolhost/toolhost/host"
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
	for _, r := range nameTools(tools, cfg.Prefix, cfg.NameBudget) {
		add := func(x remark) {
			m := Remark{r.tool.Plugin, r.tool.ID, r.name, x.rule, x.path, x.text}
			if !slices.Contains(list, m) {
				list = append(list, m)
			}
		}
		if r.why != "" {
			add(remark{"name", "/name", "exported as " + r.name + ": " + r.why})
		}
		for _, e := range []era{modern, legacy} {
			_, notes := project(r.tool, r.name, e, cfg.Profile)
			for _, n := range notes {
				add(n)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Remark) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path)) })
	return list
}
