package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/internal/scan"
	"github.com/toolhost/toolhost/host/internal/state"
)

// Change is one way in which a tool became more than a person has accepted, or than was seen first (T19): another text for
// the model, a weaker hint, a further permission. Removals, and what only narrows a tool, are none.
type Change struct {
	Tool string `json:"tool"` // id
	What string `json:"what"` // such as "new tool", "description", "readOnlyHint", "wantsMessages"
	Old  string `json:"old"`  // short, and what cannot be seen is escaped
	New  string `json:"new"`
	Held bool   `json:"held"` // DefinitionsReview: the tool does not exist until the plugin's manifest is accepted
}

// String is the change in words.
func (c Change) String() string {
	switch {
	case c.Old == "" && c.New == "":
		return c.What
	case c.Old == "":
		return c.What + ": " + c.New
	}
	return c.What + ": " + c.Old + " -> " + c.New
}

// maxChanges is how many changes of one tool are kept.
const maxChanges = 20

// baseline is what is kept of a manifest to compare later ones with.
type baseline struct {
	Manifest string              `json:"manifest"` // its hash
	Tools    map[string]baseTool `json:"tools"`
}

// baseTool is what of a definition counts.
type baseTool struct {
	Texts    map[string]string `json:"texts"`   // for models and people, by member
	Schemas  map[string]string `json:"schemas"` // and other JSON, without blanks
	Hints    [4]bool           `json:"hints"`   // in the order of hintNames; what is not said is taken for the worse
	Messages bool              `json:"messages,omitempty"`
	Context  []string          `json:"context,omitempty"` // keys of the request context
	Approval bool              `json:"approval,omitempty"`
	Asks     bool              `json:"asks,omitempty"` // it has a function that may ask
	Output   string            `json:"output"`         // what becomes of outputs that break the schema
}

// hintNames are the hints, and which value is the milder one: what a rule may allow more for.
var hintNames = [4]struct {
	name string
	mild bool
}{{"readOnlyHint", true}, {"destructiveHint", false}, {"idempotentHint", true}, {"openWorldHint", false}}

func newBaseTool(e *entry) baseTool {
	t := e.tool
	b := baseTool{
		Texts:    map[string]string{"title": t.Title, "description": t.Description, "annotations.title": t.Annotations.Title},
		Schemas:  map[string]string{},
		Messages: e.wantsMessages, Context: propertyNames(t.RequestContextSchema), Approval: t.RequireApproval, Asks: slices.Contains(t.Callbacks, "needsApproval"), Output: t.OutputMode.String(),
	}
	for i, hint := range []*bool{t.Annotations.ReadOnly, t.Annotations.Destructive, t.Annotations.Idempotent, t.Annotations.OpenWorld} {
		b.Hints[i] = !hintNames[i].mild
		if hint != nil {
			b.Hints[i] = *hint
		}
	}
	for name, text := range map[string]json.RawMessage{
		"inputSchema": t.InputSchema, "outputSchema": t.OutputSchema, "suspendSchema": t.SuspendSchema, "resumeSchema": t.ResumeSchema,
		"_meta": t.Meta, "providerOptions": t.Provider, "background": t.Background, "icons": t.Icons, "extra": t.Extra,
	} {
		b.Schemas[name] = compactJSON(text)
	}
	for i, x := range t.Examples {
		b.Schemas[fmt.Sprintf("inputExamples/%d", i)] = compactJSON(x)
	}
	return b
}

// grown compares a manifest with the plugin's baseline, and makes it the baseline if there is none: what is seen first counts at
// once, not when its record is written. What cannot be known is a change of every tool.
func (p *plugin) grown(m *manifest) map[string][]Change {
	mode := p.definitions()
	if mode == DefinitionsOff || mode == DefinitionsWarn && p.cfg.Dial != nil { // who dials vouches for it
		return nil
	}
	kept, known, err := p.host.state.Baseline(p.cfg.Name)
	var b baseline
	if err == nil && known {
		err = json.Unmarshal(kept.Manifest, &b)
	}
	first := false
	if seen := newBaseline(m); err == nil && !known {
		if first = p.first.CompareAndSwap(nil, &seen); !first {
			b = *p.first.Load()
		}
	}
	changes := map[string][]Change{}
	switch {
	case err != nil:
		for _, e := range m.tools {
			changes[e.tool.ID] = []Change{{Tool: e.tool.ID, What: "what it was cannot be read: " + err.Error()}}
		}
	case first:
		p.host.spawn(func() { // ends when the record is written
			if err := p.setBaseline(m, false); err != nil {
				p.log.Warn("what the plugin's tools are now is not kept to compare with", "error", err)
			}
		})
	case b.Manifest != m.digest():
		for _, e := range m.tools {
			if found := b.changes(e, p.cfg.Trusted); len(found) > 0 {
				changes[e.tool.ID] = found
			}
		}
	}
	return changes
}

// setBaseline makes a manifest what later ones are compared with, also in the place of another.
func (p *plugin) setBaseline(m *manifest, replace bool) error {
	p.baseM.Lock()
	defer p.baseM.Unlock()
	if _, known, err := p.host.state.Baseline(p.cfg.Name); !replace && (known || err != nil) {
		return err
	}
	text, err := newBaseline(m).encode(state.MaxManifest)
	if err != nil {
		return err
	}
	return p.host.state.SetBaseline(state.Baseline{Plugin: p.cfg.Name, Manifest: text})
}

func newBaseline(m *manifest) baseline {
	b := baseline{Manifest: m.digest(), Tools: map[string]baseTool{}}
	for _, e := range m.tools {
		b.Tools[e.tool.ID] = newBaseTool(e)
	}
	return b
}

// encode returns the record, of at most limit bytes: of one that is larger the schemas are kept as hashes.
func (b baseline) encode(limit int) ([]byte, error) {
	text, err := json.Marshal(b)
	if err != nil || len(text) <= limit {
		return text, err
	}
	short := baseline{Manifest: b.Manifest, Tools: map[string]baseTool{}}
	for id, t := range b.Tools {
		hashed := map[string]string{}
		for name, text := range t.Schemas {
			hashed[name] = hashed64(text)
		}
		t.Schemas = hashed
		short.Tools[id] = t
	}
	return json.Marshal(short)
}

// changes are those of one tool; none: it is no more than it was. hints: what the plugin says of its tools counts in rules,
// so that a milder hint is growth as well.
func (b baseline) changes(e *entry, hints bool) []Change {
	now := newBaseTool(e)
	old, known := b.Tools[e.tool.ID]
	var all []Change
	add := func(what, old, new string) {
		if len(all) < maxChanges {
			all = append(all, Change{Tool: e.tool.ID, What: what, Old: old, New: new})
		}
	}
	if !known {
		add("new tool", "", quoteText(e.tool.Description))
		return all
	}
	for _, name := range []string{"title", "description", "annotations.title"} {
		if old.Texts[name] != now.Texts[name] {
			was, is := differ(old.Texts[name], now.Texts[name])
			add(name, was, is)
		}
	}
	for _, name := range sortedKeys(old.Schemas, now.Schemas) {
		was, is := old.Schemas[name], now.Schemas[name]
		if was == is || was == hashed64(is) || is == "" && strings.HasPrefix(name, "inputExamples/") {
			continue
		}
		w, i := differ(was, is)
		add(name, w, i)
	}
	for i, hint := range hintNames {
		if old.Hints[i] != now.Hints[i] && (hints || now.Hints[i] != hint.mild) {
			add(hint.name, fmt.Sprint(old.Hints[i]), fmt.Sprint(now.Hints[i]))
		}
	}
	old.permissions(now, add)
	return all
}

// permissions adds what a tool may do further, or is asked about less.
func (b baseTool) permissions(now baseTool, add func(what, old, new string)) {
	if now.Messages && !b.Messages {
		add("wantsMessages", "false", "true")
	}
	var more []string
	for _, key := range now.Context {
		if !slices.Contains(b.Context, key) {
			more = append(more, key)
		}
	}
	if len(more) > 0 {
		add("request context", quoteText(strings.Join(b.Context, " ")), quoteText(strings.Join(now.Context, " ")))
	}
	if b.Approval && !now.Approval {
		add("requireApproval", "true", "false")
	}
	if b.Asks && !now.Asks && !now.Approval {
		add("needsApproval", "true", "false")
	}
	if strict := OutputReject.String(); b.Output == strict && now.Output != strict {
		add("outputMode", b.Output, now.Output)
	}
}

// differ returns what two texts have that differs, from a little before the first difference on, short and visible.
func differ(old, new string) (was, is string) {
	at := 0
	for at < len(old) && at < len(new) && old[at] == new[at] {
		at++
	}
	at = max(0, at-lead)
	return quoteFrom(old, at), quoteFrom(new, at)
}

// lead is how many bytes before a difference are shown.
const lead = 20

func quoteFrom(s string, at int) string {
	for at > 0 && at < len(s) && s[at]&0xc0 == 0x80 { // within a character
		at--
	}
	if at > 0 {
		return quoteText("…" + s[min(at, len(s)):])
	}
	return quoteText(s)
}

// quoteText is s in quotes, short; what cannot be seen is escaped.
func quoteText(s string) string { return `"` + scan.Visible(s) + `"` }

func compactJSON(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

// hashed64 stands for a text of which only the hash is kept.
func hashed64(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func sortedKeys(maps ...map[string]string) []string {
	var keys []string
	for _, m := range maps {
		for k := range m {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
