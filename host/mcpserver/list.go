package mcpserver

import (
	"cmp"
	"slices"

	"github.com/toolhost/toolhost/host"
)

// listing is what is exported to one caller. It is never changed.
type listing struct {
	tools  []exported     // by name
	byName map[string]int // index in tools
}

// exported is one tool under the name that clients call it by.
type exported struct {
	name string
	tool host.Tool
}

// find returns the tool that a client calls by name.
func (l *listing) find(name string) (host.Tool, bool) {
	i, ok := l.byName[name]
	if !ok {
		return host.Tool{}, false
	}
	return l.tools[i].tool, true
}

// listing asks the host for what exists for a caller.
func (s *Server) listing(caller host.Caller) *listing {
	l := &listing{byName: map[string]int{}}
	for t := range s.host.ToolsFor(caller) {
		l.tools = append(l.tools, exported{t.Name, t})
	}
	slices.SortFunc(l.tools, func(a, b exported) int { return cmp.Compare(a.name, b.name) })
	for i, t := range l.tools {
		l.byName[t.name] = i
	}
	return l
}
