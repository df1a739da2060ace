package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

const (
	listDebounce = 50 * time.Millisecond  // changes that come within it are one
	listPatience = 500 * time.Millisecond // and are told after so long at most
)

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
