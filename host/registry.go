package host

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/toolhost/toolhost/host/internal/scan"
)

// registry is an immutable snapshot of what can be called. It is replaced as a whole whenever a plugin
// registers.
type registry struct {
	byName map[string]*entry // ids, aliases, and plugin/id of every tool
	listed []row             // one a tool, under its shortest name, and one an alias; by name
	clash  []clash           // what could not be given its name, and names that look alike (T18)

	reviews map[*entry]review // the tools with findings or changes; those that are held have no name
	looks   map[string]named  // by skeleton, the first name that looks so
	of      []registration    // what it was made of
}

// clash is something about names that a person should know.
type clash struct{ plugin, text string }

// named is a name and the tool that it stands for.
type named struct {
	name string
	tool *entry
}

// registration is what a plugin registered last.
type registration struct {
	plugin   *plugin
	manifest *manifest
}

// registered reads once what every plugin registered last, so that what is reviewed is what is listed.
func registered(plugins iter.Seq[*plugin]) (all []registration) {
	for p := range plugins {
		if m := p.manifest.Load(); m != nil {
			all = append(all, registration{p, m})
		}
	}
	return all
}

// is reports whether the snapshot is of what the plugins registered last. Between their registration and the snapshot that lists it lies
// a moment.
func (r *registry) is(plugins iter.Seq[*plugin]) bool {
	rest := r.of
	for p := range plugins {
		m := p.manifest.Load()
		if m == nil {
			continue
		}
		if len(rest) == 0 || rest[0] != (registration{p, m}) {
			return false
		}
		rest = rest[1:]
	}
	return len(rest) == 0
}

// newRegistry builds the snapshot from what the plugins registered, by their names, the aliases, and what the scan of
// the definitions found.
func newRegistry(plugins []registration, aliases map[string]string, reviews map[*entry]review) *registry {
	r := &registry{byName: map[string]*entry{}, reviews: reviews, looks: map[string]named{}, of: plugins}
	for _, p := range plugins {
		for _, e := range p.manifest.tools {
			if !reviews[e].Held {
				r.add(p.plugin.cfg.Name, e)
			}
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
		r.clash = append(r.clash, clash{plugin, fmt.Sprintf("tool %s of plugin %s is callable as %s only: plugin %s has that id", name, plugin, full, first.tool.Plugin)})
		name = full
	} else {
		r.look("tool "+name+" of plugin "+plugin, name, e)
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
		r.clash = append(r.clash, clash{e.tool.Plugin, fmt.Sprintf("alias %s for %s is not used: tool %s/%s has that name", alias, target, held.tool.Plugin, held.tool.ID)})
		return
	}
	r.look("alias "+alias+" for "+target, alias, e)
	r.byName[alias] = e
	r.list(alias, e)
}

// look reports a name that looks like one that another tool has (T18). Both can be called. Aliases of one tool may look
// alike.
func (r *registry) look(what, name string, e *entry) {
	shape, folded := scan.Skeletons(name)
	for _, skeleton := range []string{"shape " + shape, "folded " + folded} {
		first, taken := r.looks[skeleton]
		if !taken {
			r.looks[skeleton] = named{name, e}
			continue
		}
		if first.tool == e {
			continue
		}
		r.clash = append(r.clash, clash{e.tool.Plugin, fmt.Sprintf("%s looks like %s of plugin %s: look which one is meant", what, first.name, first.tool.tool.Plugin)})
		return
	}
}

// row is one listed tool.
type row struct {
	tool  Tool // under this row's name
	entry *entry
}

func (r *registry) list(name string, e *entry) {
	t := e.tool
	t.Name, t.Findings = name, r.reviews[e].Findings
	r.listed = append(r.listed, row{t, e})
}

// changedPlugins are those of which two snapshots list other tools.
func changedPlugins(before, now *registry) map[*plugin]bool {
	type definition struct {
		plugin     *plugin
		name, hash string
	}
	changed, known := map[*plugin]bool{}, map[definition]bool{}
	for _, row := range before.listed {
		known[definition{row.entry.plugin, row.tool.Name, row.entry.hash}] = true
	}
	for _, row := range now.listed {
		d := definition{row.entry.plugin, row.tool.Name, row.entry.hash}
		if !known[d] {
			changed[d.plugin] = true
		}
		delete(known, d)
	}
	for d := range known {
		changed[d.plugin] = true
	}
	return changed
}
