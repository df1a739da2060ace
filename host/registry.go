package host

import (
	"cmp"
	"fmt"
	"slices"
)

// registry is an immutable snapshot of what can be called. It is replaced as a whole whenever a plugin
// registers.
type registry struct {
	byName map[string]*entry // ids, aliases, and plugin/id of every tool
	listed []row             // one a tool, under its shortest name, and one an alias; by name
	clash  []string          // what could not be given its name
}

// newRegistry builds the snapshot from the plugins, which are sorted by name, and the aliases.
func newRegistry(plugins []*plugin, aliases map[string]string) *registry {
	r := &registry{byName: map[string]*entry{}}
	for _, p := range plugins {
		m := p.manifest.Load()
		if m == nil {
			continue
		}
		for _, e := range m.tools {
			r.add(p.cfg.Name, e)
		}
	}
	names := make([]string, 0, len(aliases))
	for alias := range aliases {
		names = append(names, alias)
	}
	slices.Sort(names)
	for _, alias := range names {
		r.alias(alias, aliases[alias])
	}
	slices.SortFunc(r.listed, func(a, b row) int { return cmp.Compare(a.tool.Name, b.tool.Name) })
	return r
}

// add lists one tool under its id, or under plugin/id if another plugin holds the id.
func (r *registry) add(plugin string, e *entry) {
	full := plugin + "/" + e.tool.ID
	name := e.tool.ID
	if first, taken := r.byName[name]; taken {
		r.clash = append(r.clash, fmt.Sprintf("tool %s of plugin %s is callable as %s only: plugin %s has that id", name, plugin, full, first.tool.Plugin))
		name = full
	}
	r.byName[full] = e
	r.byName[name] = e
	r.list(name, e)
}

// alias adds an extra name (N-1). A name that a tool has already is reported and not taken over.
func (r *registry) alias(alias, target string) {
	e, ok := r.byName[target]
	if !ok {
		return // the plugin may not be there yet, or failed
	}
	if held, taken := r.byName[alias]; taken {
		r.clash = append(r.clash, fmt.Sprintf("alias %s for %s is not used: tool %s/%s has that name", alias, target, held.tool.Plugin, held.tool.ID))
		return
	}
	r.byName[alias] = e
	r.list(alias, e)
}

// row is one listed tool.
type row struct {
	tool  Tool // under this row's name
	entry *entry
}

func (r *registry) list(name string, e *entry) {
	t := e.tool
	t.Name = name
	r.listed = append(r.listed, row{t, e})
}
