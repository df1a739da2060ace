package session

import (
	"context"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/toolhost/toolhost/internal/runes"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// Send queues one frame; f and what it points to belong to the session
// afterwards, and f.Call is set. Frames of a call are sent in the order of their
// Sends. Text that is not UTF-8 is sent with U+FFFD in place of the broken bytes.
//
// Send blocks only for write, delta_view and span while the call has no credit, and for
// input_delta when wire.MaxDelta of joined text waits already; ctx ends the
// waiting and nothing else. An input_delta may end within a rune: the half is held back until the
// next one. A progress frame replaces one that was not sent yet.
//
// Errors: ErrClosed after this call's end on this side, *StateError for a frame that does not fit the
// state (also while it waits, when the outcome has come), *TooLargeError (the call goes on), an
// error that wraps ErrUTF8, *CancelError in the plugin after the host's cancel (an outcome still
// closes the call if it says so), ErrEnded, or ctx's cause.
func (c *Call) Send(ctx context.Context, f *pb.Frame) error {
	k := kindOf(f)
	if want := kindTable[k].from; k == kOpen || want != hostCall && want != pluginCall || (want == hostCall) != (c.s.cfg.Side == Host) {
		return &StateError{Frame: k.String(), State: c.state().String(), Reason: "not sent by this end"}
	}
	f.Call = c.id
	if k == kInputDelta {
		return c.sendText(ctx, f)
	}
	clean(f)
	if k.outcome() {
		c.nameLog(f)
	}
	it, err := encode(f, k)
	if err != nil {
		return fmt.Errorf("session: %s: %w", k, err)
	}
	return c.sendItem(ctx, f, it)
}

func (c *Call) state() state {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.course.state
}

// sendItem queues it, which is f, when the call has credit for it.
func (c *Call) sendItem(ctx context.Context, f *pb.Frame, it item) error {
	c.s.mu.Lock()
	defer c.s.leave()
	if limit := c.s.lim.of(it.kind); it.size > limit {
		return &TooLargeError{Limit: limit, Size: it.size, Direction: Sending}
	}
	if it.kind.credited() {
		it.cost = c.s.lim.cost(payload(f))
	}
	for {
		next, err := c.maySend(it.kind, f)
		if err != nil {
			return err
		}
		if it.cost == 0 || c.owed+it.cost <= c.credit {
			c.s.direct = c.s.try != nil && it.kind.outcome() && len(c.s.calls) == 1
			c.commit(f, it, next)
			return nil
		}
		if err := c.waitRoom(ctx); err != nil {
			return err
		}
	}
}

// maySend returns the state after f, or why it may not be sent.
func (c *Call) maySend(k kind, f *pb.Frame) (state, error) {
	switch {
	case c.s.err != nil:
		return 0, c.s.err
	case c.over:
		return 0, ErrClosed
	case c.cancel != nil:
		if k.outcome() && closes(f) {
			c.closePlugin()
		}
		return 0, c.cancel
	case k == kInput && len(c.half) > 0:
		return 0, fmt.Errorf("session: input after half a rune of input_delta: %w", ErrUTF8)
	}
	next, reason := c.course.check(k, f)
	if reason != "" {
		if c.course.state == stClosed {
			return 0, ErrClosed
		}
		return 0, &StateError{Frame: k.String(), State: c.course.state.String(), Reason: reason}
	}
	return next, nil
}

// commit queues it and moves the call to next.
func (c *Call) commit(f *pb.Frame, it item, next state) {
	if it.kind == kProgress {
		if waiting := c.lane.out.at(c.latest - 1); waiting != nil && (c.lane.cut == nil || waiting != c.lane.out.front()) {
			*waiting = it
			return
		}
	}
	it.starts = starts(it.kind, &c.course, f)
	c.course.apply(it.kind, f, next)
	n := c.push(it)
	if it.kind == kProgress {
		c.latest = n + 1
	}
	if next == stClosed {
		c.finish()
	}
}

// nameLog fills in the last log record that belongs to the outcome (O4).
func (c *Call) nameLog(f *pb.Frame) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	switch b := f.GetBody().(type) {
	case *pb.Frame_Output:
		b.Output.LastLog = c.lastLog
	case *pb.Frame_Failed:
		b.Failed.LastLog = c.lastLog
	case *pb.Frame_Suspended:
		b.Suspended.LastLog = c.lastLog
	}
}

// push appends it to the call's lane and returns its number there.
func (c *Call) push(it item) uint64 {
	c.owed += it.cost
	if it.kind == kAnswer {
		c.unsent++
	}
	n := c.lane.out.push(it)
	c.s.makeReady(&c.lane)
	return n
}

// waitRoom waits until something of the lane was sent or the call changed. It is called and
// returns with s.mu held.
func (c *Call) waitRoom(ctx context.Context) error {
	if c.room == nil {
		c.room = make(chan struct{})
	}
	room := c.room
	c.s.mu.Unlock()
	defer c.s.mu.Lock()
	select {
	case <-room:
		return nil
	case <-c.s.done:
		return nil // maySend says it
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sendText sends an input delta: whole runes, at most wire.MaxDelta at a time.
func (c *Call) sendText(ctx context.Context, f *pb.Frame) error {
	text := f.GetInputDelta().GetData()
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if _, err := c.maySend(kInputDelta, nil); err != nil {
		return err
	}
	if len(c.half) > 0 {
		text = append(c.half[:len(c.half):len(c.half)], text...)
	}
	whole := runes.Whole(text)
	if !utf8.Valid(text[:whole]) {
		return fmt.Errorf("session: input_delta: %w", ErrUTF8)
	}
	half := text[whole:]
	for text = text[:whole]; len(text) > 0; {
		n := len(text)
		if n > wire.MaxDelta {
			n = runes.Whole(text[:wire.MaxDelta])
		}
		if err := c.sendDelta(ctx, text[:n]); err != nil {
			return err
		}
		text = text[n:]
	}
	c.half = append([]byte(nil), half...)
	return nil
}

// sendDelta queues one delta, joined to a waiting one where there is one. Beside what has
// credit, one delta may wait.
func (c *Call) sendDelta(ctx context.Context, text []byte) error {
	for {
		next, err := c.maySend(kInputDelta, nil)
		if err != nil {
			return err
		}
		if c.joinDelta(text) {
			return nil
		}
		if c.owed <= c.credit {
			f := &pb.Frame{Call: c.id, Body: &pb.Frame_InputDelta{InputDelta: &pb.InputDelta{Data: text}}}
			c.commit(f, item{
				frame: f, kind: kInputDelta, size: len(text) + frameCost, cost: c.s.lim.cost(len(text)),
			}, next)
			return nil
		}
		if err := c.waitRoom(ctx); err != nil {
			return err
		}
	}
}

// joinDelta appends text to the newest waiting frame if that is a delta with room for it.
func (c *Call) joinDelta(text []byte) bool {
	last := c.lane.out.back()
	if last == nil || last.kind != kInputDelta || c.lane.cut != nil && c.lane.out.len() == 1 {
		return false
	}
	delta := last.frame.GetInputDelta()
	total := len(delta.GetData()) + len(text)
	if total > wire.MaxDelta {
		return false
	}
	if !last.own {
		delta.Data = append(make([]byte, 0, 2*total), delta.Data...)
		last.own = true
	}
	delta.Data = append(delta.Data, text...)
	cost := c.s.lim.cost(total)
	c.owed += cost - last.cost
	last.cost, last.size = cost, total+frameCost
	return true
}

// item is a frame in a lane: whole, or encoded, in pieces, if it must be cut.
type item struct {
	frame  *pb.Frame
	data   [][]byte
	size   int
	cost   int // 0 once it was paid
	kind   kind
	starts bool // lets the plugin execute
	own    bool // the delta's data was made by the session
}

// setCall sets the call of an item that was encoded without one.
func (it *item) setCall(id uint64) {
	it.size += 1 + protowire.SizeVarint(id)
	if it.data == nil {
		it.frame.Call = id
		return
	}
	call := protowire.AppendTag(make([]byte, 0, callField), 1, protowire.VarintType)
	it.data = append(it.data, protowire.AppendVarint(call, id))
}
