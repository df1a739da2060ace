package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/internal/state"
	"github.com/toolhost/toolhost/internal/runes"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Bounds of a manifest (T9).
const (
	maxManifest    = 4 << 20
	maxTools       = 1000
	maxTitle       = 120
	maxDescription = 8 << 10
	maxIcons       = 32 << 10
	maxExtra       = 32 << 10
	maxBad         = 100 // refused tools that are listed
)

// manifest is what one plugin registered, checked and compiled.
type manifest struct {
	hash     [sha256.Size]byte
	key      state.Key // under which it is remembered
	since    time.Time // when it was registered first
	dynamic  bool      // its tools come and go while it runs
	sdk      string
	version  string
	settings []byte   // JSON Schema; nil: not declared
	tools    []*entry // in the plugin's order
	bad      []BadTool

	changes atomic.Pointer[map[string][]Change] // in which its tools grew (T19), by id; nil: in none, or that was accepted
}

// changesOf are the ways in which a tool grew.
func (m *manifest) changesOf(e *entry) []Change {
	if all := m.changes.Load(); all != nil {
		return (*all)[e.tool.ID]
	}
	return nil
}

// late reports whether the plugin's tools are still to come (R32): nothing was learned of it yet.
func (m *manifest) late() bool { return m.dynamic && len(m.tools) == 0 }

// digest is the hash in hex.
func (m *manifest) digest() string { return hex.EncodeToString(m.hash[:]) }

// has reports whether the manifest has the tool as e defines it.
func (m *manifest) has(e *entry) bool {
	for _, t := range m.tools {
		if t.tool.ID == e.tool.ID {
			return t.hash == e.hash
		}
	}
	return false
}

// program identifies the bytes that a call of the tool would run: their hash, or that of the manifest if they
// cannot be known.
func (e *entry) program() string {
	if g, err := e.plugin.look(); err == nil {
		defer g.release()
		if digest := g.digest(); digest != "" {
			return digest
		}
	}
	return e.manifest.digest()
}

// hashManifest is the hash that welcome carries.
func hashManifest(m *pb.Manifest) [sha256.Size]byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(b)
}

// newManifest checks and compiles what a plugin registered. One bad tool does not take its siblings with
// it. What was found clean before is not checked again.
func newManifest(p *plugin, m *pb.Manifest, clean bool) (*manifest, error) {
	if size := proto.Size(m); size > maxManifest {
		return nil, fmt.Errorf("a manifest of %d bytes; the limit is %d", size, maxManifest)
	}
	if m.GetRole() != pb.Role_ROLE_TOOLS {
		return nil, fmt.Errorf("unknown role %v", m.GetRole())
	}
	out := &manifest{hash: hashManifest(m), sdk: m.GetSdk(), version: m.GetVersion(), dynamic: m.GetDynamic(), settings: m.GetSettingsSchema()}
	for _, b := range m.GetBadTools() {
		out.refuse(b.GetId(), b.GetError())
	}
	if n := len(m.GetTools()); n > maxTools {
		out.refuse("", fmt.Sprintf("%d tools; only the first %d are taken", n, maxTools))
	}
	seen := map[string]bool{}
	for _, t := range m.GetTools()[:min(maxTools, len(m.GetTools()))] {
		e, err := guardEntry(p, t, clean)
		if err == nil && seen[t.GetId()] {
			err = fmt.Errorf("the id was registered twice")
		}
		if err != nil {
			out.refuse(t.GetId(), err.Error())
			continue
		}
		seen[t.GetId()] = true
		e.manifest = out
		out.tools = append(out.tools, e)
	}
	return out, nil
}

// guardEntry is newEntry; a panic over a definition refuses its tool alone (H6).
func guardEntry(p *plugin, t *pb.Tool, clean bool) (e *entry, err error) {
	defer func() {
		if v := recover(); v != nil {
			e, err = nil, fmt.Errorf("panic: %v", v)
		}
	}()
	return newEntry(p, t, clean)
}

// clean reports whether every tool was taken and nothing was found in any definition.
func (m *manifest) clean() bool {
	for _, e := range m.tools {
		if len(e.scanned.Findings) > 0 || len(e.scanned.Mentions) > 0 {
			return false
		}
	}
	return len(m.bad) == 0
}

// refuse notes a tool that is not taken; what a plugin says of it is bounded.
func (m *manifest) refuse(id, reason string) {
	if len(m.bad) < maxBad {
		m.bad = append(m.bad, BadTool{ID: runes.Cut(id, 64), Reason: runes.Cut(reason, 1<<10)})
	}
}
