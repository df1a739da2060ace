package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/launch"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// logQueue carries one process's log to the host's logger without ever making the session wait (O3): records that do
// not fit are dropped and counted.
type logQueue struct {
	logger  *slog.Logger
	items   chan logItem
	dropped atomic.Uint64
	done    chan struct{} // closed when the goroutine ended

	mu     sync.RWMutex // held for writing by close, for reading by whoever puts something in
	closed bool
}

type logItem struct {
	record  slog.Record
	flushed chan struct{} // not nil: a mark, no record
}

// newLogQueue starts the queue's one goroutine; it ends at close. ctx is only what the logger is given.
func newLogQueue(ctx context.Context, l *slog.Logger) *logQueue {
	q := &logQueue{logger: l, items: make(chan logItem, wire.LogQueue), done: make(chan struct{})}
	go q.deliver(ctx)
	return q
}

func (q *logQueue) deliver(ctx context.Context) {
	defer close(q.done)
	for it := range q.items {
		if it.flushed != nil {
			close(it.flushed)
			continue
		}
		if n := q.dropped.Swap(0); n > 0 {
			q.logger.LogAttrs(ctx, slog.LevelWarn, "log records were dropped", slog.Uint64("dropped", n))
		}
		if q.logger.Enabled(ctx, it.record.Level) {
			_ = q.logger.Handler().Handle(ctx, it.record)
		}
	}
}

// close ends the queue and waits, at most the given time, until what is in it was delivered: a stuck logger must not keep a
// stop (K3). Nothing may be put in afterwards.
func (q *logQueue) close(most time.Duration) {
	q.mu.Lock()
	q.closed = true
	close(q.items)
	q.mu.Unlock()
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-q.done:
	case <-t.C:
	}
}

// record takes a log frame. It never blocks.
func (q *logQueue) record(call uint64, rec *pb.Log) {
	r := slog.NewRecord(time.Unix(0, rec.GetTimeNs()), slog.Level(rec.GetLevel()), rec.GetMessage(), 0)
	r.AddAttrs(pluginAttrs(rec)...)
	if n := rec.GetDropped(); n > 0 {
		q.dropped.Add(n)
	}
	q.put(r)
}

// pluginAttrs puts the plugin's attributes under one group, where they cannot pass for the host's own (T12).
func pluginAttrs(rec *pb.Log) []slog.Attr {
	if len(rec.GetAttributes()) == 0 {
		return nil
	}
	var attrs any
	if json.Unmarshal(rec.GetAttributes(), &attrs) != nil {
		return nil
	}
	return []slog.Attr{slog.Any("attrs", attrs)}
}

// line takes a line of stdout or stderr; it runs on the launcher's goroutine for this process.
func (q *logQueue) line(l launch.Line) {
	r := slog.NewRecord(l.Time, slog.LevelInfo, string(l.Text), 0)
	r.AddAttrs(slog.String("stream", l.Stream))
	if l.Cut > 0 {
		r.AddAttrs(slog.Int("cut", l.Cut))
	}
	if l.Dropped > 0 {
		q.dropped.Add(uint64(l.Dropped))
	}
	q.put(r)
}

func (q *logQueue) put(r slog.Record) {
	if !q.offer(logItem{record: r}) {
		q.dropped.Add(1)
	}
}

// offer puts it in unless the queue is full or closed.
func (q *logQueue) offer(it logItem) bool {
	q.mu.RLock()
	defer q.mu.RUnlock()
	if q.closed {
		return false
	}
	select {
	case q.items <- it:
		return true
	default:
		return false
	}
}

// flush returns when what was put in before was delivered (O4), or ctx ends, or there is no room for its mark.
func (q *logQueue) flush(ctx context.Context) {
	mark := make(chan struct{})
	if !q.offer(logItem{flushed: mark}) {
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	}
}
