package pluginsdk

import (
	"context"
	"encoding/json"
	"time"
)

// Definition is a tool that can be served: a [Tool] value. No other type can be one.
type Definition interface {
	compile() (*tool, error)
}

// Tool defines one tool around the function that does the work. The first three
// fields are required; the zero value of every other one means "nothing said".
//
// In is what the model writes: a struct, a map with string keys, any (numbers
// become [json.Number]) or [json.RawMessage] (the validated bytes as they are). Out is anything that encoding/json
// can encode; struct{} or a nil value is a tool that returns nothing, and
// [json.RawMessage] goes to the host byte for byte.
//
// The functions are called by one goroutine a call, in this order: OnInputStart,
// OnInputDelta, NeedsApproval, OnInputAvailable or OnResume, Execute,
// ToModelOutput, OnOutput. Those of Transform come where what they show comes
// about. Calls run concurrently. An error or a panic of a function
// whose name begins with On is logged and changes nothing (H-3).
type Tool[In, Out any] struct {
	// ID names the tool: 1 to 64 letters, digits, "_" and "-", unique in the plugin.
	ID string
	// Description is what the model reads.
	Description string
	// Execute does the work. ctx ends when the call is cancelled, its time is over or the
	// plugin stops. Its error is the call's failure: the text is for the model,
	// [Error] adds data, and what [Call.Suspend] returned suspends the call.
	Execute func(ctx context.Context, call *Call, in In) (Out, error)

	// Title is for people.
	Title string
	// InputSchema is the JSON Schema of In. If nil, it is inferred; any and
	// json.RawMessage have none, which means any object.
	InputSchema json.RawMessage
	// OutputSchema is the JSON Schema of Out. If nil, it is inferred; any,
	// json.RawMessage and struct{} have none, and the output is not checked.
	OutputSchema json.RawMessage
	// SuspendSchema is the schema of what Suspend takes. If nil, it is not checked.
	SuspendSchema json.RawMessage
	// ResumeSchema is the schema of what Resume yields. If nil, it is not checked.
	ResumeSchema json.RawMessage
	// RequestContextSchema says what of the request context the tool asks for: the
	// top-level properties. If nil, it gets none of it.
	RequestContextSchema json.RawMessage
	// Strict says whether providers should hold the model to the schema. If nil, the host decides.
	Strict *bool
	// ProviderOptions is a JSON object: provider name to an object of that provider's options.
	ProviderOptions json.RawMessage
	// InputExamples are shown to models that take examples.
	InputExamples []In
	// MCP is what MCP clients see beside the rest.
	MCP MCP
	// Background is a JSON object: settings for running the tool in the background.
	Background json.RawMessage
	// Timeout is the longest that one call may take. If zero, the host's limit.
	Timeout time.Duration
	// MaxConcurrency is how many calls may execute at once in one process; the
	// host lets more of them wait. If zero, there is no limit.
	MaxConcurrency int
	// OutputMode says what the host does with an output that breaks OutputSchema.
	OutputMode OutputMode
	// Idempotent says that a call may be repeated after an unknown outcome.
	Idempotent bool
	// WantsMessages asks for the conversation's messages; see [Call.Messages].
	WantsMessages bool
	// NoRepairs lists the kinds of input repair that the tool does not want: text, whole-argument,
	// stringified, null, number, boolean, alias.
	NoRepairs []string
	// RequireApproval makes every call wait for a person's approval.
	RequireApproval bool
	// NeedsApproval decides that from the input. An error means yes.
	NeedsApproval func(ctx context.Context, call *Call, in In) (bool, error)

	// ToModelOutput makes what the model is shown in place of the output. It must
	// be pure: it may run again on an output that a hook rewrote. If it fails, the model is
	// shown the output itself. The zero ModelOutput means the same.
	ToModelOutput func(ctx context.Context, in In, out Out) (ModelOutput, error)
	// Transform says what people see of a call.
	Transform Transform[In, Out]
	// OnInputStart is called when the model begins to write the input.
	OnInputStart func(ctx context.Context, call *Call) error
	// OnInputDelta is called with the pieces of the input's text, in order and one after the other. Pieces that
	// came while it ran may be joined; the model's side waits once 256 KiB are unread. Call.InputSoFar has the text
	// so far as valid JSON. It is not called when somebody may have to approve the call first: then the input comes
	// whole, after the decision.
	OnInputDelta func(ctx context.Context, call *Call, delta string) error
	// OnInputAvailable is called once with the validated, approved input.
	OnInputAvailable func(ctx context.Context, call *Call, in In) error
	// OnResume is called in its place when a suspended call goes on with data.
	OnResume func(ctx context.Context, call *Call, data json.RawMessage) error
	// OnOutput is called after the host accepted the output.
	OnOutput func(ctx context.Context, call *Call, out Out) error
}

// MCP is what MCP clients see beside the definition. The zero value adds nothing.
type MCP struct {
	Annotations *Annotations
	Meta        json.RawMessage // a JSON object: _meta
	Icons       json.RawMessage // a JSON array
	// Extra is a JSON object: further members that MCP lists for the tool, such as {"execution": {...}} or
	// {"annotations": {"vendor/x": 1}}. Members that the definition has itself win, and those that it has a field for
	// (name, title, description, inputSchema, outputSchema, _meta, icons) may not be among them. At most 32 KiB.
	Extra json.RawMessage
}

// Annotations are MCP's hints about a tool. A nil pointer says nothing (T-9).
type Annotations struct {
	Title       string
	ReadOnly    *bool // the tool changes nothing
	Destructive *bool // it may destroy something
	Idempotent  *bool // calling it again with the same input changes nothing more
	OpenWorld   *bool // it reaches an open world
}

// OutputMode says what happens to an output that breaks the output schema.
type OutputMode int

const (
	// OutputReject fails the call; the output stays in the error. The default.
	OutputReject OutputMode = iota
	// OutputWarn lets the call succeed with a warning.
	OutputWarn
	// OutputOff does not check.
	OutputOff
)
