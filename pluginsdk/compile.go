package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/jsonpointer"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// tool is a compiled definition: what the host is told, and the author's
// functions without their types. Inputs travel as *In, outputs as *Out.
type tool struct {
	def     *pb.Tool
	running atomic.Int32 // calls in Execute; at most def.MaxConcurrency
	pace    pace

	decodeInput  func(raw []byte) (any, error)
	decodeOutput func(raw []byte) (any, error)
	encodeOutput func(out any) ([]byte, error) // nil: nothing was returned
	execute      func(ctx context.Context, call *Call, in any) (any, error)

	// nil where the author gave none
	inputStart     func(ctx context.Context, call *Call) error
	inputDelta     func(ctx context.Context, call *Call, delta string) error
	inputAvailable func(ctx context.Context, call *Call, in any) error
	needsApproval  func(ctx context.Context, call *Call, in any) (bool, error)
	resume         func(ctx context.Context, call *Call, data json.RawMessage) error
	output         func(ctx context.Context, call *Call, out any) error
	modelOutput    func(ctx context.Context, in, out any) (ModelOutput, error)
	views          map[viewKey]viewer // the function views
}

// acquire takes one of the tool's places for a running call.
func (t *tool) acquire() bool {
	n := t.running.Add(1)
	if limit := t.def.GetMaxConcurrency(); limit > 0 && n > int32(limit) {
		t.running.Add(-1)
		return false
	}
	return true
}

func (t *tool) release() { t.running.Add(-1) }

func (t Tool[In, Out]) compile() (*tool, error) {
	def, err := t.describe()
	if err != nil {
		return &tool{def: &pb.Tool{Id: t.ID}}, err
	}
	c := &tool{
		def:          def,
		decodeInput:  func(raw []byte) (any, error) { in := new(In); return in, decode(raw, in) },
		decodeOutput: func(raw []byte) (any, error) { out := new(Out); return out, decode(raw, out) },
		encodeOutput: func(out any) ([]byte, error) { return encodeOutput(any(*out.(*Out))) },
		execute: func(ctx context.Context, call *Call, in any) (any, error) {
			out, err := t.Execute(ctx, call, *in.(*In))
			return &out, err
		},
		inputStart: t.OnInputStart,
		inputDelta: t.OnInputDelta,
		resume:     t.OnResume,
	}
	if f := t.OnInputAvailable; f != nil {
		c.inputAvailable = func(ctx context.Context, call *Call, in any) error { return f(ctx, call, *in.(*In)) }
	}
	if f := t.NeedsApproval; f != nil {
		c.needsApproval = func(ctx context.Context, call *Call, in any) (bool, error) { return f(ctx, call, *in.(*In)) }
	}
	if f := t.OnOutput; f != nil {
		c.output = func(ctx context.Context, call *Call, out any) error { return f(ctx, call, *out.(*Out)) }
	}
	if f := t.ToModelOutput; f != nil {
		c.modelOutput = func(ctx context.Context, in, out any) (ModelOutput, error) {
			return f(ctx, *in.(*In), *out.(*Out))
		}
	}
	c.views = map[viewKey]viewer{}
	for _, w := range t.Transform.list() {
		if w.f != nil {
			c.views[w.key] = w
		}
	}
	return c, nil
}

// describe checks the definition and puts it into the manifest's form.
func (t Tool[In, Out]) describe() (*pb.Tool, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	def := &pb.Tool{
		Id: t.ID, Title: cut(t.Title, maxText), Description: cut(t.Description, maxText),
		SuspendSchema: t.SuspendSchema, ResumeSchema: t.ResumeSchema, RequestContextSchema: t.RequestContextSchema,
		Strict: t.Strict, ProviderOptions: t.ProviderOptions,
		Annotations: t.MCP.Annotations.encode(), Meta: t.MCP.Meta, Icons: t.MCP.Icons, Extra: t.MCP.Extra,
		Background: t.Background, TimeoutMs: uint64((t.Timeout + time.Millisecond - 1) / time.Millisecond),
		MaxConcurrency: uint32(t.MaxConcurrency), OutputMode: pb.OutputMode(t.OutputMode + 1),
		RequireApproval: t.RequireApproval, Callbacks: t.callbacks(), WantsMessages: t.WantsMessages,
		Idempotent: t.Idempotent, NoRepairs: t.NoRepairs,
	}
	var err error
	if def.InputSchema, err = schemaOf[In](t.InputSchema, reads); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if def.OutputSchema, err = schemaOf[Out](t.OutputSchema, writes); err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	for _, w := range t.Transform.list() {
		view, err := w.encode()
		if err != nil {
			return nil, err
		}
		def.Views = append(def.Views, view)
	}
	for i, example := range t.InputExamples {
		raw, err := encode(example)
		if err != nil {
			return nil, fmt.Errorf("input example %d: %w", i, err)
		}
		def.InputExamples = append(def.InputExamples, raw)
	}
	return def, nil
}

const maxText = 256 << 10 // bytes of a title or description

// isIDRune reports whether r may stand in a tool's id.
func isIDRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func (t Tool[In, Out]) check() error {
	switch {
	case t.ID == "" || len(t.ID) > 64 || strings.ContainsFunc(t.ID, func(r rune) bool { return !isIDRune(r) }):
		return errors.New("field ID: must be 1 to 64 letters, digits, _ and -")
	case t.Description == "":
		return errors.New("field Description: missing")
	case t.Execute == nil:
		return errors.New("field Execute: missing")
	case t.Timeout < 0:
		return fmt.Errorf("field Timeout: %s is negative", t.Timeout)
	case t.MaxConcurrency < 0 || t.MaxConcurrency > 1<<20:
		return fmt.Errorf("field MaxConcurrency: %d is not within 0 and %d", t.MaxConcurrency, 1<<20)
	case t.OutputMode < OutputReject || t.OutputMode > OutputOff:
		return fmt.Errorf("field OutputMode: unknown mode %d", t.OutputMode)
	}
	for _, s := range []struct {
		name string
		raw  json.RawMessage
	}{{"SuspendSchema", t.SuspendSchema}, {"ResumeSchema", t.ResumeSchema}, {"RequestContextSchema", t.RequestContextSchema}} {
		if s.raw == nil {
			continue
		}
		if err := checkSchema(s.raw); err != nil {
			return fmt.Errorf("field %s: %w", s.name, err)
		}
	}
	for _, o := range []struct {
		name string
		raw  json.RawMessage
	}{{"ProviderOptions", t.ProviderOptions}, {"MCP.Meta", t.MCP.Meta}, {"MCP.Extra", t.MCP.Extra}, {"Background", t.Background}} {
		if o.raw != nil && !isObject(o.raw) {
			return fmt.Errorf("field %s: no JSON object", o.name)
		}
	}
	if name := ownMember(t.MCP.Extra); name != "" {
		return fmt.Errorf("field MCP.Extra: %s has a field of its own", name)
	}
	if err := checkOptions(t.ProviderOptions); err != nil {
		return fmt.Errorf("field ProviderOptions: %w", err)
	}
	for _, kind := range t.NoRepairs {
		if !slices.Contains(repairs, kind) {
			return fmt.Errorf("field NoRepairs: no kind of repair is called %q", kind)
		}
	}
	if icons := t.MCP.Icons; icons != nil && json.Unmarshal(icons, new([]json.RawMessage)) != nil {
		return errors.New("field MCP.Icons: no JSON array")
	}
	return nil
}

// ownMember returns a member of a tool's further ones that the definition has a field for; "" if there is none.
func ownMember(extra json.RawMessage) string {
	var members map[string]json.RawMessage
	if extra == nil || json.Unmarshal(extra, &members) != nil {
		return ""
	}
	for _, name := range []string{"name", "title", "description", "inputSchema", "outputSchema", "_meta", "icons"} {
		if _, has := members[name]; has {
			return name
		}
	}
	return ""
}

// repairs are the kinds of input repair that a host knows.
var repairs = []string{"text", "whole-argument", "stringified", "null", "number", "boolean", "alias"}

// checkOptions checks that every provider's options are an object.
func checkOptions(raw json.RawMessage) error {
	var providers map[string]json.RawMessage
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &providers); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if !isObject(providers[name]) {
			return fmt.Errorf("at /%s: no JSON object", jsonpointer.Escape(name))
		}
	}
	return nil
}

func (t Tool[In, Out]) callbacks() []pb.Callback {
	var list []pb.Callback
	add := func(set bool, c pb.Callback) {
		if set {
			list = append(list, c)
		}
	}
	add(t.OnInputStart != nil, pb.Callback_CALLBACK_INPUT_START)
	add(t.OnInputDelta != nil, pb.Callback_CALLBACK_INPUT_DELTA)
	add(t.OnInputAvailable != nil, pb.Callback_CALLBACK_INPUT_AVAILABLE)
	add(t.OnResume != nil, pb.Callback_CALLBACK_RESUME)
	add(t.OnOutput != nil, pb.Callback_CALLBACK_OUTPUT)
	add(t.NeedsApproval != nil, pb.Callback_CALLBACK_NEEDS_APPROVAL)
	add(t.ToModelOutput != nil, pb.Callback_CALLBACK_MODEL_OUTPUT)
	return list
}

func (a *Annotations) encode() *pb.Annotations {
	if a == nil {
		return nil
	}
	return &pb.Annotations{
		Title: cut(a.Title, maxText), ReadOnlyHint: a.ReadOnly, DestructiveHint: a.Destructive,
		IdempotentHint: a.Idempotent, OpenWorldHint: a.OpenWorld,
	}
}

// schemaOf returns the given schema, or the one of T.
func schemaOf[T any](given json.RawMessage, dir direction) ([]byte, error) {
	t := reflect.TypeFor[T]()
	if given != nil {
		return given, checkSchema(given)
	}
	switch {
	case t.Kind() == reflect.Interface, t == reflect.TypeFor[json.RawMessage]():
		return nil, nil
	case dir == writes && t == reflect.TypeFor[struct{}]():
		return nil, nil
	}
	return infer(t, dir)
}

// encodeOutput encodes what Execute returned; nil for nothing. A nil slice is [] and a nil
// map {}, because a tool that found nothing did return something.
func encodeOutput(out any) ([]byte, error) {
	switch v := out.(type) {
	case nil, struct{}:
		return nil, nil
	case json.RawMessage:
		if len(v) == 0 {
			return nil, nil
		}
		return v, checkJSON(v)
	}
	if v := reflect.ValueOf(out); nilIsNull(v.Type()) && v.IsNil() {
		switch {
		case v.Kind() == reflect.Pointer:
			return nil, nil
		case v.Kind() == reflect.Map:
			return []byte("{}"), nil
		case v.Type().Elem().Kind() == reflect.Uint8:
			return []byte(`""`), nil
		}
		return []byte("[]"), nil
	}
	return encode(out)
}
