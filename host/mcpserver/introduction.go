package mcpserver

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// introductions are what modern clients say of themselves in _meta, as the SDK has read and accepted it.
type introductions struct {
	mu    sync.RWMutex
	known map[string]bool
}

// The bounds of introductions.
const (
	maxIntroductions = 256
	maxIntroduction  = 4 << 10 // bytes
)

// introduction is what a modern client says of itself, byte for byte; empty if it is too long to be kept.
func (m meta) introduction() string {
	version, client, can := m.get(mcp.MetaKeyProtocolVersion), m.get(mcp.MetaKeyClientInfo), m.get(mcp.MetaKeyClientCapabilities)
	if len(version)+len(client)+len(can) > maxIntroduction {
		return ""
	}
	return string(version) + "\x00" + string(client) + "\x00" + string(can) // no JSON has this byte
}

// introduces reports whether a member of _meta is part of an introduction.
func introduces(name string) bool {
	return name == mcp.MetaKeyProtocolVersion || name == mcp.MetaKeyClientInfo || name == mcp.MetaKeyClientCapabilities
}

// accept notes an introduction that the SDK has accepted.
func (i *introductions) accept(m meta) {
	text := m.introduction()
	if text == "" || i.has(m) {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.known) >= maxIntroductions {
		clear(i.known)
	}
	i.known[text] = true
}

// has reports whether an introduction was accepted.
func (i *introductions) has(m meta) bool {
	text := m.introduction()
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.known[text]
}
