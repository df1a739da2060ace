package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host/internal/scan"
	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/host/internal/view"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

var toolID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// entry is one tool with all that a call of it needs.
type entry struct {
	tool     Tool // Name is set by the registry
	plugin   *plugin
	manifest *manifest // that it is from

	compiled func() error // makes what follows, once; before it nothing of it is there

	input, output, suspend, resume, reqContext *schema.Schema

	read          schema.ReadOptions
	contextKeys   []string // what of the request context the tool sees
	wantsMessages bool
	wants         map[pb.Callback]bool
	views         map[View]toolViews // what is configured; nil: nothing
	inputViews    []pb.Audience      // that a function in the plugin makes of the input
	outputViews   []pb.Audience      // that a function in the plugin makes of anything
	slots         chan struct{}      // nil: no limit
	hash          string             // of the definition
	scanned       scan.Report        // of the definition
}

// derives reports whether the plugin makes forms of an output.
func (e *entry) derives() bool {
	return e.wants[pb.Callback_CALLBACK_MODEL_OUTPUT] || len(e.outputViews) > 0
}

// deltaViews reports whether the plugin makes the views of deltas.
func (e *entry) deltaViews() bool {
	for _, v := range e.views {
		if d := v[PhaseInputDelta]; d != nil && d.rules == nil {
			return true
		}
	}
	return false
}

// schemaOf is the schema of what a phase shows.
func (e *entry) schemaOf(p Phase) *schema.Schema {
	switch p {
	case PhaseInput, PhaseApproval:
		return e.input
	case PhaseOutput:
		return e.output
	case PhaseSuspend:
		return e.suspend
	case PhaseResume:
		return e.resume
	}
	return nil
}

// audiences are those for whom the plugin makes forms.
func audiences(e *entry) []pb.Audience { return e.outputViews }

// newEntry checks and compiles one tool. One that was found clean before is compiled at its first call.
func newEntry(p *plugin, t *pb.Tool, clean bool) (*entry, error) {
	e := &entry{plugin: p, tool: toTool(p.cfg.Name, t), wants: map[pb.Callback]bool{}, wantsMessages: t.GetWantsMessages(), hash: hashTool(t)}
	for _, c := range t.GetCallbacks() {
		e.wants[c] = true
	}
	if n := t.GetMaxConcurrency(); n > 0 {
		e.slots = make(chan struct{}, n)
	}
	e.read = schema.ReadOptions{Off: t.GetNoRepairs(), Alias: strings.HasPrefix(t.GetId(), "agent-"), Strict: t.GetStrict()}
	e.compiled = sync.OnceValue(func() error { return e.compile(t) })
	if clean {
		return e, nil
	}
	if !toolID.MatchString(t.GetId()) {
		return nil, fmt.Errorf("id %q: use 1 to 64 letters, digits, _ and -", t.GetId())
	}
	if err := checkTexts(t); err != nil {
		return nil, err
	}
	if err := checkJSON(t); err != nil {
		return nil, err
	}
	if err := e.compiled(); err != nil {
		return nil, err
	}
	if err := e.checkExamples(t.GetInputExamples()); err != nil {
		return nil, err
	}
	var err error
	e.scanned, err = scanTool(t)
	return e, err
}

// compile makes the schemas and views, once, before the first call.
func (e *entry) compile(t *pb.Tool) error {
	for _, s := range []struct {
		name string
		text []byte
		to   **schema.Schema
	}{
		{"inputSchema", t.GetInputSchema(), &e.input},
		{"outputSchema", t.GetOutputSchema(), &e.output},
		{"suspendSchema", t.GetSuspendSchema(), &e.suspend},
		{"resumeSchema", t.GetResumeSchema(), &e.resume},
		{"requestContextSchema", t.GetRequestContextSchema(), &e.reqContext},
	} {
		compiled, err := schema.Compile(s.text)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		*s.to = compiled
	}
	if e.reqContext != nil {
		e.contextKeys = propertyNames(t.GetRequestContextSchema())
	}
	return e.addViews(t.GetViews())
}

// hashTool is the hash of a definition, which an approval binds (T24).
func hashTool(t *pb.Tool) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(t)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// addViews compiles the tool's views.
func (e *entry) addViews(views []*pb.View) error {
	for _, v := range views {
		to, phase := audienceViews[v.GetAudience()], phases[v.GetPhase()]
		if v.GetAudience() == pb.Audience_AUDIENCE_UNSPECIFIED || phase == "" {
			return fmt.Errorf("views: unknown audience %v or phase %v", v.GetAudience(), v.GetPhase())
		}
		if e.views == nil {
			e.views = map[View]toolViews{}
		}
		if e.views[to] == nil {
			e.views[to] = toolViews{}
		}
		made := &toolView{}
		if v.GetFunction() {
			e.needView(v)
		} else {
			var err error
			if made.rules, err = view.Compile(viewRules(v.GetRules())); err != nil {
				return fmt.Errorf("views: %s of %s: %w", phase, v.GetAudience(), err)
			}
		}
		e.views[to][phase] = made
	}
	return nil
}

// needView notes that the plugin must be asked for a view.
func (e *entry) needView(v *pb.View) {
	add := func(to *[]pb.Audience) {
		if !slices.Contains(*to, v.GetAudience()) {
			*to = append(*to, v.GetAudience())
		}
	}
	add(&e.outputViews)
	switch v.GetPhase() {
	case pb.Phase_PHASE_INPUT, pb.Phase_PHASE_APPROVAL, pb.Phase_PHASE_RESUME:
		add(&e.inputViews)
	}
}

// viewNames says which views a tool has, and whether rules or a function of the plugin make them.
func viewNames(views []*pb.View) []string {
	var names []string
	for _, v := range views {
		audience, by := "display", "rules"
		if audienceViews[v.GetAudience()] == Transcript {
			audience = "transcript"
		}
		if v.GetFunction() {
			by = "function"
		}
		names = append(names, fmt.Sprintf("%s %s: %s", audience, phases[v.GetPhase()], by))
	}
	return names
}

func viewRules(rules []*pb.ViewRule) []view.Rule {
	out := make([]view.Rule, len(rules))
	for i, r := range rules {
		out[i] = view.Rule{Action: viewActions[r.GetAction()], Paths: r.GetPaths(), Value: r.GetValue()}
	}
	return out
}

var viewActions = map[pb.ViewAction]view.Action{
	pb.ViewAction_VIEW_ACTION_KEEP: view.Keep, pb.ViewAction_VIEW_ACTION_MASK: view.Mask, pb.ViewAction_VIEW_ACTION_REPLACE: view.Replace,
}

// checkExamples holds the examples against the input schema.
func (e *entry) checkExamples(examples [][]byte) error {
	for i, x := range examples {
		doc, err := schema.Parse(x, schema.Limits{})
		if err == nil {
			err = e.input.Validate(doc)
		}
		if err != nil {
			return fmt.Errorf("inputExamples: at /%d: %w", i, schemaError(err))
		}
	}
	return nil
}

// checkTexts refuses names and texts that are too long or not printable.
func checkTexts(t *pb.Tool) error {
	for _, title := range []string{t.GetTitle(), t.GetAnnotations().GetTitle()} {
		if n := len(title); n > maxTitle {
			return fmt.Errorf("a title of %d bytes; the limit is %d", n, maxTitle)
		}
	}
	if n := len(t.GetDescription()); n > maxDescription {
		return fmt.Errorf("a description of %d bytes; the limit is %d", n, maxDescription)
	}
	if n := len(t.GetIcons()); n > maxIcons {
		return fmt.Errorf("icons of %d bytes; the limit is %d", n, maxIcons)
	}
	if n := len(t.GetExtra()); n > maxExtra {
		return fmt.Errorf("further members of %d bytes; the limit is %d", n, maxExtra)
	}
	if strings.TrimSpace(t.GetDescription()) == "" {
		return fmt.Errorf("no description")
	}
	for _, title := range []string{t.GetTitle(), t.GetAnnotations().GetTitle()} {
		if strings.ContainsAny(title, "\n\t") {
			return fmt.Errorf("control characters in a title: it is one line")
		}
	}
	for _, s := range []string{t.GetTitle(), t.GetAnnotations().GetTitle(), t.GetDescription()} {
		if !utf8.ValidString(s) || strings.ContainsFunc(s, hidden) {
			return fmt.Errorf("control characters in the title or description")
		}
	}
	return nil
}

// checkJSON refuses members that are not the JSON that they should be.
func checkJSON(t *pb.Tool) error {
	for _, m := range []struct {
		name, kind string
		text       []byte
	}{
		{"_meta", "{", t.GetMeta()}, {"icons", "[", t.GetIcons()},
		{"providerOptions", "{", t.GetProviderOptions()}, {"background", "{", t.GetBackground()},
		{"extra", "{", t.GetExtra()},
	} {
		if len(m.text) == 0 {
			continue
		}
		if _, err := schema.Parse(m.text, schema.Limits{}); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if !strings.HasPrefix(strings.TrimLeft(string(m.text), " \t\r\n"), m.kind) {
			return fmt.Errorf("%s: expected JSON that begins with %s", m.name, m.kind)
		}
	}
	return checkExtra(t.GetExtra())
}

// ownMembers are those that the host has a field for. Further ones may not stand in for them.
var ownMembers = []string{"name", "title", "description", "inputSchema", "outputSchema", "_meta", "icons"}

func checkExtra(extra []byte) error {
	var members map[string]json.RawMessage
	if len(extra) == 0 {
		return nil
	}
	if err := json.Unmarshal(extra, &members); err != nil {
		return fmt.Errorf("extra: %w", err)
	}
	for _, name := range ownMembers {
		if _, has := members[name]; has {
			return fmt.Errorf("extra: %s has a field of its own", name)
		}
	}
	return nil
}

// hidden reports control characters, separators of lines and characters that mean nothing outside of a private agreement: no
// title or description needs them. What else cannot be seen, scanTool finds.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Co, unicode.Zl, unicode.Zp)
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
		Meta:        t.GetMeta(), Icons: t.GetIcons(), Extra: t.GetExtra(), Strict: t.Strict,
		Provider: t.GetProviderOptions(), Background: t.GetBackground(),
		Timeout:        time.Duration(t.GetTimeoutMs()) * time.Millisecond,
		MaxConcurrency: int(t.GetMaxConcurrency()), OutputMode: toOutputMode(t.GetOutputMode()),
		RequireApproval: t.GetRequireApproval(), Idempotent: t.GetIdempotent(), Views: viewNames(t.GetViews()),
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
