package host

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/internal/schema"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Bounds of a manifest (T9).
const (
	maxManifest    = 4 << 20
	maxTools       = 1000
	maxTitle       = 120
	maxDescription = 8 << 10
	maxIcons       = 32 << 10
)

var toolID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// manifest is what one plugin registered, checked and compiled.
type manifest struct {
	hash    [sha256.Size]byte
	sdk     string
	version string
	tools   []*entry // in the plugin's order
	bad     []BadTool
}

// entry is one tool with all that a call of it needs.
type entry struct {
	tool   Tool // Name is set by the registry
	plugin *plugin

	input, output, reqContext *schema.Schema
	contextKeys               []string // what of the request context the tool sees

	wants map[pb.Callback]bool
	slots chan struct{} // nil: no limit
}

// hashManifest is the hash that welcome carries.
func hashManifest(m *pb.Manifest) [sha256.Size]byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(b)
}

// newManifest checks and compiles what a plugin registered. One bad tool does not take its siblings with it.
func newManifest(p *plugin, m *pb.Manifest) (*manifest, error) {
	if size := proto.Size(m); size > maxManifest {
		return nil, fmt.Errorf("a manifest of %d bytes; the limit is %d", size, maxManifest)
	}
	if m.GetRole() != pb.Role_ROLE_TOOLS {
		return nil, fmt.Errorf("unknown role %v", m.GetRole())
	}
	out := &manifest{hash: hashManifest(m), sdk: m.GetSdk(), version: m.GetVersion()}
	for _, b := range m.GetBadTools() {
		out.bad = append(out.bad, BadTool{ID: b.GetId(), Reason: b.GetError()})
	}
	seen := map[string]bool{}
	for i, t := range m.GetTools() {
		e, err := newEntry(p, t)
		switch {
		case err == nil && i >= maxTools:
			err = fmt.Errorf("tool number %d of a plugin; the limit is %d", i+1, maxTools)
		case err == nil && seen[t.GetId()]:
			err = fmt.Errorf("the id was registered twice")
		}
		if err != nil {
			out.bad = append(out.bad, BadTool{ID: t.GetId(), Reason: err.Error()})
			continue
		}
		seen[t.GetId()] = true
		out.tools = append(out.tools, e)
	}
	return out, nil
}

func newEntry(p *plugin, t *pb.Tool) (*entry, error) {
	if !toolID.MatchString(t.GetId()) {
		return nil, fmt.Errorf("id %q: use 1 to 64 letters, digits, _ and -", t.GetId())
	}
	if err := checkTexts(t); err != nil {
		return nil, err
	}
	if t.GetRequireApproval() || slices.Contains(t.GetCallbacks(), pb.Callback_CALLBACK_NEEDS_APPROVAL) {
		return nil, errors.New("it wants approvals, which this host cannot ask for yet")
	}
	e := &entry{plugin: p, tool: toTool(p.cfg.Name, t), wants: map[pb.Callback]bool{}}
	for _, c := range t.GetCallbacks() {
		e.wants[c] = true
	}
	if n := t.GetMaxConcurrency(); n > 0 {
		e.slots = make(chan struct{}, n)
	}
	for _, s := range []struct {
		name string
		text []byte
		to   **schema.Schema
	}{
		{"inputSchema", t.GetInputSchema(), &e.input},
		{"outputSchema", t.GetOutputSchema(), &e.output},
		{"suspendSchema", t.GetSuspendSchema(), nil},
		{"resumeSchema", t.GetResumeSchema(), nil},
		{"requestContextSchema", t.GetRequestContextSchema(), &e.reqContext},
	} {
		compiled, err := schema.Compile(s.text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if s.to != nil {
			*s.to = compiled
		}
	}
	if e.reqContext != nil {
		e.contextKeys = propertyNames(t.GetRequestContextSchema())
	}
	return e, nil
}

// checkTexts refuses names and texts that are too long or not printable.
func checkTexts(t *pb.Tool) error {
	if n := len(t.GetTitle()); n > maxTitle {
		return fmt.Errorf("a title of %d bytes; the limit is %d", n, maxTitle)
	}
	if n := len(t.GetDescription()); n > maxDescription {
		return fmt.Errorf("a description of %d bytes; the limit is %d", n, maxDescription)
	}
	if n := len(t.GetIcons()); n > maxIcons {
		return fmt.Errorf("icons of %d bytes; the limit is %d", n, maxIcons)
	}
	if strings.TrimSpace(t.GetDescription()) == "" {
		return fmt.Errorf("no description")
	}
	for _, s := range []string{t.GetTitle(), t.GetDescription()} {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, hidden) {
			return fmt.Errorf("control or invisible characters in the title or description")
		}
	}
	return nil
}

// hidden reports characters that no title or description needs and that hide or reorder text.
func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

var callbackNames = map[pb.Callback]string{
	pb.Callback_CALLBACK_INPUT_START:     "onInputStart",
	pb.Callback_CALLBACK_INPUT_DELTA:     "onInputDelta",
	pb.Callback_CALLBACK_INPUT_AVAILABLE: "onInputAvailable",
	pb.Callback_CALLBACK_RESUME:          "onResume",
	pb.Callback_CALLBACK_OUTPUT:          "onOutput",
	pb.Callback_CALLBACK_NEEDS_APPROVAL:  "needsApproval",
	pb.Callback_CALLBACK_MODEL_OUTPUT:    "toModelOutput",
}

// openObject is the input schema of a tool that gave none.
var openObject = json.RawMessage(`{"type":"object"}`)

func toTool(plugin string, t *pb.Tool) Tool {
	out := Tool{
		Name: t.GetId(), Plugin: plugin, ID: t.GetId(), Title: t.GetTitle(), Description: t.GetDescription(),
		InputSchema: rawOr(t.GetInputSchema(), openObject), OutputSchema: t.GetOutputSchema(),
		SuspendSchema: t.GetSuspendSchema(), ResumeSchema: t.GetResumeSchema(), RequestContextSchema: t.GetRequestContextSchema(),
		Annotations: toAnnotations(t.GetAnnotations()),
		Meta:        t.GetMeta(), Icons: t.GetIcons(), Strict: t.Strict,
		Provider: t.GetProviderOptions(), Background: t.GetBackground(),
		Timeout:        time.Duration(t.GetTimeoutMs()) * time.Millisecond,
		MaxConcurrency: int(t.GetMaxConcurrency()), OutputMode: toOutputMode(t.GetOutputMode()),
		RequireApproval: t.GetRequireApproval(), Idempotent: t.GetIdempotent(),
	}
	for _, x := range t.GetInputExamples() {
		out.Examples = append(out.Examples, x)
	}
	for _, c := range t.GetCallbacks() {
		if name := callbackNames[c]; name != "" && !slices.Contains(out.Callbacks, name) {
			out.Callbacks = append(out.Callbacks, name)
		}
	}
	return out
}

func toAnnotations(a *pb.Annotations) Annotations {
	if a == nil {
		return Annotations{}
	}
	return Annotations{a.GetTitle(), a.ReadOnlyHint, a.DestructiveHint, a.IdempotentHint, a.OpenWorldHint}
}

func toOutputMode(m pb.OutputMode) OutputMode {
	switch m {
	case pb.OutputMode_OUTPUT_MODE_WARN:
		return OutputWarn
	case pb.OutputMode_OUTPUT_MODE_OFF:
		return OutputOff
	}
	return OutputReject
}

// propertyNames are the top-level property names of an object schema.
func propertyNames(text []byte) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(text, &s) != nil {
		return nil
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
