package session

import pb "github.com/toolhost/toolhost/proto/toolplugin/v1"

// joiner joins the chunks of one frame.
type joiner struct {
	active bool
	skip   bool // the frame is lost: the rest is not stored
	size   int  // as announced
	total  int  // arrived
	body   *body
}

// joining is the state in a StateError about chunks.
const joining = "JOINING"

// add takes the next chunk. It returns where its data belong, or the error that loses the frame, once. An announced size is checked
// before anything is stored.
func (j *joiner) add(c *pb.Chunk, limit int) (*body, error) {
	if !j.active {
		j.active = true
		if c.GetSize() > uint64(limit) {
			size := int(min(c.GetSize(), 1<<62))
			return nil, j.lose(c, &TooLargeError{Limit: limit, Size: size, Direction: Receiving})
		}
		j.size = int(c.GetSize())
		j.body = &body{size: j.size}
	}
	if j.skip {
		if c.GetLast() {
			*j = joiner{}
		}
		return nil, nil
	}
	total := j.total + len(c.GetData())
	if total > j.size || c.GetLast() && total != j.size || j.size == 0 {
		return nil, j.lose(c, &StateError{Frame: kChunk.String(), State: joining, Reason: "the chunks do not add up to the announced size"})
	}
	j.total = total
	to := j.body
	if c.GetLast() {
		*j = joiner{}
	}
	return to, nil
}

// lose gives the frame up; chunks up to the last one are skipped.
func (j *joiner) lose(c *pb.Chunk, err error) error {
	*j = joiner{active: !c.GetLast(), skip: !c.GetLast()}
	return err
}

func (s *Session) receiveChunk(id uint64, chunk *pb.Chunk) {
	if id == 0 {
		s.receiveConnChunk(chunk)
		return
	}
	c := s.calls[id]
	if c == nil && s.cfg.Side == Plugin && id > s.lastID {
		if c = s.admit(id); c == nil {
			return
		}
	}
	if c == nil || c.over || c.cancel != nil {
		s.stats.Stray++
		s.giveRoom(s.costs(chunk.GetSize())) // the peer must not wait for it
		return
	}
	body, err := c.addChunk(chunk)
	if body == nil && err == nil {
		return
	}
	var f *pb.Frame
	var size int
	if err == nil {
		s.outside(func() {
			if body.add(chunk.GetData()); chunk.GetLast() {
				f, size, err = body.frame()
			}
		})
	}
	if chunk.GetLast() && body != nil {
		s.room.kept = false
		defer s.unholdLost(s.costs(uint64(body.size)))
	}
	switch {
	case err == nil && f == nil: // there is more to come
	case err != nil && c.course.state == stNew:
		s.stats.Violations++
		s.refuse(c)
	case err != nil:
		c.loseFrame(err)
	default:
		s.receiveJoined(c, f, size)
	}
}

// addChunk gives a chunk to the joiner, if there is room for the whole frame. That of a frame that is whole stays taken.
func (c *Call) addChunk(chunk *pb.Chunk) (*body, error) {
	s, cost := c.s, c.s.costs(uint64(c.join.size))
	if !c.join.active {
		if err := s.hold(chunk); err != nil {
			return nil, c.join.lose(chunk, err)
		}
		cost = s.costs(chunk.GetSize())
	}
	to, err := c.join.add(chunk, s.lim.Message)
	if err != nil {
		s.unhold(cost)
	}
	return to, err
}

// receiveJoined handles a frame that came in chunks on c.
func (s *Session) receiveJoined(c *Call, f *pb.Frame, size int) {
	k := kindOf(f)
	from := kindTable[k].from
	switch {
	case k == kUnknown:
		s.stats.Unknown++
	case f.GetCall() != c.id || from != hostCall && from != pluginCall || (k == kOpen) != (c.course.state == stNew):
		s.stats.Violations++
	default:
		s.receiveCall(k, f, size)
		return
	}
	if c.course.state == stNew {
		s.refuse(c)
	}
}

// receiveConnChunk handles a chunk of a log record, hello or welcome.
func (s *Session) receiveConnChunk(chunk *pb.Chunk) {
	body, err := s.incoming.add(chunk, s.lim.Message)
	if body == nil && err == nil {
		return
	}
	var f *pb.Frame
	if err == nil {
		if body.add(chunk.GetData()); !chunk.GetLast() {
			return
		}
		f, _, err = body.frame()
	}
	if err != nil {
		s.stats.Violations++
		return
	}
	switch k := kindOf(f); k {
	case kUnknown:
		s.stats.Unknown++
	case kLog:
		s.receiveLog(f)
	case kHello, kWelcome:
		s.receiveConn(k, f)
	default:
		s.stats.Violations++
	}
}
