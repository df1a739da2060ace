package host

import (
	"encoding/json"
	"strings"
	"time"
)

// State is a state of a plugin.
type State string

// The states.
const (
	Discovered  State = "discovered"  // found, and nothing is known of its tools
	Described   State = "described"   // its tools are known from before; no process was started
	Idle        State = "idle"        // stopped for want of calls; the next call starts it
	Starting    State = "starting"    // a process starts
	Ready       State = "ready"       // it takes calls
	Attached    State = "attached"    // it takes calls over Plugin.Dial
	Draining    State = "draining"    // it finishes its calls
	Stopped     State = "stopped"     // stopped by the host
	Crashed     State = "crashed"     // it died or did not start; the next call starts it again
	Cooling     State = "cooling"     // it died too often; it may start again at NextStart
	Quarantined State = "quarantined" // it is not started again until its binary changes or Host.Trust
)

// PluginStatus is what is known of one plugin.
type PluginStatus struct {
	Name      string    `json:"name"`
	Path      string    `json:"path,omitempty"`
	State     State     `json:"state"`
	PID       int       `json:"pid,omitempty"`
	Program   string    `json:"program,omitempty"`   // SHA-256 in hex of the bytes that run, or that the next process runs
	Previous  string    `json:"previous,omitempty"`  // of the version before it, to which a broken one is rolled back
	Draining  []int     `json:"draining,omitempty"`  // process ids of replaced versions that finish their calls
	Waiting   string    `json:"waiting,omitempty"`   // what a new version waits for
	SDK       string    `json:"sdk,omitempty"`       // such as "toolhost-go/0.1.0"
	Version   string    `json:"version,omitempty"`   // the author's
	Tools     []string  `json:"tools"`               // ids
	Restarts  int       `json:"restarts"`            // starts after the first
	Error     string    `json:"error,omitempty"`     // why it did not start or last died, or why a replacement was not taken; neither its name nor State are said again
	NextStart time.Time `json:"nextStart,omitzero"`  // when it may start again
	Uncovered []string  `json:"uncovered,omitempty"` // what of its sandbox this machine cannot give
	BadTools  []BadTool `json:"badTools,omitempty"`  // tools that were refused at registration

	SettingsSchema json.RawMessage `json:"settingsSchema,omitempty"` // JSON Schema of its settings, if it declares one

	Manifest string         `json:"manifest,omitempty"`  // hash of what it registered last, in hex
	Known    time.Time      `json:"knownSince,omitzero"` // when this manifest was registered first
	Dynamic  bool           `json:"dynamic,omitempty"`   // its tools come and go while it runs: what is listed was so at Known
	Findings []ToolFindings `json:"findings,omitempty"`  // its tools whose definitions may speak to the model (T16)
	Changes  []Change       `json:"changes,omitempty"`   // in which its tools grew since they were accepted or first seen (T19)
	Clashes  []string       `json:"clashes,omitempty"`   // what of its tools' names clashes with, or looks like, another's (T18)
}

// BadTool is a tool that was refused at registration.
type BadTool struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// status never waits for a start or a stop (L5).
func (p *plugin) status() PluginStatus {
	p.mu.Lock()
	s := PluginStatus{
		Name: p.cfg.Name, Path: p.cfg.Path, State: p.state, Restarts: max(0, p.starts-1), Uncovered: p.uncovers,
		Program: p.program.digest(), Previous: p.previous.digest(), Waiting: p.waiting,
	}
	for _, pr := range p.draining {
		s.Draining = append(s.Draining, pr.os.PID())
	}
	switch {
	case p.refusal != nil:
		s.Error = p.refusal.Error()
	case p.err != nil:
		s.Error = strings.TrimPrefix(bare(p.err).Error(), string(p.state)+": ")
	}
	if p.state == Cooling {
		s.NextStart = p.next
	}
	s.PID = p.pid()
	p.mu.Unlock()
	if m := p.manifest.Load(); m != nil {
		m.addTo(&s, p.host.registry.Load())
	}
	return s
}

// pid is that of the process that takes calls; 0: none does.
func (p *plugin) pid() int {
	if pr := p.current.Load(); pr != nil {
		return pr.os.PID()
	}
	return 0
}

// addTo fills in what a manifest says.
func (m *manifest) addTo(s *PluginStatus, r *registry) {
	s.SDK, s.Version, s.BadTools, s.Manifest = m.sdk, m.version, m.bad, m.digest()
	s.SettingsSchema, s.Known, s.Dynamic = m.settings, m.since, m.dynamic
	for _, e := range m.tools {
		s.Tools = append(s.Tools, e.tool.ID)
		f := r.reviews[e]
		if len(f.Findings) > 0 {
			s.Findings = append(s.Findings, f.ToolFindings)
		}
		s.Changes = append(s.Changes, f.changes...)
	}
	for _, c := range r.clash {
		if c.plugin == s.Name {
			s.Clashes = append(s.Clashes, c.text)
		}
	}
}
