package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/schema"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Call is one call to make.
type Call struct {
	ID       string          // the caller's id, such as the model's tool call id; if empty, one is made
	Tool     string          // id, alias or plugin/id
	Input    json.RawMessage // empty means {} (b21). With Start, nil means that it arrives by Delta
	Context  json.RawMessage // request context, a JSON object; the tool sees the keys that its schema names (O-6, T41)
	Messages json.RawMessage // the conversation, a JSON array; the tool sees it if it asks and Plugin.Grant allows (T41)
	Caller   Caller          // who asks; set by what received the request, never from its content
	Active   []string        // if not nil, only these tools may be called (M-9)
	Ask      bool            // if true, the call needs an approval whatever tool and policy say
	Hooks    []Hook          // inside Config.Hooks
	View     View            // which form events carry; if zero, Display

	// Person says that a person gave the answer that this call makes of a suspension, as what received it vouches: by an elicitation of
	// MCP, for instance. Without it a Caller.Channel that carries a model's words answers nothing (T28, T33). Elsewhere it means nothing.
	Person bool

	// Elicit is asked while the tool runs. It may be called concurrently with itself. nil declines every
	// question. The call's time stands still meanwhile (b52). Decline a kind that you do not know.
	Elicit func(context.Context, Question) (Answer, error)

	// Log gets the records that the tool's author logs in this call, beside the host's own log: the same ones, masked as
	// View has it, from one goroutine at a time, and before the call returns (O4) unless the logger is stuck. Records that a slow
	// one has no room for are dropped and counted. If nil, only the host's log gets them.
	Log *slog.Logger

	// Progress gets what the tool reports of its progress, as the events of Start have it: from one goroutine at a time, before the
	// call returns. It must not block. If nil, only the events have it.
	Progress func(Progress)

	// Traceparent and Tracestate are the W3C trace context of whoever called. They count where ctx has no span: Config.Tracer's
	// span is below it, and without a tracer it is what the plugin sees. What is not well formed is ignored. Baggage does not
	// travel (T38).
	Traceparent, Tracestate string

	resume *resumption // not nil: the next round of a suspended call
}

// Call makes a call and waits for its outcome, on the caller's goroutine. The error is an *Error. When ctx
// ends, Call returns at once and the plugin is told to stop; nothing of the call is delivered later.
func (h *Host) Call(ctx context.Context, c Call) (*Result, error) {
	if len(c.Input) == 0 {
		c.Input = emptyInput
	}
	r := runs.Get().(*run)
	r.host, r.call = h, c
	r.identify()
	res, err := r.do(ctx)
	if err == nil {
		r.release()
	}
	return res, err
}

var emptyInput = json.RawMessage("{}")

// runs are those of calls that are over, to be used again.
var runs = sync.Pool{New: func() any { return new(run) }}

// release hands back the run of a call that succeeded, if nobody can still have it or its context.
func (r *run) release() {
	if !r.private() || r.time.late || r.time.ctx.Err() != nil {
		return
	}
	done := r.time.ctx.Made()
	*r = run{}
	r.time.ctx.Reuse(done)
	runs.Put(r)
}

// private reports whether the run and its context stay within the host: no function of the embedder's gets either.
func (r *run) private() bool {
	return r.running == nil && r.call.Log == nil && r.call.Elicit == nil && r.host.rules.ask == nil && len(r.host.cfg.Hooks) == 0 && len(r.call.Hooks) == 0
}

// run is one call under way: the pipeline of the package comment, on one goroutine.
type run struct {
	host        *Host
	call        Call
	entry       *entry
	begun       time.Time
	time        clock
	running     *Running                        // nil for Host.Call: nobody watches
	streamed    *stream                         // the input goes to the plugin as it arrives; nil if it does not
	room        schema.Document                 // most inputs need no other
	input       *schema.Document                // validated
	seen        atomic.Pointer[schema.Document] // input, for the goroutine that receives while the input is still on its way
	repairs     []Repair
	plain       []byte            // the output that was found plain; see schema.ValidPlain
	reasons     []string          // why an approval is needed; none: it is not
	round       *round            // what came before, of a call that is resumed
	first       attempt           // most calls need no other; its call becomes the one that gave the output
	live        *attempt          // gave the output and waits for its acceptance
	views       []*pb.DerivedView // that the plugin made of the input
	errorViews  []*pb.DerivedView // that it made of its failure
	timed       atomic.Bool       // time runs: not while the input is on its way, when a plugin may ask already
	deltaSaid   atomic.Bool       // the host's policy had a say on a piece of the input
	trace       Span              // nil: not traced
	traceparent string
	tracestate  string
	log         *callLog // nil: the caller wants no records
}

// clock is the call's time, or nil while the input is still on its way.
func (r *run) clock() *clock {
	if r.timed.Load() {
		return &r.time
	}
	return nil
}

// pause stops the call's time while a person is asked.
func (r *run) pause() (resume func()) {
	if clock := r.clock(); clock != nil {
		return clock.pause()
	}
	return func() {}
}

// identify gives the call an id if it has none.
func (r *run) identify() {
	if r.call.ID == "" {
		var id [32]byte
		r.call.ID = string(strconv.AppendUint(append(id[:0], "call_"...), r.host.calls.Add(1), 10))
	}
}

// do runs the pipeline and what comes after every final outcome.
func (r *run) do(ctx context.Context) (*Result, error) {
	r.begun = time.Now()
	ctx, end := r.span(ctx)
	r.log = newCallLog(r)
	defer r.log.close()
	res, err := r.stages(ctx)
	err = r.withRepairs(err)
	if code, _ := CodeOf(err); err == nil || code != Suspended {
		res, err = r.after(ctx, res, err)
	}
	r.settle(ctx, err)
	end(err)
	return res, err
}

// stages is the pipeline: parse, repair, validate, Before, approve, execute, validate.
func (r *run) stages(ctx context.Context) (*Result, error) {
	if err := r.lookup(ctx); err != nil {
		return nil, err
	}
	if err := r.reopen(); err != nil {
		return nil, err
	}
	reqContext, badContext := r.requestContext()
	if badContext != nil && r.streams() {
		return nil, badContext // there is no input yet, and with this context none is needed
	}
	text, err := r.readInput(ctx, reqContext)
	if r.streamed != nil {
		defer r.streamed.drop()
	}
	if err != nil {
		return nil, err
	}
	ctx, clock := r.limit(ctx)
	defer func() { clock.stop(r.private()) }()
	r.timed.Store(true)
	if err := r.validate(text); err != nil {
		return nil, err
	}
	if badContext != nil { // a fault of the input comes first (E-2)
		return nil, badContext
	}
	answer, err := r.before(ctx)
	if err != nil {
		return nil, err
	}
	if answer != nil {
		r.begin(ctx, nil)
		res, err := r.accept(&pb.Output{Output: answer.Output})
		if e, bad := errors.AsType[*Error](err); bad {
			e.Outcome = NotStarted // whatever the hook said, the tool did not run
		}
		return res, err
	}
	if err := r.decide(ctx); err != nil {
		return nil, err
	}
	out, err := r.execute(ctx, reqContext)
	if err != nil {
		return nil, err
	}
	defer r.first.call.Release()
	return r.accept(out)
}

// lookup finds the tool. One that the policy hides from the caller does not exist.
func (r *run) lookup(ctx context.Context) error {
	if r.host.closed.Load() {
		return r.fail(Closed, NotStarted, errHostClosed)
	}
	var failed []unsaid
	r.entry, failed = r.host.find(ctx, r.call.Tool)
	if r.entry != nil && !r.host.visible(r.entry, r.call.Caller) {
		r.entry = nil
		return r.host.NotFoundFor(r.call.Caller, r.call.Tool)
	}
	if r.entry == nil {
		if r.host.closed.Load() {
			return r.fail(Closed, NotStarted, errHostClosed)
		}
		if err := ctx.Err(); err != nil {
			return r.ended(ctx, NotStarted)
		}
		if err := r.unsaid(ctx, failed); err != nil {
			return err
		}
		return r.host.NotFoundFor(r.call.Caller, r.call.Tool)
	}
	if r.call.Active != nil && !slices.Contains(r.call.Active, r.call.Tool) {
		active := "none is"
		if len(r.call.Active) > 0 {
			active = "active are " + strings.Join(r.call.Active, ", ")
		}
		return r.fail(NotFound, NotStarted, fmt.Errorf("the tool is not active in this call; %s", active))
	}
	if err := r.entry.compiled(); err != nil { // it was compiled before, so it can be
		return r.fail(Internal, NotStarted, err)
	}
	return nil
}

// validate parses, repairs, fills and checks the input. It starts no process.
func (r *run) validate(text []byte) error {
	lim := r.entry.plugin.lim
	if len(text) > lim.Input {
		return r.fail(TooLarge, NotStarted, fmt.Errorf("an input of %d bytes; the limit is %d", len(text), lim.Input))
	}
	doc, repairs, err := r.entry.input.ReadInto(&r.room, text, lim.document(lim.Input), r.entry.read)
	if err == nil && r.entry.input == nil && !doc.IsObject() { // no schema is an open object, repaired like any other
		var open *schema.Schema
		if open, err = schema.Compile(openObject); err == nil {
			doc, repairs, err = open.Read(text, lim.document(lim.Input), r.entry.read)
		}
	}
	r.repairs = toRepairs(repairs)
	if err != nil {
		return r.breaks(InvalidInput, NotStarted, err)
	}
	r.input, r.call.Input = doc, doc.Bytes()
	r.seen.Store(doc)
	return nil
}

func toRepairs(repairs []schema.Repair) []Repair {
	var out []Repair
	for _, p := range repairs {
		out = append(out, Repair(p))
	}
	return out
}

// revalidate checks an input that a hook changed. It is not repaired.
func (r *run) revalidate() error {
	lim := r.entry.plugin.lim
	doc, err := schema.Parse(r.call.Input, lim.document(lim.Input))
	if err == nil {
		err = r.entry.input.Validate(doc)
	}
	if err != nil {
		return r.breaks(InvalidInput, NotStarted, err)
	}
	if r.entry.input == nil && !doc.IsObject() {
		return r.breaks(InvalidInput, NotStarted, notAnObject(doc))
	}
	r.input = doc
	r.seen.Store(doc)
	return nil
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
	if !doc.IsObject() {
		return nil, r.breaks(InvalidContext, NotStarted, notAnObject(doc))
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

func (r *run) head() Head { return Head{r.call.ID, r.call.Tool} }

// emit hands an event to whoever watches.
func (r *run) emit(ctx context.Context, e Event) {
	if r.running != nil {
		r.running.events.put(ctx, e)
	}
}
