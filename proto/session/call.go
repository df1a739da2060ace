package session

import (
	"context"

	"github.com/toolhost/toolhost/internal/runes"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Call is one call's end of the session. Send, Cancel, Close and the questions
// may be used concurrently; Recv is for one goroutine at a time.
type Call struct {
	s  *Session
	id uint64

	// All below is guarded by s.mu.
	course  course
	over    bool         // this end is through: closed, or cancelled on the host's side
	cancel  *CancelError // the host cancelled it; plugin side
	started bool
	handed  handed // of open, to the stream
	unsent  uint16 // answers in the lane

	lane    lane
	credit  int           // what may still be sent
	owed    int           // cost of what waits in the lane
	room    chan struct{} // closed when owed shrinks; nil if nobody waits
	latest  uint64        // number of the newest progress in the lane, plus 1
	half    []byte        // the beginning of a rune, held back
	lastLog uint64        // the newest record of this call

	in     fifo[received]
	peer   int // what the peer may still send
	taken  int // taken by Recv and not returned yet
	newest uint64
	lost   error // what the peer did that lost a frame
	wake   chan struct{}
	join   joiner
	hand   int          // what the frame that Recv returned last takes of Config.Held; for the goroutine that receives
	ctx    *callContext // plugin side

	// The first elements, so that a small call allocates no queue.
	out0 [1]item
	in0  [1]received
}

// received is a frame that Recv has not taken yet.
type received struct {
	frame *pb.Frame
	cost  int32
	held  int32 // what it takes of Config.Held
}

// handed says how much of open was given to the stream.
type handed uint8

const (
	handedNone handed = iota
	handedPart
	handedAll
)

// ID is the call's id on the wire: never 0, never used twice in a session.
func (c *Call) ID() uint64 { return c.id }

// Context is cancelled when the call is cancelled (cause *CancelError), its time
// is over (cause *CancelError with TIMEOUT; Err is context.DeadlineExceeded), the
// session ends (cause wraps ErrEnded), or the call is closed (cause ErrClosed).
// It is one context; its deadline counts from receipt of open. Plugin side; nil on the host's.
func (c *Call) Context() context.Context {
	if c.ctx == nil {
		return nil
	}
	return c.ctx
}

// EndContext ends the call's context with a cause of the plugin's own, if it has not ended. Nothing else changes.
func (c *Call) EndContext(cause error) {
	if c.ctx != nil {
		c.ctx.End(context.Canceled, cause)
	}
}

// Recv returns the call's next frame in order; it belongs to the caller. A write, delta_view,
// span or input_delta that is taken returns its credit to the peer. A large frame counts in Config.Held until the
// next Recv or Release, also after the call's end. Errors, each
// after everything that was received before: ErrClosed when the peer has closed the
// call, *TooLargeError, *FullError or *StateError when a frame of this call was lost because
// it broke a limit or a rule of chunks, ErrEnded. At once: ErrClosed after Close or
// Cancel on this side, *CancelError in the plugin when the host has cancelled, and
// ctx's cause when there is nothing to receive.
func (c *Call) Recv(ctx context.Context) (*pb.Frame, error) {
	c.s.mu.Lock()
	c.release()
	for {
		f, err := c.take()
		if f != nil || err != nil {
			c.s.mu.Unlock()
			return f, err
		}
		if c.wake == nil {
			c.wake = make(chan struct{}, 1)
		}
		c.s.mu.Unlock()
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		c.s.mu.Lock()
	}
}

// Cancel tells the plugin to stop and ends the call on this side: unsent frames
// are taken back, and nothing is received any more. If open was never handed to
// the stream, the plugin hears nothing of the call. The call counts in
// Session.Active until the plugin has closed it. Host side; a second Cancel, and
// one after the end of the call, does nothing.
func (c *Call) Cancel(reason pb.CancelReason, message string) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.cfg.Side == Host {
		c.cancelLocked(reason, message)
	}
}

// Started reports whether a frame that begins execution may have reached the
// peer: open or input with run, open with resume, run, resume. It is false as long
// as none was handed whole to the stream; after Cancel it does not change any more.
// Host side; what C3 rests on.
func (c *Call) Started() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.started
}

// Release says that the owner is through with the frame that Recv returned last: it takes nothing of Config.Held any more.
// It is for the goroutine that calls Recv, which does the same.
func (c *Call) Release() {
	if c.hand == 0 {
		return
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.release()
}

func (c *Call) release() {
	c.s.unhold(c.hand)
	c.hand = 0
}

// Close ends the call on this side. In the plugin it sends closed unless the
// outcome said so. In the host it takes no more frames; a call whose outcome has
// not come, or that still waits for accepted or derive, is cancelled (CALLER).
func (c *Call) Close() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	if c.s.cfg.Side == Host {
		c.closeHost()
		return
	}
	c.closePlugin()
}

func (s *Session) newCall(id uint64) *Call {
	var c *Call
	if s.cfg.Side == Plugin {
		both := &struct {
			call Call
			ctx  callContext
		}{}
		c = &both.call
		c.ctx = &both.ctx
		c.ctx.s = s
	} else {
		c = &Call{}
	}
	c.s, c.id, c.credit, c.peer = s, id, s.lim.Window, s.lim.Window
	c.course.state = stNew
	c.lane.call = c
	c.lane.out.items = c.out0[:0]
	c.in.items = c.in0[:0]
	return c
}

func (c *Call) cancelLocked(reason pb.CancelReason, message string) {
	if c.over {
		return
	}
	c.over = true
	c.dropAll()
	c.signal()
	if c.course.state == stClosed || c.s.err != nil {
		return
	}
	if c.handed == handedNone {
		delete(c.s.calls, c.id)
		return
	}
	c.outlived()
	f := &pb.Frame{Call: c.id, Body: &pb.Frame_Cancel{Cancel: &pb.Cancel{Reason: reason, Message: runes.Prefix(message, maxCancel)}}}
	clean(f)
	c.s.post(f)
}

func (c *Call) closeHost() {
	st, confirmed := c.course.state, !c.course.confirm || c.course.accepted
	switch {
	case c.over:
	case st == stEnded, st == stClosed:
		c.over = true
		c.dropAll()
		c.signal()
		c.outlived()
	case st == stOutput && confirmed:
		c.over = true // what waits, such as accepted, is still sent
		c.dropReceived()
		c.signal()
		c.outlived()
	default:
		c.cancelLocked(pb.CancelReason_CANCEL_REASON_CALLER, "")
	}
}

// outlived counts a call that is over on the host's side and that the plugin has still to close. Of too many of them
// nothing is kept: what the plugin says of it is stray then.
func (c *Call) outlived() {
	s := c.s
	switch {
	case s.calls[c.id] != c:
	case s.unclosed == maxUnclosed:
		s.forget(c)
	default:
		s.unclosed++
	}
}

func (c *Call) closePlugin() {
	if c.over {
		return
	}
	if c.course.state != stClosed && c.s.err == nil {
		c.course.state = stClosed
		f := &pb.Frame{Call: c.id, Body: &pb.Frame_Closed{Closed: &pb.Closed{}}}
		c.push(item{frame: f, kind: kClosed, size: frameCost})
	}
	c.finish()
}

// finish ends this side of a call whose closed (or outcome that closes) is queued.
func (c *Call) finish() {
	c.over = true
	c.dropReceived()
	c.EndContext(ErrClosed)
	c.signal()
}

// dropAll takes back what was not sent and forgets what was not taken.
func (c *Call) dropAll() {
	c.lane.out.reset()
	c.lane.cut = nil
	c.s.unpark(&c.lane)
	c.owed, c.half = 0, nil
	c.dropReceived()
	c.dropJoin()
}

// dropReceived forgets what was not taken.
func (c *Call) dropReceived() {
	for c.in.len() > 0 {
		c.s.unhold(int(c.in.pop().held))
	}
	c.in.reset()
}

// dropJoin forgets what has arrived of a frame.
func (c *Call) dropJoin() {
	c.s.unhold(c.s.costs(uint64(c.join.size)))
	c.join = joiner{}
}

// sessionEnded wakes whoever waits on the call. What was received stays.
func (c *Call) sessionEnded() {
	c.EndContext(c.s.err)
	c.signal()
}

// signal wakes Recv and every blocked Send.
func (c *Call) signal() {
	c.signalRecv()
	c.signalRoom()
}

func (c *Call) signalRecv() {
	select {
	case c.wake <- struct{}{}: // a nil channel: nobody has waited yet
	default:
	}
}

func (c *Call) signalRoom() {
	if c.room != nil {
		close(c.room)
		c.room = nil
	}
}

// take is the next frame, or why there is none; both nil: not yet.
func (c *Call) take() (*pb.Frame, error) {
	switch {
	case c.cancel != nil:
		return nil, c.cancel
	case c.over:
		return nil, ErrClosed
	case c.in.len() > 0:
		r := c.in.pop()
		c.hand = int(r.held)
		c.giveBack(int(r.cost))
		return r.frame, nil
	case c.lost != nil:
		return nil, c.lost
	case c.course.state == stClosed:
		return nil, ErrClosed
	}
	return nil, c.s.err
}

// giveBack returns credit to the peer once half a window was taken.
func (c *Call) giveBack(cost int) {
	c.taken += cost
	if cost == 0 || c.taken < c.s.lim.giveBack() || c.course.state == stClosed {
		return
	}
	c.peer += c.taken
	w := &pb.Window{Bytes: uint64(c.taken)}
	c.taken = 0
	c.s.post(&pb.Frame{Call: c.id, Body: &pb.Frame_Window{Window: w}})
}
