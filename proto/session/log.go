package session

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/internal/runes"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// logQueue counts the plugin's log records; they wait in the connection's lane.
type logQueue struct {
	seq     uint64 // of the newest record
	sent    uint64 // of the newest record that was handed to the stream
	waiting int
	dropped uint64 // since the newest record
}

// logCut marks a record that was cut to the limit, and says by how many bytes (O2).
const logCut = " [%d bytes cut]"

// Log queues a record of call (0: none) and returns its sequence number. It
// never blocks: if wire.LogQueue records wait already, or the session has ended, the
// record is dropped, the next one says how many were, and Log returns 0. A
// record over Limits.Log loses its attributes and the end of its message, and
// says at its end how many bytes of both are missing. rec belongs to the session afterwards; Seq and Dropped are
// set. Records go out before a later outcome of their call, and take turns with
// calls otherwise. Plugin side.
func (s *Session) Log(call uint64, rec *pb.Log) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.Side != Plugin || s.err != nil {
		return 0
	}
	if s.logs.waiting >= wire.LogQueue {
		s.logs.dropped++
		s.stats.LogsDropped++
		return 0
	}
	f := &pb.Frame{Call: call, Body: &pb.Frame_Log{Log: rec}}
	clean(f)
	cutLog(rec, s.lim.Log)
	s.logs.seq++
	s.logs.waiting++
	rec.Seq, rec.Dropped = s.logs.seq, s.logs.dropped
	s.logs.dropped = 0
	s.conn.out.push(item{frame: f, kind: kLog, size: proto.Size(f)})
	s.makeReady(&s.conn)
	if c := s.calls[call]; c != nil && c.course.state < stOutput {
		c.lastLog = rec.Seq
	}
	return rec.Seq
}

// cutLog makes rec's message and attributes fit into limit bytes.
func cutLog(rec *pb.Log, limit int) {
	if len(rec.Message)+len(rec.Attributes) <= limit {
		return
	}
	all := len(rec.Message) + len(rec.Attributes)
	room := max(0, limit-len(fmt.Sprintf(logCut, all))) // the mark with the longest number
	rec.Attributes = nil
	rec.Message = runes.Prefix(rec.Message, room)
	rec.Message += fmt.Sprintf(logCut, all-len(rec.Message))
}

// logSent notes that an item of the connection's lane was handed over.
func (s *Session) logSent(it item) {
	if it.kind == kLog {
		s.logs.waiting--
		s.logs.sent++ // records are sent in the order of their numbers
	}
}

// receiveLog hands a record on. It is called with s.mu held and gives it up meanwhile.
func (s *Session) receiveLog(f *pb.Frame) {
	rec := f.GetLog()
	if s.cfg.Side != Host || len(rec.GetMessage())+len(rec.GetAttributes()) > s.lim.Log {
		s.stats.Violations++
		return
	}
	if s.cfg.OnLog == nil {
		return
	}
	s.mu.Unlock()
	defer s.mu.Lock()
	s.cfg.OnLog(f.GetCall(), rec)
}
