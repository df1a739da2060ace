package session

import (
	"errors"
	"io"
	"runtime"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// lane is what one call, or the connection, has to send. Lanes are served in turn.
type lane struct {
	call   *Call // nil: the connection
	out    fifo[item]
	cut    [][]byte // what is left of the first item, if a part of it was sent
	next   *lane
	listed bool // in ready or later
	parked bool // in room.parked
	batch  uint64
	chunks int // of that batch
}

// list is a first-in-first-out list of lanes.
type list struct{ head, tail *lane }

func (l *list) add(n *lane) {
	n.next = nil
	if l.tail == nil {
		l.head, l.tail = n, n
		return
	}
	l.tail.next, l.tail = n, n
}

func (l *list) take() *lane {
	n := l.head
	if n == nil {
		return nil
	}
	l.head, n.next = n.next, nil
	if l.head == nil {
		l.tail = nil
	}
	return n
}

// makeReady lists a lane that has something to send.
func (s *Session) makeReady(l *lane) {
	if s.err != nil {
		return
	}
	if !l.listed {
		l.listed = true
		s.ready.add(l)
	}
	s.kick()
}

// write is the writer goroutine.
func (s *Session) write() {
	defer s.group.Done()
	defer s.guard("writer")
	for {
		// Goroutines that are about to send get the chance to: the batch then
		// holds their frames too.
		runtime.Gosched()
		if !s.nextBatch() {
			select {
			case <-s.wake:
			case <-s.done:
				return
			}
			if len(s.batch) == 0 {
				continue
			}
			// It is what leave could not send.
		}
		s.begins()
		if err := s.stream.Send(s.batch); err != nil {
			s.writeFailed(err)
			return
		}
		s.sending.Store(0)
		s.batchSent()
	}
}

// begins notes that the writer sends now, for LastSign.
func (s *Session) begins() { s.sending.CompareAndSwap(0, int64(time.Since(s.born))) }

// batchSent empties the batch.
func (s *Session) batchSent() {
	clear(s.batch)
	s.batch = s.batch[:0]
}

// leave unlocks s.mu. If kick has decided so, it then is the writer, of one batch and if that needs no wait: the rest is the writer's.
func (s *Session) leave() {
	defer s.guard("writer")
	mine := s.mine
	s.mine, s.direct = false, false
	s.mu.Unlock()
	if !mine || !s.nextBatch() {
		return
	}
	sent, err := s.try.TrySend(s.batch)
	if err != nil {
		s.begins() // and for ever
		s.writeFailed(err)
		return
	}
	if sent {
		s.batchSent()
		if !s.nextBatch() {
			return
		}
	}
	s.wake <- struct{}{} // it took the last one before it was idle
}

// writeFailed ends the plugin's session. The host's goes on until the reader has read what the
// plugin sent before the stream broke.
func (s *Session) writeFailed(err error) {
	if s.cfg.Side == Plugin {
		s.end(err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !errors.Is(err, io.EOF) { // EOF: the reader will see the cause
		s.sendErr = err
	}
}

// nextBatch takes frames until the batch is full or nothing is left to send. If there is none, nobody writes any more, and the
// batch is for whoever kick makes the writer.
func (s *Session) nextBatch() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := s.batch
	for len(batch) == 0 && s.err == nil && !s.quiet() {
		s.batchNo++
		var size int
		batch, size = s.takeControl(batch)
		batch = s.takeLanes(batch, size)
	}
	if s.batch = batch; len(batch) > 0 {
		s.stats.FramesOut += uint64(len(batch))
		s.stats.BatchesOut++
		return true
	}
	s.idle = s.err == nil
	if s.flushed != nil {
		close(s.flushed)
		s.flushed = nil
	}
	return false
}

// takeControl appends control frames to batch and returns their size.
func (s *Session) takeControl(batch []*pb.Frame) ([]*pb.Frame, int) {
	size := 0
	for s.control.len() > 0 && size < batchSize {
		f := s.control.pop()
		if w := f.GetWindow(); w != nil && w == s.room.told {
			s.room.told = nil
		}
		size += proto.Size(f)
		batch = append(batch, f)
	}
	if s.control.len() == 0 {
		s.replies, s.changed = 0, false
	}
	return batch, size
}

// takeLanes appends frames of the ready lanes to batch, which holds size bytes already.
func (s *Session) takeLanes(batch []*pb.Frame, size int) []*pb.Frame {
	for size < batchSize {
		l := s.ready.take()
		if l == nil {
			break
		}
		var n int
		var after turn
		batch, n, after = s.serve(l, batch, size)
		size += n
		switch after {
		case turnOver:
			s.ready.add(l)
		case turnWait:
			s.later.add(l)
		case turnIdle:
			l.listed = false
		}
	}
	for l := s.later.take(); l != nil; l = s.later.take() {
		s.ready.add(l)
	}
	return batch
}

// turn says what becomes of a lane after its turn.
type turn uint8

const (
	turnOver turn = iota // it has more
	turnWait             // it has more, but nothing for this batch
	turnIdle             // nothing can be sent
)

// serve appends one turn's frames of l to batch, which holds full bytes already, and returns their size.
func (s *Session) serve(l *lane, batch []*pb.Frame, full int) ([]*pb.Frame, int, turn) {
	size := 0
	for l.out.len() > 0 {
		if size >= turnSize {
			return batch, size, turnOver
		}
		it := l.out.front()
		whole := it.data == nil && it.size <= chunkAt
		if !whole && l.batch == s.batchNo && l.chunks >= batchChunks || l.waitsForLog(s) {
			return batch, size, turnWait
		}
		if !whole && l.cut == nil && !s.roomLeft(l) || !l.pay(it) {
			return batch, size, turnIdle
		}
		if whole {
			batch = append(batch, it.frame)
			size += it.size
			s.sent(l)
			continue
		}
		f, err := l.chunk(s.batchNo, s.chunkRoom(len(batch), full+size))
		if err != nil {
			s.stats.Violations++ // cannot be: text was cleaned when it was queued
			s.sent(l)
			continue
		}
		s.takeRoom(l, f.GetChunk())
		batch = append(batch, f)
		size += len(f.GetChunk().GetData()) + frameRoom
		if len(l.cut) == 0 {
			s.sent(l)
		} else if l.call != nil && l.call.handed == handedNone {
			l.call.handed = handedPart
		}
	}
	return batch, size, turnIdle
}

// chunkRoom is how large a chunk may be in a batch of so many frames and bytes. While nothing else waits to be sent, it fills the batch:
// each message has its costs, at both ends.
func (s *Session) chunkRoom(frames, full int) int {
	if !s.quiet() {
		return wire.ChunkSize
	}
	return max(wire.ChunkSize, MaxBatch-full-frameRoom*(frames+1))
}

// waitsForLog reports whether the first item is an outcome whose log records are not all sent (O4).
func (l *lane) waitsForLog(s *Session) bool {
	return l.call != nil && l.out.front().kind.outcome() && l.call.lastLog > s.logs.sent
}

// pay takes an item's credit; false if there is not enough. What is paid is sent at once, so that
// nothing is joined to it any more.
func (l *lane) pay(it *item) bool {
	if it.cost == 0 {
		return true
	}
	c := l.call
	if it.cost > c.credit {
		return false
	}
	c.credit -= it.cost
	c.owed -= it.cost
	it.cost = 0
	c.signalRoom()
	return true
}

// chunk cuts the next piece, of at most room bytes, from the lane's first item.
func (l *lane) chunk(batch uint64, room int) (*pb.Frame, error) {
	it := l.out.front()
	if l.batch != batch {
		l.batch, l.chunks = batch, 0
	}
	l.chunks++
	piece := &pb.Chunk{}
	if l.cut == nil {
		if it.data == nil { // a joined delta or a log record
			data, err := proto.Marshal(it.frame)
			if err != nil {
				return nil, err
			}
			it.data = [][]byte{data}
			it.size = len(data)
		}
		l.cut, it.frame = it.data, nil
		piece.Size = uint64(it.size)
	}
	from := &l.cut[0]
	n := min(room, len(*from))
	piece.Data, *from = (*from)[:n:n], (*from)[n:]
	if len(*from) == 0 {
		l.cut = l.cut[1:]
	}
	piece.Last = len(l.cut) == 0
	f := &pb.Frame{Body: &pb.Frame_Chunk{Chunk: piece}}
	if l.call != nil {
		f.Call = l.call.id
	}
	return f, nil
}

// sent takes the first item, which was handed over whole, out of its lane.
func (s *Session) sent(l *lane) {
	it := l.out.pop()
	l.cut = nil
	c := l.call
	if c == nil {
		s.logSent(it)
		return
	}
	switch it.kind {
	case kOpen:
		c.handed = handedAll
	case kAnswer:
		c.unsent--
	}
	c.started = c.started || it.starts
	if s.cfg.Side == Plugin && c.course.state == stClosed && l.out.len() == 0 {
		delete(s.calls, c.id)
	}
}
