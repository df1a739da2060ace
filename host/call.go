package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/internal/near"
	"github.com/toolhost/toolhost/host/internal/schema"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Call is one call to make.
type Call struct {
	ID      string          // the caller's id, such as the model's tool call id; if empty, one is made
	Tool    string          // id, alias or plugin/id
	Input   json.RawMessage // empty means {} (b21). With Start, nil means that it arrives by Delta
	Context json.RawMessage // request context, a JSON object; the tool sees the keys that its schema names (O-6, O-7)
	Active  []string        // if not nil, only these tools may be called (M-9)

	// Elicit is asked while the tool runs. It may be called concurrently with itself. nil declines every question.
	Elicit func(context.Context, Question) (Answer, error)
}

// Question is what a tool asks its caller while it runs.
type Question struct {
	Message string          `json:"message"`
	Schema  json.RawMessage `json:"schema,omitempty"` // of the answer's content
}

// Answer is the caller's answer.
type Answer struct {
	Action  string          `json:"action"`            // "accept", "decline" or "cancel"
	Content json.RawMessage `json:"content,omitempty"` // of an accepted question
}

// Call makes a call and waits for its outcome, on the caller's goroutine. The error is an *Error. When ctx ends, Call returns at once and the
// plugin is told to stop; nothing of the call is delivered later.
func (h *Host) Call(ctx context.Context, c Call) (*Result, error) {
	if len(c.Input) == 0 {
		c.Input = emptyInput
	}
	r := &run{host: h, call: c}
	r.identify()
	return r.do(ctx)
}

var emptyInput = json.RawMessage("{}")

// run is one call under way: the pipeline of the package comment, on one goroutine.
type run struct {
	host     *Host
	call     Call
	entry    *entry
	begun    time.Time
	running  *Running // nil for Host.Call: nobody watches
	streamed *stream  // the input goes to the plugin as it arrives; nil if it does not
}

// identify gives the call an id if it has none.
func (r *run) identify() {
	if r.call.ID == "" {
		r.call.ID = "call_" + strconv.FormatUint(r.host.calls.Add(1), 10)
	}
}

// do is the pipeline.
func (r *run) do(ctx context.Context) (*Result, error) {
	r.begun = time.Now()
	if err := r.lookup(ctx); err != nil {
		return nil, err
	}
	reqContext, err := r.requestContext()
	if err != nil {
		return nil, err
	}
	text, err := r.readInput(ctx, reqContext)
	if r.streamed != nil {
		defer r.streamed.drop()
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := r.limit(ctx)
	defer cancel()
	input, err := r.validate(text)
	if err != nil {
		return nil, err
	}
	r.emit(ctx, CallStarted{r.head(), input.Bytes()})
	out, err := r.execute(ctx, input.Bytes(), reqContext)
	if err != nil {
		return nil, err
	}
	return r.accept(out)
}

// lookup finds the tool.
func (r *run) lookup(ctx context.Context) error {
	if r.host.closed.Load() {
		return r.fail(Closed, NotStarted, errHostClosed)
	}
	r.entry = r.host.find(ctx, r.call.Tool)
	if r.entry == nil {
		if r.host.closed.Load() {
			return r.fail(Closed, NotStarted, errHostClosed)
		}
		if err := ctx.Err(); err != nil {
			return r.ended(ctx, NotStarted)
		}
		if p := r.host.failed(r.call.Tool); p != nil {
			return r.fail(Unavailable, NotStarted, p)
		}
		return r.host.NotFound(r.call.Tool)
	}
	if r.call.Active != nil && !slices.Contains(r.call.Active, r.call.Tool) {
		return r.fail(NotFound, NotStarted, errors.New("the tool is not active in this call"))
	}
	return nil
}

// limit bounds the call: its tool's limit or the host's, counted from here.
func (r *run) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	lim := r.entry.plugin.lim
	d := lim.Call
	if t := r.entry.tool.Timeout; t > 0 {
		d = min(t, lim.CallMax)
	}
	return context.WithTimeout(ctx, d)
}

// validate parses the input, fills defaults and checks it. It starts no process.
func (r *run) validate(text []byte) (*schema.Document, error) {
	lim := r.entry.plugin.lim
	if len(text) > lim.Input {
		return nil, r.fail(TooLarge, NotStarted, fmt.Errorf("an input of %d bytes; the limit is %d", len(text), lim.Input))
	}
	doc, err := schema.Parse(text, lim.document(lim.Input))
	if err != nil {
		return nil, r.breaks(InvalidInput, NotStarted, err)
	}
	r.entry.input.FillDefaults(doc)
	if err := r.entry.input.Validate(doc); err != nil {
		return nil, r.breaks(InvalidInput, NotStarted, err)
	}
	if _, ok := doc.Value().(map[string]any); !ok && r.entry.input == nil {
		return nil, r.fail(InvalidInput, NotStarted, notAnObject())
	}
	return doc, nil
}

// requestContext checks the request context and cuts it to what the tool declared (T41).
func (r *run) requestContext() ([]byte, error) {
	if len(r.call.Context) == 0 && r.entry.reqContext == nil {
		return nil, nil
	}
	text := r.call.Context
	if len(text) == 0 {
		text = emptyInput
	}
	lim := r.entry.plugin.lim
	doc, err := schema.Parse(text, lim.document(lim.Input))
	if err != nil {
		return nil, r.breaks(InvalidContext, NotStarted, err)
	}
	if _, ok := doc.Value().(map[string]any); !ok {
		return nil, r.fail(InvalidContext, NotStarted, notAnObject())
	}
	if r.entry.reqContext == nil {
		return nil, nil
	}
	r.entry.reqContext.FillDefaults(doc)
	if err := r.entry.reqContext.Validate(doc); err != nil {
		return nil, r.breaks(InvalidContext, NotStarted, err)
	}
	return cut(doc.Bytes(), r.entry.contextKeys), nil
}

// cut keeps only these members of an object.
func cut(object []byte, keys []string) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(object, &all) != nil {
		return nil
	}
	kept := make(map[string]json.RawMessage, len(keys))
	for _, k := range keys {
		if v, ok := all[k]; ok {
			kept[k] = v
		}
	}
	b, err := json.Marshal(kept)
	if err != nil {
		return nil
	}
	return b
}

// accept checks the output and makes the result.
func (r *run) accept(out *pb.Output) (*Result, error) {
	res := &Result{Duration: time.Since(r.begun)}
	if out.Output != nil {
		res.Output = out.Output
	}
	if err := r.checkOutput(res); err != nil {
		if r.entry.tool.OutputMode != OutputWarn {
			return nil, err
		}
		res.Warnings = append(res.Warnings, err.Error())
	}
	res.Model = modelOutput(res.Output, out.GetDerived())
	if e := out.GetDerived().GetModelError(); e != "" {
		res.Warnings = append(res.Warnings, "toModelOutput failed, the model gets the raw output: "+e)
	}
	return res, nil
}

// checkOutput checks the output against its schema. A void output is checked as null.
func (r *run) checkOutput(res *Result) error {
	text := []byte(res.Output)
	if text == nil {
		if r.entry.output == nil || r.entry.tool.OutputMode == OutputOff {
			return nil
		}
		text = []byte("null")
	}
	lim := r.entry.plugin.lim
	if len(text) > lim.Output {
		return r.fail(TooLarge, Done, &OutputError{res.Output, fmt.Errorf("an output of %d bytes; the limit is %d", len(text), lim.Output)})
	}
	doc, err := schema.Parse(text, lim.document(lim.Output))
	if err != nil {
		return r.fail(Protocol, Done, fmt.Errorf("the output is not valid JSON: %w", schemaError(err)))
	}
	if r.entry.tool.OutputMode == OutputOff {
		return nil
	}
	if err := r.entry.output.Validate(doc); err != nil {
		return r.breaks(InvalidOutput, Done, &OutputError{res.Output, schemaError(err)})
	}
	return nil
}

func (r *run) head() Head { return Head{r.call.ID, r.call.Tool} }

// emit hands an event to whoever watches.
func (r *run) emit(ctx context.Context, e Event) {
	if r.running != nil {
		r.running.events.put(ctx, e)
	}
}

// breaks is the error of a value that breaks its schema. A panic of the engine, which is nobody's fault but the host's, is Internal (T1).
func (r *run) breaks(code Code, outcome Outcome, err error) *Error {
	if p, ok := errors.AsType[*schema.PanicError](err); ok {
		r.host.log.Error("schema engine panicked", "tool", r.call.Tool, "error", p, "stack", string(p.Stack))
		return r.fail(Internal, outcome, p)
	}
	return r.fail(code, outcome, schemaError(err))
}

func (r *run) fail(code Code, outcome Outcome, err error) *Error {
	return &Error{Op: "call", Tool: r.call.Tool, Code: code, Outcome: outcome, Err: err}
}

// ended is the error of a call whose context ended.
func (r *run) ended(ctx context.Context, outcome Outcome) *Error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errHostClosed):
		return r.fail(Closed, outcome, errHostClosed)
	case errors.Is(cause, context.DeadlineExceeded):
		return r.fail(Timeout, outcome, &timeoutError{time.Since(r.begun)})
	default:
		return r.fail(Canceled, outcome, cause)
	}
}

// timeoutError says how long the caller waited.
type timeoutError struct{ waited time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no answer after %v", e.waited.Round(time.Millisecond))
}

// Is makes a timeout what its context says it is.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// failed is why a plugin that never told its tools did not start, if name is the plugin's own, or one of its tools by plugin/id; else nil.
func (h *Host) failed(name string) error {
	name, _, _ = strings.Cut(name, "/")
	for _, p := range h.plugins {
		if p.cfg.Name == name && p.manifest.Load() == nil {
			return p.lastError()
		}
	}
	return nil
}

// NotFound is the error of a call of a tool that does not exist: what resembles its name, or which tools there are, and
// what is known of a tool or plugin of that name that does not work.
func (h *Host) NotFound(name string) *Error {
	return &Error{Op: "call", Tool: name, Code: NotFound, Err: errors.New(strings.Join(h.whyNot(name), "; "))}
}

func (h *Host) whyNot(name string) []string {
	why := []string{"no tool has that name"}
	names := h.registry.Load().names()
	if like := near.Names(name, names); len(like) > 0 {
		why = append(why, "did you mean "+strings.Join(like, " or ")+"?")
	} else if len(names) > 0 {
		const most = 8
		some := "there are " + strings.Join(names[:min(most, len(names))], ", ")
		if len(names) > most {
			some += fmt.Sprintf(" and %d more", len(names)-most)
		}
		why = append(why, some)
	}
	for p := range h.Plugins() {
		for _, t := range p.BadTools {
			if t.ID == name || p.Name+"/"+t.ID == name {
				why = append(why, fmt.Sprintf("plugin %s has it, but it was refused: %s", p.Name, t.Reason))
			}
		}
		if p.Error != "" && len(p.Tools) == 0 {
			why = append(why, fmt.Sprintf("plugin %s: %s: %s", p.Name, p.State, p.Error))
		}
	}
	return why
}
