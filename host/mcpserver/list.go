package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

const (
	listTTL      = 5000 // milliseconds for which a modern client may keep a list
	mostListings = 64   // callers whose list is kept
)

// listing is what is exported to one caller. It is never changed.
type listing struct {
	tools  []exported     // by name
	byName map[string]int // index in tools
	source []host.Tool    // as the host had them

	json   [2]json.RawMessage // by era: the array of tools
	digest [sha256.Size]byte  // of the modern one

	generation atomic.Uint64 // of the host, when the list was last known to be right
}

// exported is one tool under the name that clients call it by.
type exported struct {
	host.Tool
	name  string
	wraps [2]bool // by era: structuredContent is an object around the output
}

// find returns the tool that a client calls by name.
func (l *listing) find(name string) (*exported, bool) {
	i, ok := l.byName[name]
	if !ok {
		return nil, false
	}
	return &l.tools[i], true
}

// listings are the lists that were made last, one a caller.
type listings struct {
	mu   sync.Mutex
	byOf map[string]*listing
}

func (l *listings) of(key string) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byOf[key]
}

// known is the caller's list for a call, which asks the host only if something changed since it was made.
func (s *Server) known(caller host.Caller) *listing {
	if l := s.lists.of(callerKey(caller)); l != nil && l.generation.Load() == s.host.Generation() {
		return l
	}
	return s.listing(caller)
}

// listing asks the host for what exists for a caller. The list is made anew only if that changed.
func (s *Server) listing(caller host.Caller) *listing {
	generation := s.host.Generation()
	source := slices.Collect(s.host.ToolsFor(caller))
	key := callerKey(caller)
	l := s.lists.of(key)
	if l != nil && reflect.DeepEqual(l.source, source) {
		l.generation.Store(generation)
		return l
	}
	l = s.export(source)
	l.generation.Store(generation)
	s.lists.mu.Lock()
	defer s.lists.mu.Unlock()
	if len(s.lists.byOf) >= mostListings {
		clear(s.lists.byOf)
	}
	s.lists.byOf[key] = l
	return l
}

// callerKey is what of a caller decides what exists for it.
func callerKey(c host.Caller) string {
	if c.Subject == "" && c.Tenant == "" && len(c.Groups) == 0 {
		return c.Channel // no JSON object is like it
	}
	c.Session = ""
	return string(rawjson.Encode(c))
}

// export makes the list of tools. What is odd about a tool is logged once for each list that is made.
func (s *Server) export(source []host.Tool) *listing {
	l := &listing{byName: map[string]int{}, source: source}
	named := project.Names(source, s.cfg.Prefix, s.cfg.NameBudget)
	slices.SortFunc(named, func(a, b project.Name) int { return strings.Compare(a.Name, b.Name) })
	var lists [2][]json.RawMessage
	for _, n := range named {
		if n.Why != "" {
			s.log.Info("an exported name differs", "name", n.String())
		}
		old, now := s.entry(n.Tool, n.Name, project.Legacy), s.entry(n.Tool, n.Name, project.Modern)
		if old == nil || now == nil {
			continue
		}
		lists[project.Legacy], lists[project.Modern] = append(lists[project.Legacy], old), append(lists[project.Modern], now)
		l.byName[n.Name] = len(l.tools)
		l.tools = append(l.tools, exported{n.Tool, n.Name, [2]bool{project.Legacy: project.Wraps(n.Tool, project.Legacy)}})
	}
	for e, list := range lists {
		l.json[e] = rawjson.Array(list)
	}
	l.digest = sha256.Sum256(l.json[project.Modern])
	return l
}

// entry makes the JSON of one listed tool. A tool that cannot be shown costs itself only: nil.
func (s *Server) entry(t host.Tool, name string, e project.Era) (entry json.RawMessage) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a tool is not listed: its definition made the server panic", "tool", name, "panic", p)
			entry = nil
		}
	}()
	entry, notes := project.Tool(t, name, e, s.cfg.strict())
	for _, n := range notes {
		s.log.Info("a tool's definition", "tool", name, "warning", n.String())
	}
	if entry != nil && !rawjson.Valid(entry) {
		s.log.Error("a tool is not listed: its definition is no JSON", "tool", name)
		return nil
	}
	return entry
}

// receiveList answers tools/list: every tool on one page (R12).
func (s *Server) receiveList(ctx context.Context, req *mcp.ListToolsRequest) (mcp.Result, error) {
	l := linkOf(ctx)
	if l == nil {
		return nil, &jsonrpc.Error{Code: codeInternal, Message: "internal error"}
	}
	if req.Params != nil && req.Params.Cursor != "" {
		return nil, &jsonrpc.Error{Code: codeInvalidParams, Message: "tools/list: there is no such cursor: every tool is on the first page"}
	}
	e := eraOfRequest(req)
	list := s.listing(l.caller)
	s.told(l.caller, list)
	return s.finishList("tools", list.json[e], e), nil
}

// finishList is the result of a list that is all on one page.
func (s *Server) finishList(name string, list json.RawMessage, e project.Era) *rawResult {
	m := rawjson.Object{{name, list}}
	if e == project.Modern {
		m = append(m, rawjson.Member{"ttlMs", rawjson.Encode(listTTL)}, rawjson.Member{"cacheScope", rawjson.Quote("private")})
	}
	return &rawResult{raw: s.finish(m.Raw(), e)}
}
