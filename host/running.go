package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
)

// Running is a call under way. Its methods may be called concurrently.
type Running struct {
	events *eventQueue
	feed   *feed // nil: the input was given at the start
	cancel context.CancelCauseFunc

	done chan struct{} // closed when res or err is set
	res  *Result
	err  error
}

// Start begins a call and never blocks; every error comes as the terminal event and from Result. The call
// ends with ctx. With Call.Input nil the input arrives by Delta and ends with EndInput.
func (h *Host) Start(ctx context.Context, c Call) *Running {
	ctx, cancel := context.WithCancelCause(ctx)
	r := &Running{events: newEventQueue(), cancel: cancel, done: make(chan struct{})}
	if c.Input == nil && c.resume == nil {
		r.feed = newFeed()
	} else if len(c.Input) == 0 {
		c.Input = emptyInput
	}
	call := &run{host: h, call: c, running: r}
	call.identify()
	begun := h.spawn(func() { // ends with the call, which ends with ctx or the host
		stop := context.AfterFunc(h.life, func() { cancel(errHostClosed) })
		defer stop()
		r.finish(ctx, call, call.do)
	})
	if !begun {
		r.finish(ctx, call, func(context.Context) (*Result, error) {
			return nil, call.fail(Closed, NotStarted, errHostClosed)
		})
	}
	return r
}

var (
	errHostClosed = errors.New("the host is closed")
	errReaderLeft = errors.New("the reader of the call's events left")
)

// ErrInputEnded is the error of Delta after the input has ended: by EndInput, or because it was given to
// Start.
var ErrInputEnded = errors.New("the input has ended")

// finish runs do and publishes its outcome.
func (r *Running) finish(ctx context.Context, call *run, do func(context.Context) (*Result, error)) {
	func() {
		defer func() {
			if v := recover(); v != nil {
				r.err = call.panicked(v)
			}
		}()
		r.res, r.err = do(ctx)
	}()
	close(r.done)
	r.events.close(call.terminal(r.res, r.err))
	r.cancel(nil)
}

// panicked is the error of a call whose goroutine panicked with v (H6).
func (r *run) panicked(v any) *Error {
	r.host.log.Error("panic", "tool", r.call.Tool, "call", r.call.ID, "panic", v, "stack", string(debug.Stack()))
	return r.fail(Internal, Unknown, fmt.Errorf("panic: %v", v))
}

// terminal is the event that ends a call.
func (r *run) terminal(res *Result, err error) Event {
	if err == nil {
		return ResultEvent{r.head(), res.form(r.call.View), r.warningsForm(res.Warnings)}
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = r.fail(Internal, Unknown, err)
	}
	if s, waits := errors.AsType[*SuspendedError](e.Err); waits {
		if s.Suspension.Kind == KindData {
			return SuspendedEvent{r.head(), s.Suspension}
		}
		return ApprovalEvent{r.head(), r.approvalForm(s.Suspension), s.Suspension}
	}
	if e.Code == Denied {
		return DeniedEvent{r.head(), e.Error()}
	}
	return ErrorEvent{r.head(), r.errorForm(e, r.errorViews)}
}

// form is the result in one view.
func (r *Result) form(v View) json.RawMessage {
	switch v {
	case Display:
		return r.Display
	case Transcript:
		return r.Transcript
	}
	return r.Output
}

// Delta hands over a piece of the input's text as the model writes it, cut anywhere. It blocks while the
// plugin is far behind. It fails when the call is over, with the call's error if it has one, and after
// EndInput. text is copied.
func (r *Running) Delta(text []byte) error {
	if r.feed == nil {
		return ErrInputEnded
	}
	select {
	case <-r.feed.ended:
		return ErrInputEnded
	default:
	}
	select {
	case <-r.done:
		return r.over()
	default:
	}
	if len(text) == 0 {
		return nil
	}
	for !r.feed.put(text) {
		select {
		case <-r.feed.room:
		case <-r.feed.ended:
			return ErrInputEnded
		case <-r.done:
			return r.over()
		}
	}
	return nil
}

// InputSoFar is the input's text so far as valid JSON, in the form of Call.View: open strings and
// containers are closed, and a member whose value has not begun is left out. It is nil where the view
// leaves deltas out, and after a text that is not JSON. It copies the text: ask for it when it is worth
// that, not at every piece of a long input.
func (r *Running) InputSoFar() json.RawMessage {
	if r.feed == nil {
		return nil
	}
	r.feed.partialM.Lock()
	defer r.feed.partialM.Unlock()
	if !r.feed.shown {
		return nil
	}
	return r.feed.partial.Value()
}

// EndInput ends the input. Further calls do nothing.
func (r *Running) EndInput() error {
	if r.feed != nil {
		r.feed.end()
	}
	return nil
}

func (r *Running) over() error {
	if r.err != nil {
		return r.err
	}
	return ErrInputEnded
}

// Events yields the call's events, once; the last one is the terminal one. Custom output waits for a slow
// reader, and so does the tool that writes it; of progress a slow reader sees the latest. Breaking out
// cancels the call.
func (r *Running) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		if !r.events.claim() {
			return
		}
		for {
			e, ok := r.events.next()
			if !ok {
				return
			}
			if !yield(e) {
				r.events.discard()
				r.cancel(errReaderLeft)
				return
			}
		}
	}
}

// Result waits for the outcome. The error is an *Error. Events that nobody began to read by then are
// dropped: to have both, begin with Events.
func (r *Running) Result() (*Result, error) {
	r.events.discardUnclaimed()
	<-r.done
	return r.res, r.err
}

// Cancel cancels the call. cause, which may be nil, is the cause of the call's error.
func (r *Running) Cancel(cause error) { r.cancel(cause) }
