package session

import (
	"context"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Hello sends the host's hello and waits for the welcome, after which both ends
// keep to the smaller of both ends' limits. Host side, once, before any Open. If
// h.Limits is nil, the session fills in its own and Config.Held. A welcome with a refusal is
// returned like any other, but no call can be opened. h belongs to the session
// afterwards. Errors: *StateError for a second hello, *TooLargeError, ErrEnded,
// or ctx's cause.
func (s *Session) Hello(ctx context.Context, h *pb.Hello) (*pb.Welcome, error) {
	if h.Limits == nil {
		h.Limits = s.own.toWire()
		h.Limits.Held = uint64(s.cfg.Held)
	}
	if err := s.sendHello(h); err != nil {
		return nil, err
	}
	select {
	case <-s.greeted:
	case <-s.done:
		select {
		case <-s.greeted: // it came before the end
		default:
			return nil, s.Err()
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.welcome, nil
}

// Ping waits for the peer's pong. Errors: ErrEnded, or ctx's cause.
func (s *Session) Ping(ctx context.Context) error {
	pong := make(chan struct{})
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return s.err
	}
	s.nonce++
	nonce := s.nonce
	s.pings[nonce] = pong
	s.post(&pb.Frame{Body: &pb.Frame_Ping{Ping: &pb.Ping{Nonce: nonce}}})
	s.mu.Unlock()
	select {
	case <-pong:
		return nil
	case <-s.done:
		return s.Err()
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pings, nonce)
		return context.Cause(ctx)
	}
}

// Drain tells the plugin that no more calls come and that the host stops it
// after d. Open fails from then on. Host side; once, after the welcome; else it does nothing.
func (s *Session) Drain(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Side != Host || s.phase != phServing {
		return
	}
	s.phase = phDraining
	s.post(&pb.Frame{Body: &pb.Frame_Drain{Drain: &pb.Drain{DeadlineNs: uint64(max(0, d))}}})
}

// ToolsChanged tells the host to describe again. One that was not sent yet
// stands for all. Plugin side.
func (s *Session) ToolsChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Side != Plugin || s.changed {
		return
	}
	s.changed = true
	s.post(&pb.Frame{Body: &pb.Frame_ToolsChanged{ToolsChanged: &pb.ToolsChanged{}}})
}

func (s *Session) sendHello(h *pb.Hello) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.cfg.Side != Host || s.phase != phNew {
		return &StateError{Frame: kHello.String(), State: s.phase.String()}
	}
	if err := s.postLarge(kHello, &pb.Frame{Body: &pb.Frame_Hello{Hello: h}}); err != nil {
		return err
	}
	s.phase = phHello
	return nil
}

// postLarge posts a frame of the connection, or queues it for cutting.
func (s *Session) postLarge(k kind, f *pb.Frame) error {
	clean(f)
	it, err := encode(f, k)
	if err != nil {
		return err
	}
	if it.size > s.lim.Message {
		return &TooLargeError{Limit: s.lim.Message, Size: it.size, Direction: Sending}
	}
	if it.data == nil {
		s.post(f)
		return nil
	}
	s.conn.out.push(it)
	s.makeReady(&s.conn)
	return nil
}

// receiveConn handles a frame of the connection. It is called with s.mu held, and gives it up
// while it calls the owner's functions.
func (s *Session) receiveConn(k kind, f *pb.Frame) {
	switch from := kindTable[k].from; {
	case f.GetCall() != 0, from == hostConn && s.cfg.Side != Plugin, from == pluginConn && s.cfg.Side != Host:
		s.stats.Violations++
		return
	}
	switch k {
	case kHello:
		s.receiveHello(f.GetHello())
	case kWelcome:
		s.receiveWelcome(f.GetWelcome())
	case kPing:
		s.reply(&pb.Frame{Body: &pb.Frame_Pong{Pong: &pb.Pong{Nonce: f.GetPing().GetNonce()}}})
	case kPong:
		s.receivePong(f.GetPong().GetNonce())
	case kDrain:
		s.receiveDrain(f.GetDrain())
	case kToolsChanged:
		if s.cfg.OnToolsChanged != nil {
			s.outside(s.cfg.OnToolsChanged)
		}
	}
}

// outside calls fn without s.mu.
func (s *Session) outside(fn func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	fn()
}

func (s *Session) receiveHello(h *pb.Hello) {
	if s.phase != phNew {
		s.stats.Violations++
		return
	}
	s.phase = phHello
	s.lim = s.own.smaller(h.GetLimits())
	s.room.limit = fromWire(h.GetLimits().GetHeld())
	var w *pb.Welcome
	s.outside(func() { w = s.cfg.OnHello(h) })
	if w == nil {
		w = &pb.Welcome{Refusal: "the plugin does not serve sessions"}
	}
	if w.Limits == nil {
		w.Limits = s.own.toWire()
		w.Limits.Held = uint64(s.cfg.Held)
	}
	s.lim = s.lim.smaller(w.Limits)
	if err := s.postLarge(kWelcome, &pb.Frame{Body: &pb.Frame_Welcome{Welcome: w}}); err != nil {
		s.post(&pb.Frame{Body: &pb.Frame_Welcome{Welcome: &pb.Welcome{Refusal: err.Error()}}})
		return
	}
	if w.Refusal == "" && s.phase == phHello {
		s.phase = phServing
	}
}

func (s *Session) receiveWelcome(w *pb.Welcome) {
	if s.phase != phHello || s.welcome != nil {
		s.stats.Violations++
		return
	}
	s.lim = s.own.smaller(w.GetLimits())
	s.room.limit = fromWire(w.GetLimits().GetHeld())
	s.welcome = w
	if w.GetRefusal() == "" {
		s.phase = phServing
	}
	close(s.greeted)
}

func (s *Session) receivePong(nonce uint64) {
	pong := s.pings[nonce]
	if pong == nil {
		s.stats.Stray++
		return
	}
	delete(s.pings, nonce)
	close(pong)
}

func (s *Session) receiveDrain(d *pb.Drain) {
	if s.phase != phServing {
		s.stats.Violations++
		return
	}
	s.phase = phDraining
	if s.cfg.OnDrain != nil {
		left := time.Duration(min(d.GetDeadlineNs(), uint64(1<<63-1)))
		s.outside(func() { s.cfg.OnDrain(left) })
	}
}
