package session

import (
	"math"
	"slices"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// room is what large frames, those that come in chunks, take of Config.Held at either end. It is the credit of the connection, as a
// window is that of a call; all of it is guarded by Session.mu.
type room struct {
	// Of what this end receives:
	held  int        // what frames take
	freed int        // what they take no more, and the peer was not told
	told  *pb.Window // which waits to tell it; nil: none does
	kept  bool       // the frame that has become whole waits for Recv

	// Of what it sends:
	limit  int     // the peer's; 0: none
	used   int     // what frames take there, as far as this end was told
	parked []*lane // that wait for room, in their order
}

// costs is what a frame of so many bytes takes of Config.Held: at most half of it, so that two may be under way whatever it is, and
// any frame can go although the receiver lets some gather before it tells.
func (s *Session) costs(size uint64) int { return roomFor(s.cfg.Held, size) }

func roomFor(limit int, size uint64) int {
	if limit <= 0 {
		return 0
	}
	return int(min(size, uint64(max(1, limit/2))))
}

// hold takes room for a frame of which the first chunk has come. The error is a *FullError; what it cost the peer is then given back.
func (s *Session) hold(first *pb.Chunk) error {
	cost := s.costs(first.GetSize())
	if held := s.room.held; held+cost > s.cfg.Held && cost > 0 {
		s.giveRoom(cost)
		return &FullError{Limit: s.cfg.Held, Held: held, Size: int(min(first.GetSize(), math.MaxInt))}
	}
	s.room.held += cost
	return nil
}

// unhold gives back what a frame took.
func (s *Session) unhold(cost int) {
	s.room.held -= cost
	s.giveRoom(cost)
}

// unholdLost is unhold for a frame that has become whole, unless it waits for Recv.
func (s *Session) unholdLost(cost int) {
	if !s.room.kept {
		s.unhold(cost)
	}
}

// giveRoom tells the peer of room, once an eighth has gathered.
func (s *Session) giveRoom(cost int) {
	r := &s.room
	if r.freed += cost; r.freed == 0 || r.freed < s.cfg.Held/8 {
		return
	}
	if r.told == nil {
		r.told = &pb.Window{}
		s.post(&pb.Frame{Body: &pb.Frame_Window{Window: r.told}})
	}
	r.told.Bytes += uint64(r.freed)
	r.freed = 0
}

// roomLeft reports whether the peer has room for the first item of l, of which nothing was sent. If not, l is parked.
func (s *Session) roomLeft(l *lane) bool {
	r := &s.room
	if l.call == nil || r.used+roomFor(r.limit, uint64(l.out.front().size)) <= r.limit {
		return true
	}
	if !l.parked {
		l.parked = true
		r.parked = append(r.parked, l)
	}
	return false
}

// takeRoom takes room of the peer's for the frame that begins with this chunk of l, if one does.
func (s *Session) takeRoom(l *lane, first *pb.Chunk) {
	if l.call != nil {
		s.room.used += roomFor(s.room.limit, first.GetSize())
	}
}

// receiveRoom takes what the peer tells of its room, and lets those that wait for it try again.
func (s *Session) receiveRoom(w *pb.Window) {
	r := &s.room
	if w.GetBytes() > uint64(r.used) {
		s.stats.Violations++
		return
	}
	r.used -= int(w.GetBytes())
	parked := r.parked
	r.parked = nil
	for _, l := range parked {
		if l.parked = false; l.out.len() > 0 {
			s.makeReady(l)
		}
	}
}

// unpark forgets that l waits.
func (s *Session) unpark(l *lane) {
	if l.parked {
		l.parked = false
		s.room.parked = slices.DeleteFunc(s.room.parked, func(p *lane) bool { return p == l })
	}
}
