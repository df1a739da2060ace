package host

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// callLog carries the plugin's records of one call to Call.Log, so that a slow logger holds up neither the session nor
// another call (O3). nil: the caller wants none.
type callLog struct {
	run     *run
	handler slog.Handler
	proc    *process // that the call is on; its session calls it id
	id      uint64

	mu      sync.Mutex
	waiting []*pb.Log
	bytes   int
	dropped uint64
	idle    chan struct{} // closed when nothing waits; nil: nothing does
	closed  bool
}

// maxCallLog is how many bytes of a call's records may wait; their number is bounded as the plugin's own queue is.
const maxCallLog = 1 << 20

// callLogWait is how long an outcome waits for a logger that is stuck.
const callLogWait = 2 * time.Second

func newCallLog(r *run) *callLog {
	if r.call.Log == nil {
		return nil
	}
	return &callLog{run: r, handler: r.call.Log.Handler()}
}

// put takes a record. It never blocks.
func (l *callLog) put(rec *pb.Log) {
	size := len(rec.GetMessage()) + len(rec.GetAttributes())
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return
	case len(l.waiting) >= wire.LogQueue || l.bytes+size > maxCallLog:
		l.dropped++
		return
	}
	l.waiting = append(l.waiting, rec)
	l.bytes += size
	if l.idle == nil {
		l.idle = make(chan struct{})
		go l.deliver(l.idle) // ends when nothing waits; nothing waits for it for long, since a logger that is stuck must not keep the host open (K1)
	}
}

// deliver gives the caller's logger what waits, until nothing does.
func (l *callLog) deliver(idle chan struct{}) {
	for {
		l.mu.Lock()
		batch, dropped := l.waiting, l.dropped
		l.waiting, l.dropped, l.bytes = nil, 0, 0
		if len(batch) == 0 || l.closed {
			l.idle = nil
			close(idle)
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		if dropped > 0 {
			r := slog.NewRecord(time.Now(), slog.LevelWarn, "log records were dropped", 0)
			r.AddAttrs(slog.Uint64("dropped", dropped))
			l.handle(r)
		}
		for _, rec := range batch {
			if !l.over() {
				l.handle(l.record(rec))
			}
		}
	}
}

// record is a record as the caller may see it (b15).
func (l *callLog) record(rec *pb.Log) slog.Record {
	text, attrs := rec.GetMessage(), rec.GetAttributes()
	if l.run.call.View != Raw {
		text, attrs = l.run.maskText(text), l.run.maskWithin(attrs)
	}
	return pluginRecord(rec, text, attrs)
}

// handle gives a record to the caller's handler, whose own trouble, a panic included, is nobody's here (H6).
func (l *callLog) handle(r slog.Record) {
	defer func() { _ = recover() }()
	if ctx := context.Background(); l.handler.Enabled(ctx, r.Level) {
		_ = l.handler.Handle(ctx, r)
	}
}

// flush returns when what was put in before was delivered (O4), or ctx ends, or after callLogWait.
func (l *callLog) flush(ctx context.Context) {
	if l == nil {
		return
	}
	l.mu.Lock()
	idle := l.idle
	l.mu.Unlock()
	if idle == nil {
		return
	}
	t := time.NewTimer(callLogWait)
	defer t.Stop()
	select {
	case <-idle:
	case <-t.C:
	case <-ctx.Done():
	}
}

// close ends the log: what waits and what comes later is dropped, so that nothing of the call is delivered when it is over.
func (l *callLog) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.leave()
}

func (l *callLog) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// leave takes the log off the process that the call was on.
func (l *callLog) leave() {
	if l.proc != nil {
		l.proc.callLogs.remove(l.id)
		l.proc = nil
	}
}

// callLogs are the logs of the calls on one process whose callers want the records.
type callLogs struct {
	any  atomic.Int64 // how many there are, and are about to be
	mu   sync.RWMutex
	logs map[uint64]*callLog // by the session's id of the call
}

// open opens a call, and has its records go to l from the first one on.
func (ls *callLogs) open(l *callLog, pr *process, open *pb.Open) (*session.Call, error) {
	if l == nil {
		return pr.sess.Open(open)
	}
	l.leave() // an attempt before this one
	ls.any.Add(1)
	ls.mu.Lock() // so that no record is looked up before its call is known
	defer ls.mu.Unlock()
	call, err := pr.sess.Open(open)
	if err != nil {
		ls.any.Add(-1)
		return nil, err
	}
	if ls.logs == nil {
		ls.logs = map[uint64]*callLog{}
	}
	ls.logs[call.ID()] = l
	l.proc, l.id = pr, call.ID()
	return call, nil
}

// put gives a record to the log of its call, if there is one.
func (ls *callLogs) put(call uint64, rec *pb.Log) {
	if ls.any.Load() == 0 {
		return
	}
	ls.mu.RLock()
	l := ls.logs[call]
	ls.mu.RUnlock()
	if l != nil {
		l.put(rec)
	}
}

func (ls *callLogs) remove(id uint64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.logs, id)
	ls.any.Add(-1)
}
