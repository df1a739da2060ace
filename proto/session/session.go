package session

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Side is which end of the connection a Session is.
type Side int

// The two ends.
const (
	// Host opens calls.
	Host Side = iota
	// Plugin answers them.
	Plugin
)

// Config configures one end. The functions are called by the reading goroutine,
// in the order of the frames, and must not block. They may use the session and
// its calls.
type Config struct {
	// Side is which end this is.
	Side Side
	// Limits are this end's own; the smaller of both ends' hold after the welcome.
	Limits Limits
	// Held is how many bytes of the peer's large frames, those that come in chunks, this end holds at once, of all calls
	// together: what is announced and arrives, what waits for Recv, and what Recv returned last. A frame counts as half of
	// Held at most. The peer waits until there is room; what one sends that does not is lost with a *FullError, before
	// anything of it is stored. If zero, no limit.
	Held int

	// OnHello answers the hello. Plugin side, required. If it returns nil, or a
	// welcome with a refusal, no call can be opened. If Limits of the welcome is
	// nil, the session fills it in.
	OnHello func(*pb.Hello) *pb.Welcome
	// OnOpen is told of a new call. Plugin side, required. The first Recv of the
	// call returns what follows open.
	OnOpen func(*Call, *pb.Open)
	// OnLull is told that all frames that have arrived were handed over. If idle is true, it may take its time: another goroutine goes on
	// reading if it takes a millisecond or two, and calls these functions, OnLull too, beside it. May be nil.
	OnLull func(idle bool) (work func())
	// OnDrain is told that no more calls come. Plugin side, may be nil.
	OnDrain func(d time.Duration)

	// OnLog takes a log record of a call (0: none). Host side, may be nil. Every
	// record of a call that was written before its outcome is handed over before Recv
	// returns the outcome (O4).
	OnLog func(call uint64, rec *pb.Log)
	// OnToolsChanged is told that Describe would answer something new. Host side,
	// may be nil.
	OnToolsChanged func()
}

// Session is one end of a connection that carries many calls. Its methods may
// be called concurrently.
type Session struct {
	cfg    Config
	stream Stream
	own    Limits
	group  sync.WaitGroup
	done   chan struct{}
	wake   chan struct{} // tells the writer that there is something to send; capacity 1
	try    trySender     // the stream, or nil
	batch  []*pb.Frame   // the writer's, whoever that is

	born    time.Time
	sending atomic.Int64 // nanoseconds from born on: since when the writer sends, or cannot any more; 0: it does not

	mu       sync.Mutex
	err      error // why the session ended
	sendErr  error // what ended the writer
	phase    phase
	lim      Limits // in force
	greeted  chan struct{}
	welcome  *pb.Welcome
	calls    map[uint64]*Call
	unclosed int // of them, those that are over on the host's side
	lastID   uint64
	pings    map[uint64]chan struct{}
	nonce    uint64
	lastTime time.Time
	stats    Stats
	room     room

	// What waits to be sent.
	idle     bool            // the writer waits for wake
	direct   bool            // whoever holds mu writes what it queues if the writer is idle
	mine     bool            // it has to
	control  fifo[*pb.Frame] // passes everything else
	replies  int             // frames in control that the peer asked for
	changed  bool            // tools_changed is in control
	ready    list            // lanes with something to send
	later    list            // lanes that have had their share of this batch
	batchNo  uint64          // counts batches
	conn     lane            // call 0: log records, large hello and welcome
	logs     logQueue
	flushed  chan struct{} // closed when everything was handed over; nil if nobody waits
	incoming joiner        // call 0
	settled  chan struct{} // closed when no accepted call is open; nil if nobody waits

	// For the contexts whose end somebody waits for.
	timer   *time.Timer
	alarmAt time.Time // when it fires; zero: not set
}

// phase is where the session is.
type phase uint8

const (
	phNew phase = iota
	phHello
	phServing
	phDraining
)

func (p phase) String() string {
	return [...]string{"NEW", "HELLO", "SERVING", "DRAINING"}[p]
}

var (
	errClosedHere = errors.New("closed by this end")
	errPeerEnded  = errors.New("closed by the peer")
)

// New starts the reader and the writer of a session on stream. They end when the
// stream ends or Close is called; Wait joins them. The session does not close
// the stream at its end unless Close is called.
func New(stream Stream, cfg Config) *Session {
	s := &Session{
		cfg:     cfg,
		stream:  stream,
		own:     cfg.Limits.withDefaults(),
		done:    make(chan struct{}),
		wake:    make(chan struct{}, 1),
		greeted: make(chan struct{}),
		calls:   make(map[uint64]*Call),
		pings:   make(map[uint64]chan struct{}),
		born:    time.Now(),
	}
	s.lastTime = s.born
	s.lim = s.own
	s.group.Add(2)
	s.try, _ = stream.(trySender)
	go s.read()  // ends when stream.Receive returns; joined by Wait
	go s.write() // ends with the session or when stream.Send fails; joined by Wait
	return s
}

// Open begins a call. It never blocks: the frame is sent in its turn. open
// belongs to the session afterwards. Host side. Errors: *StateError before the
// welcome and after Drain, *TooLargeError, ErrEnded.
func (s *Session) Open(open *pb.Open) (*Call, error) {
	f := &pb.Frame{Body: &pb.Frame_Open{Open: open}}
	clean(f)
	it, err := encode(f, kOpen)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.leave()
	if s.err != nil {
		return nil, s.err
	}
	if s.phase != phServing || s.cfg.Side != Host {
		return nil, &StateError{Frame: kOpen.String(), State: s.phase.String()}
	}
	next, reason := checkOpen(open)
	if reason != "" {
		return nil, &StateError{Frame: kOpen.String(), State: stNew.String(), Reason: reason}
	}
	it.setCall(s.lastID + 1)
	if it.size > s.lim.Message {
		return nil, &TooLargeError{Limit: s.lim.Message, Size: it.size, Direction: Sending}
	}
	s.lastID++
	c := s.newCall(s.lastID)
	c.course.apply(kOpen, f, next)
	it.starts = starts(kOpen, &c.course, f)
	s.calls[c.id] = c
	s.direct = s.try != nil && len(s.calls) == 1
	c.push(it)
	return c, nil
}

// LastSign is since when nothing shows that the peer lives: the last frame came from it, or, if
// that is earlier, what is being sent began to wait for room. One that talks and does not listen is
// no better than a silent one. Before the first frame it is when the session began.
func (s *Session) LastSign() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.sending.Load(); d > 0 {
		if at := s.born.Add(time.Duration(d)); at.Before(s.lastTime) {
			return at
		}
	}
	return s.lastTime
}

// Active counts calls that the peer has not closed. On the host's side, cancelled
// calls that the plugin still works on are among them. 0 after the end.
func (s *Session) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

// Done is closed when the session has ended, and Err says why.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is nil while the session lives, else an error that wraps ErrEnded and the
// cause.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Flush waits until every frame that was queued before was handed to the
// stream. Frames without credit are not waited for. Errors: ErrEnded, or ctx's
// cause.
func (s *Session) Flush(ctx context.Context) error {
	s.mu.Lock()
	if s.err != nil || s.idle && s.quiet() {
		defer s.mu.Unlock()
		return s.err
	}
	if s.flushed == nil {
		s.flushed = make(chan struct{})
	}
	flushed := s.flushed
	s.kick()
	s.mu.Unlock()
	select {
	case <-flushed:
		return nil
	case <-s.done:
		return s.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Settle waits until the plugin has closed every call whose output was accepted: until then its
// callbacks may still run. Host side. Errors: ErrEnded, or ctx's cause.
func (s *Session) Settle(ctx context.Context) error {
	s.mu.Lock()
	if s.err != nil || !s.settling() {
		defer s.mu.Unlock()
		return s.err
	}
	if s.settled == nil {
		s.settled = make(chan struct{})
	}
	settled := s.settled
	s.mu.Unlock()
	select {
	case <-settled:
		return nil
	case <-s.done:
		return s.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settling reports whether the plugin has still to close a call whose output was accepted.
func (s *Session) settling() bool {
	for _, c := range s.calls {
		if c.course.accepted {
			return true
		}
	}
	return false
}

// EndContexts ends the contexts of the calls that are open, as [Call.EndContext] does. Plugin side.
func (s *Session) EndContexts(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		c.EndContext(cause)
	}
}

// Close ends the session: every open call fails with ErrEnded, frames that were
// not sent are dropped, and the stream is closed if it is an io.Closer. It does
// not wait.
func (s *Session) Close() {
	s.end(errClosedHere)
	if c, ok := s.stream.(io.Closer); ok {
		_ = c.Close() // the session is over either way
	}
}

// Wait returns when both goroutines of the session have ended.
func (s *Session) Wait() { s.group.Wait() }

// Stats returns the counters so far.
func (s *Session) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Stats are counters for diagnosis.
type Stats struct {
	// FramesIn and FramesOut count frames on the stream, a chunk as one.
	FramesIn, FramesOut uint64
	// BatchesIn and BatchesOut count messages on the stream.
	BatchesIn, BatchesOut uint64
	// Unknown counts frames with a body that this version does not know.
	Unknown uint64
	// Stray counts frames for calls that are closed or were never opened, and
	// frames of the host that crossed the plugin's outcome. They are normal after
	// a cancel.
	Stray uint64
	// Violations counts frames that the rules forbid; each was dropped.
	Violations uint64
	// LogsDropped counts log records that found the queue full.
	LogsDropped uint64
}

// end makes err the session's end, once.
func (s *Session) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = endedBy(err)
	close(s.done)
	for _, c := range s.calls {
		c.sessionEnded()
	}
	clear(s.calls)
	if s.timer != nil {
		s.timer.Stop()
	}
	s.control, s.ready, s.later = fifo[*pb.Frame]{}, list{}, list{}
	s.room.parked = nil
	s.conn.out.reset()
	s.kick()
}

// kick makes somebody write: whoever holds s.mu, if that is decided (leave), else the writer.
func (s *Session) kick() {
	if !s.idle {
		return
	}
	s.idle = false
	if s.direct {
		s.mine = true
		return
	}
	s.wake <- struct{}{} // never blocks: the writer took the last one before it was idle
}

// post queues a frame that passes everything else.
func (s *Session) post(f *pb.Frame) {
	if s.err != nil {
		return
	}
	s.control.push(f)
	s.kick()
}

// reply posts a frame that the peer asked for; what a peer can make this end
// queue is bounded.
func (s *Session) reply(f *pb.Frame) {
	if s.replies >= maxReplies {
		s.stats.Violations++
		return
	}
	s.replies++
	s.post(f)
}

// quiet reports whether nothing waits to be sent.
func (s *Session) quiet() bool {
	return s.control.len() == 0 && s.ready.head == nil && s.later.head == nil
}
