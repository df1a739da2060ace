package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/runes"
	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// readInput returns the input's text, which may still be on its way.
func (r *run) readInput(ctx context.Context, reqContext []byte) ([]byte, error) {
	if !r.streams() {
		return r.call.Input, nil
	}
	s := &stream{run: r, limit: r.entry.plugin.lim.Input}
	if r.entry.wants[pb.Callback_CALLBACK_INPUT_START] || r.entry.wants[pb.Callback_CALLBACK_INPUT_DELTA] || r.entry.deltaViews() {
		r.streamed, s.early = s, r.early()
		s.openEarly(ctx, reqContext)
	}
	r.emit(ctx, InputStart{r.head()})
	if err := s.read(ctx, r.running.feed); err != nil {
		return nil, err
	}
	r.emit(ctx, InputEnd{r.head()})
	if len(s.text) == 0 {
		return emptyInput, nil
	}
	return s.text, nil
}

// streams reports whether the input arrives in pieces.
func (r *run) streams() bool { return r.running != nil && r.running.feed != nil }

// stream is an input that arrives in pieces and goes on to the plugin at once.
type stream struct {
	run   *run
	limit int
	early bool   // the pieces go to the plugin before the call is decided
	taken pieces // since before, used again
	text  []byte
	shown int // bytes of text that the events hold: whole runes only
	sent  int // bytes of text that the plugin was sent

	opened chan *attempt      // one value, from the opening goroutine, nil if it failed; nil if there is none
	cancel context.CancelFunc // ends the opening
	live   *attempt           // the plugin's call; nil: not open yet, or lost
}

// openEarly opens the plugin's call while the input is still on its way. The goroutine ends when the plugin
// is ready or not, or the stream is dropped.
func (s *stream) openEarly(ctx context.Context, reqContext []byte) {
	opening, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	result := make(chan *attempt, 1)
	if s.run.host.spawn(func() {
		a, err := s.run.open(opening, &pb.Open{
			Streaming: true, InputStart: true, Context: reqContext,
			Ask: s.run.entry.wants[pb.Callback_CALLBACK_NEEDS_APPROVAL],
		})
		if err == nil {
			a.receive(ctx)
		}
		result <- a
	}) {
		s.opened = result
	}
}

// read takes the pieces until the input ends.
func (s *stream) read(ctx context.Context, f *feed) error {
	for {
		select {
		case <-f.more:
			if err := s.take(ctx, f); err != nil {
				return err
			}
		case <-f.ended:
			return s.take(ctx, f) // what came before the end
		case a := <-s.opened:
			s.opens(a)
			s.forward(ctx)
		case <-ctx.Done():
			e := s.run.ended(ctx, NotStarted)
			e.Err = fmt.Errorf("the input had not ended (EndInput): %w", e.Err)
			return e
		}
	}
}

// take takes the pieces that wait: whoever watches is told of each, the plugin gets them in one.
func (s *stream) take(ctx context.Context, f *feed) error {
	s.taken = f.take(s.taken)
	at := 0
	for _, end := range s.taken.ends {
		if err := s.piece(ctx, s.taken.text[at:end]); err != nil {
			return err
		}
		at = end
	}
	s.forward(ctx)
	return nil
}

func (s *stream) piece(ctx context.Context, piece []byte) error {
	s.text = append(s.text, piece...)
	if len(s.text) > s.limit {
		return s.run.fail(TooLarge, NotStarted, fmt.Errorf("the input is over its limit of %d bytes", s.limit))
	}
	if end := runes.Whole(s.text); end > s.shown {
		s.run.showDelta(ctx, string(s.text[s.shown:end]))
		s.shown = end
	}
	return nil
}

// forward sends the plugin what it has not seen, in pieces, and waits while it is behind. A plugin that is
// lost gets the whole input on a fresh process later.
func (s *stream) forward(ctx context.Context) {
	if s.live == nil || !s.early || !s.run.entry.wants[pb.Callback_CALLBACK_INPUT_DELTA] && !s.run.entry.deltaViews() {
		return
	}
	for end := runes.Whole(s.text); s.sent < end; {
		n := min(end-s.sent, wire.MaxDelta)
		f := &pb.Frame{Body: &pb.Frame_InputDelta{InputDelta: &pb.InputDelta{Data: s.text[s.sent : s.sent+n]}}}
		err := s.live.call.Send(ctx, f)
		switch {
		case err == nil:
			s.sent += n
			continue
		case errors.Is(err, session.ErrEnded): // the process died: a fresh one gets the whole input
			s.live = nil
		case !overErr(err):
			s.live.cancel(err)
			s.live = nil
		}
		return
	}
}

// opens hands over what openEarly opened, nil if it opened nothing.
func (s *stream) opens(a *attempt) {
	s.opened = nil
	s.live = a
}

// attempt waits for the early opening and hands over its call, nil if there is none.
func (s *stream) attempt(ctx context.Context) *attempt {
	if s.opened != nil {
		select {
		case a := <-s.opened:
			s.opens(a)
			s.forward(ctx)
		case <-ctx.Done():
			return nil
		}
	}
	a := s.live
	s.live = nil
	return a
}

// drop gives the early call up: its input never became a call. Nothing of the opening is left when it
// returns.
func (s *stream) drop() {
	s.cancel()
	if s.opened != nil {
		s.opens(<-s.opened)
	}
	if s.live != nil {
		s.live.cancel(errNoInput)
		<-s.live.result
		s.live = nil
	}
}

// Early says when pieces of an input may reach a plugin (T40).
type Early int

// The choices.
const (
	EarlyDecided Early = iota // when nothing is left to decide: no approval flag or function, no rule that may ask or deny, no Before hook
	EarlyAlways               // at once; a call that is denied then has handed its input over
	EarlyNever                // never: the input comes whole, after the decision
)

// early reports whether the pieces may go to the plugin before the call is decided.
func (r *run) early() bool {
	switch r.host.cfg.Early {
	case EarlyAlways:
		return true
	case EarlyNever:
		return false
	}
	if r.call.Ask || r.entry.tool.RequireApproval || r.entry.wants[pb.Callback_CALLBACK_NEEDS_APPROVAL] {
		return false
	}
	for h := range r.hooks {
		if h.Before != nil {
			return false
		}
	}
	_, strictest := r.host.rules.Bounds(r.policyCall())
	return strictest == Allow
}
