package session

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// read is the reader goroutine.
func (s *Session) read() {
	defer s.group.Done()
	defer s.guard("reader")
	s.readFailed(s.stream.Receive(s.receiver()))
}

// receiver is what takes the batches, and tells OnLull.
func (s *Session) receiver() func([]*pb.Frame) {
	if s.cfg.OnLull == nil {
		return s.receive
	}
	if r, ok := s.stream.(luller); ok {
		r.Lull(s.cfg.OnLull)
		return s.receive
	}
	return func(frames []*pb.Frame) {
		s.receive(frames)
		_ = s.cfg.OnLull(false) // no work then
	}
}

// guard makes a panic of one of the session's goroutines, or of a function of Config that it calls, the session's end
// (H6).
func (s *Session) guard(goroutine string) {
	if v := recover(); v != nil {
		s.end(fmt.Errorf("panic in the session's %s: %v", goroutine, v))
	}
}

func (s *Session) readFailed(err error) {
	s.mu.Lock()
	if errors.Is(err, io.EOF) {
		err = errPeerEnded
		if s.sendErr != nil {
			err = s.sendErr
		}
	}
	s.mu.Unlock()
	s.end(err)
}

// receive handles one batch. It never waits for a call. It may run in a goroutine of the stream's.
func (s *Session) receive(frames []*pb.Frame) {
	defer s.guard("reader")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastTime = time.Now()
	s.stats.BatchesIn++
	s.stats.FramesIn += uint64(len(frames))
	for _, f := range frames {
		if s.err != nil {
			return
		}
		s.receiveFrame(f)
	}
}

// receiveFrame handles one frame as it came from the stream.
func (s *Session) receiveFrame(f *pb.Frame) {
	switch k := kindOf(f); k {
	case kUnknown:
		s.stats.Unknown++
	case kChunk:
		s.receiveChunk(f.GetCall(), f.GetChunk())
	case kWindow:
		s.receiveWindow(f.GetCall(), f.GetWindow())
	case kCancel:
		s.receiveCancel(f.GetCall(), f.GetCancel())
	case kLog:
		s.receiveLog(f)
	case kHello, kWelcome, kPing, kPong, kDrain, kToolsChanged:
		s.receiveConn(k, f)
	default:
		s.receiveCall(k, f, 0)
	}
}

// receiveCall handles a whole frame of a call. size is that of its encoding if it is known.
func (s *Session) receiveCall(k kind, f *pb.Frame, size int) {
	if (kindTable[k].from == hostCall) != (s.cfg.Side == Plugin) {
		s.stats.Violations++
		return
	}
	c := s.calls[f.GetCall()]
	if k == kOpen && c == nil {
		if c = s.admit(f.GetCall()); c == nil {
			return
		}
	}
	switch {
	case c == nil:
		s.stats.Stray++
	case c.over || c.cancel != nil:
		c.receiveOver(k, f)
	case c.join.active && size == 0 && k != kClosed:
		s.stats.Violations++ // between the chunks of another frame
	case k == kOpen:
		s.receiveOpen(c, f, size)
	default:
		c.receive(k, f, size)
	}
}

// admit makes the entry of a call whose open begins to arrive, or counts why not.
func (s *Session) admit(id uint64) *Call {
	if s.phase < phServing || id <= s.lastID {
		s.stats.Violations++
		return nil
	}
	s.lastID = id
	c := s.newCall(id)
	s.calls[id] = c
	return c
}

func (s *Session) receiveOpen(c *Call, f *pb.Frame, size int) {
	next, reason := c.course.check(kOpen, f)
	if reason != "" {
		s.stats.Violations++
		if c.course.state == stNew {
			s.refuse(c)
		}
		return
	}
	if limit := s.lim.of(kOpen); tooLarge(f, size, limit) {
		s.stats.Violations++
		s.refuse(c)
		return
	}
	open := f.GetOpen()
	c.course.apply(kOpen, f, next)
	if ns := open.GetTimeoutNs(); ns > 0 {
		c.ctx.deadline = s.lastTime.Add(time.Duration(min(ns, uint64(math.MaxInt64))))
	}
	s.outside(func() { s.cfg.OnOpen(c, open) })
}

// refuse closes a call whose open was not usable.
func (s *Session) refuse(c *Call) {
	delete(s.calls, c.id)
	c.course.state, c.over = stClosed, true
	s.reply(&pb.Frame{Call: c.id, Body: &pb.Frame_Closed{Closed: &pb.Closed{}}})
}

// receive handles a frame of a call that lives.
func (c *Call) receive(k kind, f *pb.Frame, size int) {
	next, reason := c.course.check(k, f)
	switch {
	case reason != "":
	case k == kInputDelta && !utf8.Valid(f.GetInputDelta().GetData()):
		reason = "not UTF-8"
	case k == kQuestion && c.course.questions+int(c.unsent) >= maxQuestions:
		reason = "the answers to too many questions are not taken"
	}
	if reason != "" {
		if c.course.late(k) {
			c.s.stats.Stray++
		} else {
			c.s.stats.Violations++
		}
		return
	}
	if limit := c.s.lim.of(k); tooLarge(f, size, limit) {
		c.loseFrame(&TooLargeError{Limit: limit, Size: proto.Size(f), Direction: Receiving})
		return
	}
	if n := len(viewsOf(f)); n > maxViews {
		c.loseFrame(&StateError{Frame: k.String(), State: c.course.state.String(), Reason: fmt.Sprintf("%d views; the limit is %d", n, maxViews)})
		return
	}
	cost := 0
	if k.credited() {
		forgetUnknown(f)
		if cost = c.s.lim.cost(payload(f)); cost > c.peer {
			c.s.stats.Violations++
			return
		}
		c.peer -= cost
	}
	c.course.apply(k, f, next)
	c.deliver(k, received{frame: f, cost: int32(cost), held: int32(c.s.costs(uint64(size)))})
	if next == stClosed {
		c.peerClosed()
	} else if k.outcome() {
		c.signalRoom() // deltas that wait have nobody to go to
	}
}

// deliver queues a frame for Recv. A progress that was not taken yet is replaced.
func (c *Call) deliver(k kind, r received) {
	if k == kClosed {
		return
	}
	c.s.room.kept = r.held > 0
	if k == kProgress {
		if c.newest > 0 {
			if waiting := c.in.at(c.newest - 1); waiting != nil {
				c.s.unhold(int(waiting.held))
				*waiting = r
				return
			}
		}
		c.newest = c.in.push(r) + 1
	} else {
		c.in.push(r)
	}
	c.signalRecv()
}

// peerClosed frees the id; what was received stays until it is taken.
func (c *Call) peerClosed() {
	c.course.state = stClosed
	if c.over {
		c.s.unclosed--
	}
	c.lane.out.reset()
	c.lane.cut, c.owed, c.half = nil, 0, nil
	c.dropJoin()
	c.signal()
	c.s.forget(c)
}

// forget frees the id of a call of the host's.
func (s *Session) forget(c *Call) {
	delete(s.calls, c.id)
	if s.settled != nil && !s.settling() {
		close(s.settled)
		s.settled = nil
	}
}

// receiveOver handles a frame of a call that is over on this side but not on the peer's.
func (c *Call) receiveOver(k kind, f *pb.Frame) {
	switch {
	case k == kClosed:
	case k.outcome() && closes(f):
		c.s.stats.Stray++
	default:
		c.s.stats.Stray++
		if cost := c.s.lim.cost(payload(f)); k.credited() && cost <= c.peer && c.s.control.len() < maxReplies {
			c.peer -= cost
			c.giveBack(cost) // the peer must not wait for it
		}
		return
	}
	if c.s.cfg.Side == Host {
		c.peerClosed()
	}
}

// loseFrame remembers that a frame did not reach Recv.
func (c *Call) loseFrame(err error) {
	c.s.stats.Violations++
	if c.lost == nil {
		c.lost = err
	}
	c.signalRecv()
}

func (s *Session) receiveWindow(id uint64, w *pb.Window) {
	if id == 0 {
		s.receiveRoom(w)
		return
	}
	c := s.calls[id]
	if c == nil {
		s.stats.Stray++
		return
	}
	if w.GetBytes() > uint64(s.lim.Window-c.credit) {
		s.stats.Violations++
		return
	}
	c.credit += int(w.GetBytes())
	if c.lane.out.len() > 0 {
		s.makeReady(&c.lane)
	}
	c.signalRoom()
}

func (s *Session) receiveCancel(id uint64, cancel *pb.Cancel) {
	if s.cfg.Side != Plugin || id == 0 || id > s.lastID {
		s.stats.Violations++
		return
	}
	c := s.calls[id]
	switch {
	case c == nil: // it crossed the end of the call, which may have come in chunks that the host drops
		s.stats.Stray++
		s.reply(&pb.Frame{Call: id, Body: &pb.Frame_Closed{Closed: &pb.Closed{}}})
	case c.course.state == stNew:
		s.refuse(c)
	case c.cancel != nil:
		s.stats.Violations++
	case c.course.state == stClosed: // the outcome waits to be sent
		c.dropAll()
		delete(s.calls, id)
		s.reply(&pb.Frame{Call: id, Body: &pb.Frame_Closed{Closed: &pb.Closed{}}})
	default:
		c.cancel = &CancelError{Reason: cancel.GetReason(), Message: cancel.GetMessage()}
		c.dropAll()
		c.EndContext(c.cancel)
		c.signal()
	}
}

// tooLarge reports whether f is over limit. size is that of its encoding, or 0 if it came whole:
// then it must also not be one that should have been cut.
func tooLarge(f *pb.Frame, size, limit int) bool {
	switch {
	case size > 0:
		return size > limit
	case limit > chunkAt:
		return payload(f) > chunkAt
	}
	return proto.Size(f) > limit
}

// forgetUnknown drops the fields of a credited frame that this version does not know: credit does not count them, so
// they must not wait with it (H3).
func forgetUnknown(f *pb.Frame) {
	forget(f.ProtoReflect())
	switch b := f.GetBody().(type) {
	case *pb.Frame_InputDelta:
		forget(b.InputDelta.ProtoReflect())
	case *pb.Frame_Write:
		forget(b.Write.ProtoReflect())
	case *pb.Frame_DeltaView:
		forget(b.DeltaView.ProtoReflect())
	case *pb.Frame_Span:
		forget(b.Span.ProtoReflect())
	}
}

func forget(m protoreflect.Message) {
	if len(m.GetUnknown()) > 0 {
		m.SetUnknown(nil)
	}
}

// forgetAll is forgetUnknown for every frame, at any depth.
func forgetAll(m protoreflect.Message) {
	forget(m)
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				forgetAll(v.List().Get(i).Message())
			}
		default:
			forgetAll(v.Message())
		}
		return true
	})
}
