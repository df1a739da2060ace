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
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

const (
	listTTL      = 5000                   // milliseconds for which a modern client may keep a list
	listDebounce = 50 * time.Millisecond  // changes that come within it are one
	listPatience = 500 * time.Millisecond // and are told after so long at most
	mostListings = 64                     // callers whose list is kept
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
		l.tools = append(l.tools, exported{n.Name, n.Tool})
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
	if entry != nil && !json.Valid(entry) {
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
	m := rawjson.Object{{"tools", list.json[e]}}
	if e == project.Modern {
		m = append(m, rawjson.Member{"ttlMs", rawjson.Encode(listTTL)}, rawjson.Member{"cacheScope", rawjson.Quote("private")})
	}
	return s.finish(m.Raw(), e), nil
}

// audience are the callers that are told when what exists for them changes.
type audience struct {
	mu    sync.Mutex
	byOf  map[string]*listener
	dirty chan struct{} // has an element when the host changed
}

// listener is a caller who is told.
type listener struct {
	caller host.Caller
	refs   int
	known  bool
	digest [sha256.Size]byte // of what it was told last, if known
}

// present makes a caller one that is told, until the function that it returns is called.
func (s *Server) present(caller host.Caller) func() {
	key := callerKey(caller)
	s.audience.mu.Lock()
	defer s.audience.mu.Unlock()
	a := s.audience.byOf[key]
	if a == nil {
		a = &listener{caller: caller}
		s.audience.byOf[key] = a
	}
	a.refs++
	return sync.OnceFunc(func() {
		s.audience.mu.Lock()
		defer s.audience.mu.Unlock()
		if a.refs--; a.refs == 0 {
			delete(s.audience.byOf, key)
		}
	})
}

// told notes what a caller knows of, if nothing is noted yet.
func (s *Server) told(caller host.Caller, l *listing) {
	s.audience.mu.Lock()
	a := s.audience.byOf[callerKey(caller)]
	fresh := a != nil && !a.known
	if fresh {
		a.known, a.digest = true, l.digest
	}
	s.audience.mu.Unlock()
	if fresh {
		s.dirty() // it may have changed meanwhile
	}
}

// dirty makes the server look whether what exists changed.
func (s *Server) dirty() {
	select {
	case s.audience.dirty <- struct{}{}:
	default:
	}
}

// watchHost follows the host until it or the server ends.
func (s *Server) watchHost() {
	for range s.host.Watch(s.life) {
		s.dirty()
	}
}

// tellChanges tells clients of changes, until the server ends. Changes that come in a burst are told once (R14).
func (s *Server) tellChanges() {
	for {
		select {
		case <-s.audience.dirty:
		case <-s.life.Done():
			return
		}
		quiet, late := time.NewTimer(listDebounce), time.NewTimer(listPatience)
		for settled := false; !settled; {
			select {
			case <-s.audience.dirty:
				quiet.Reset(listDebounce)
			case <-quiet.C:
				settled = true
			case <-late.C:
				settled = true
			case <-s.life.Done():
				settled = true
			}
		}
		quiet.Stop()
		late.Stop()
		if s.life.Err() == nil && s.changed() {
			s.announce()
		}
	}
}

// changed reports whether what exists changed for anybody who was told what does.
func (s *Server) changed() bool {
	s.audience.mu.Lock()
	var known []*listener
	for _, a := range s.audience.byOf {
		if a.known {
			known = append(known, a)
		}
	}
	s.audience.mu.Unlock()
	changed := false
	for _, a := range known {
		digest := s.listing(a.caller).digest
		s.audience.mu.Lock()
		if digest != a.digest {
			a.digest, changed = digest, true
		}
		s.audience.mu.Unlock()
	}
	return changed
}

// announce makes the SDK send notifications/tools/list_changed to every legacy session and every subscription. It does so
// when one of its own tools is replaced; the SDK's own list is never shown.
func (s *Server) announce() {
	s.sdk.AddTool(&mcp.Tool{Name: "changed", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
}
