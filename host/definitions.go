package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/internal/scan"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Definitions says what becomes of a tool whose definition seems to speak to the model (T16). Every text of a
// definition is scanned by fixed rules: invisible characters, commands to the model, marks of roles, names of other
// plugins' tools, paths of secrets, URLs with a place to fill in, long base64, words of mixed scripts. Wording cannot
// be scanned fully: a definition without findings is not obviously hostile, and no more is known of it.
//
// And what a plugin registers is compared with what was accepted last, or else was seen first (T19): a tool that grew since is
// named by PluginStatus.Changes.
//
// Whatever is chosen, a tool with an invisible character in its definition is refused (T17).
type Definitions int

// The ways.
const (
	DefinitionsWarn   Definitions = iota // findings are logged once and shown; nothing else changes
	DefinitionsReview                    // and a tool with findings, or one that grew (T19), does not exist until Host.Accept was told its manifest
	DefinitionsOff                       // findings are not looked for
)

var definitionsWords = [...]string{"warn", "review", "off"}

// String returns the word, such as "review".
func (d Definitions) String() string { return word(definitionsWords[:], int(d)) }

// MarshalText returns String.
func (d Definitions) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads warn, review or off.
func (d *Definitions) UnmarshalText(text []byte) error {
	i := slices.Index(definitionsWords[:], string(text))
	if i < 0 {
		return fmt.Errorf("definitions %q: want warn, review or off", text)
	}
	*d = Definitions(i)
	return nil
}

// Finding is one place of a tool's definition that a rule of the scan names.
type Finding struct {
	Rule  string `json:"rule"`  // imperative, role_markup, tool_name, secret_path, placeholder, base64, mixed_script
	Path  string `json:"path"`  // JSON Pointer into the tool as describe shows it
	Quote string `json:"quote"` // at most 60 characters; those that cannot be seen are escaped
}

// ToolFindings is what the scan found in one tool.
type ToolFindings struct {
	Tool     string    `json:"tool"`  // id
	Score    int       `json:"score"` // 1 to 100: the rules' weights, added
	Held     bool      `json:"held"`  // DefinitionsReview: it does not exist until the plugin's manifest is accepted
	Findings []Finding `json:"findings"`
}

// Accept records that a person has accepted the tools of a plugin as the manifest of this hash defines them
// (PluginStatus.Manifest), findings and all. It is kept in StateDir, for exactly this plugin and manifest. The error is an
// *Error: NotFound if there is no such plugin, InvalidInput if its manifest is another one by now.
func (h *Host) Accept(ctx context.Context, name, manifest string) error {
	fail := func(code Code, err error) error { return &Error{Op: "accept", Tool: name, Code: code, Err: err} }
	h.learn(ctx)
	p := h.plugin(name)
	if p == nil {
		return fail(NotFound, errNoPlugin)
	}
	m := p.manifest.Load()
	switch {
	case m == nil:
		return fail(Unavailable, fmt.Errorf("it did not say what tools it has: %w", p.lastError()))
	case m.digest() != manifest:
		return fail(InvalidInput, fmt.Errorf("its manifest is %.12s by now, not %.12s: look at it again", m.digest(), manifest))
	}
	if err := errors.Join(h.state.Accept(name, manifest), p.setBaseline(m, true)); err != nil {
		return fail(Internal, err)
	}
	m.changes.Store(nil)
	h.publish()
	return nil
}

// scanTool scans a definition. The error is that of a character that nobody sees. What it says of JSON was parsed before.
func scanTool(t *pb.Tool) (scan.Report, error) {
	parts := []scan.Part{
		{Path: "/title", Text: []byte(t.GetTitle())},
		{Path: "/description", Text: []byte(t.GetDescription())},
		{Path: "/annotations/title", Text: []byte(t.GetAnnotations().GetTitle())},
		{Path: "/inputSchema", Text: t.GetInputSchema(), JSON: true},
		{Path: "/outputSchema", Text: t.GetOutputSchema(), JSON: true},
		{Path: "/suspendSchema", Text: t.GetSuspendSchema(), JSON: true},
		{Path: "/resumeSchema", Text: t.GetResumeSchema(), JSON: true},
		{Path: "/requestContextSchema", Text: t.GetRequestContextSchema(), JSON: true},
		{Path: "/_meta", Text: t.GetMeta(), JSON: true},
		{Path: "/providerOptions", Text: t.GetProviderOptions(), JSON: true},
		{Path: "/background", Text: t.GetBackground(), JSON: true},
		{Path: "/extra", Text: t.GetExtra(), JSON: true},
		{Path: "/icons", Text: t.GetIcons(), JSON: true, Images: true},
	}
	for i, x := range t.GetInputExamples() {
		parts = append(parts, scan.Part{Path: fmt.Sprintf("/inputExamples/%d", i), Text: x, JSON: true})
	}
	r := scan.Scan(parts)
	if f := r.Hidden; f != nil {
		return r, fmt.Errorf("%s: a character that nobody sees, in %q; take it out", strings.TrimPrefix(f.Path, "/"), f.Quote)
	}
	return r, nil
}

// toolNames are those by which other plugins' texts could mean a tool, and whose they are.
type toolNames map[string]map[string]bool

// namesOf collects the names of every tool.
func namesOf(plugins []registration) toolNames {
	names := toolNames{}
	for _, p := range plugins {
		for _, e := range p.manifest.tools {
			for _, name := range []string{e.tool.ID, e.tool.Plugin + "/" + e.tool.ID} {
				if names[name] == nil {
					names[name] = map[string]bool{}
				}
				names[name][e.tool.Plugin] = true
			}
		}
	}
	return names
}

// findings are those of the definition itself, and its mentions of tools that only other plugins have.
func (n toolNames) findings(e *entry) []Finding {
	found := slices.Clone(e.scanned.Findings)
	for _, m := range e.scanned.Mentions {
		if owners := n[m.Name]; len(owners) > 0 && !owners[e.tool.Plugin] && len(found) < 2*scan.MaxFindings {
			found = append(found, m.Finding())
		}
	}
	out := make([]Finding, len(found))
	for i, f := range found {
		out[i] = Finding(f)
	}
	return out
}

// review is what there is to say of a tool.
type review struct {
	ToolFindings
	changes []Change // Held is the tool's
}

// definitions is how the plugin's definitions are looked at.
func (p *plugin) definitions() Definitions {
	if d := p.cfg.Definitions; d != nil {
		return *d
	}
	return p.host.cfg.Definitions
}

// review decides about every tool with findings or changes. A tool is held if a person should accept its manifest and has
// not, as far as can be known.
func (h *Host) review(plugins []registration) map[*entry]review {
	reviews := map[*entry]review{}
	names := namesOf(plugins)
	for _, p := range plugins {
		mode := p.plugin.definitions()
		if mode == DefinitionsOff {
			continue
		}
		asked, held := false, false
		for _, e := range p.manifest.tools {
			found, changes := names.findings(e), slices.Clone(p.manifest.changesOf(e))
			if len(found) == 0 && len(changes) == 0 {
				continue
			}
			if !asked && mode == DefinitionsReview {
				asked, held = true, !h.accepted(p.plugin, p.manifest)
			}
			for i := range changes {
				changes[i].Held = held
			}
			reviews[e] = review{ToolFindings{Tool: e.tool.ID, Score: score(found), Held: held, Findings: found}, changes}
		}
	}
	return reviews
}

// accepted reports whether a person has accepted the manifest. What cannot be known was not.
func (h *Host) accepted(p *plugin, m *manifest) bool {
	ok, err := h.state.Accepted(p.cfg.Name, m.digest())
	if err != nil {
		p.log.Warn("accepted manifests", "error", err)
	}
	return ok && err == nil
}

func score(found []Finding) int {
	sum := 0
	for _, f := range found {
		sum += scan.Weight(f.Rule)
	}
	return min(sum, scan.MaxScore)
}

// logReviews logs what was found since the snapshot before.
func (h *Host) logReviews(before, now map[*entry]review) {
	known := map[string]bool{}
	for e, f := range before {
		known[reviewKey(e, f)] = true
	}
	for _, e := range slices.SortedFunc(maps.Keys(now), func(a, b *entry) int {
		return strings.Compare(a.tool.Plugin+"/"+a.tool.ID, b.tool.Plugin+"/"+b.tool.ID)
	}) {
		f := now[e]
		if known[reviewKey(e, f)] {
			continue
		}
		if len(f.Findings) > 0 {
			first := f.Findings[0]
			e.plugin.log.Warn("a tool's definition may speak to the model", "tool", f.Tool, "score", f.Score, "held", f.Held, "findings", len(f.Findings),
				slog.Group("first", "rule", first.Rule, "path", first.Path, "quote", first.Quote))
		}
		if len(f.changes) > 0 {
			e.plugin.log.Warn("a tool is more than it was", "tool", f.Tool, "held", f.Held, "changes", len(f.changes), "first", f.changes[0].String())
		}
	}
}

// reviewKey is the same for the same findings in the same definition.
func reviewKey(e *entry, f review) string {
	return fmt.Sprint(e.tool.Plugin, "/", e.tool.ID, "/", e.hash, len(f.Findings), "/", len(f.changes))
}

// recheck looks whether somebody has accepted, perhaps in another process, what is held.
func (h *Host) recheck() {
	asked := map[*plugin]bool{}
	for e, f := range h.registry.Load().reviews {
		if !f.Held || asked[e.plugin] {
			continue
		}
		asked[e.plugin] = true
		if m := e.plugin.manifest.Load(); m != nil && h.accepted(e.plugin, m) {
			h.publish()
			return
		}
	}
}
