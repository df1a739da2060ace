package host

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/internal/launch"
	"github.com/toolhost/toolhost/internal/runes"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// logSink carries every record of a host and its plugins to the embedder's logger, so that a slow or stuck
// logger makes nobody wait (O3, K3): records that do not fit are dropped and counted.
type logSink struct {
	items   chan logItem
	bytes   atomic.Int64 // of what waits
	dropped atomic.Uint64
	done    chan struct{} // closed when the goroutine ended

	mu     sync.RWMutex // held for writing by close, for reading by whoever puts something in
	closed bool
}

type logItem struct {
	handler slog.Handler
	record  slog.Record
	size    int64
	flushed chan struct{} // not nil: a mark, no record
}

// maxLogBytes is how much the records that wait may hold.
const maxLogBytes = 8 << 20

// newLogSink starts the sink's one goroutine; it ends at close. ctx is only what the logger is given.
func newLogSink(ctx context.Context) *logSink {
	s := &logSink{items: make(chan logItem, wire.LogQueue), done: make(chan struct{})}
	go s.deliver(ctx)
	return s
}

func (s *logSink) deliver(ctx context.Context) {
	defer close(s.done)
	for it := range s.items {
		if it.flushed != nil {
			close(it.flushed)
			continue
		}
		if n := s.dropped.Swap(0); n > 0 {
			r := slog.NewRecord(time.Now(), slog.LevelWarn, "log records were dropped", 0)
			r.AddAttrs(slog.Uint64("dropped", n))
			it.handle(ctx, r)
		}
		it.handle(ctx, it.record)
		s.bytes.Add(-it.size)
	}
}

// handle gives a record to the embedder's handler, whose own trouble, a panic included, is nobody's here (H6).
func (it logItem) handle(ctx context.Context, r slog.Record) {
	defer func() { _ = recover() }()
	_ = it.handler.Handle(ctx, r)
}

// close ends the sink and waits, at most the given time, until what is in it was delivered.
func (s *logSink) close(most time.Duration) {
	s.mu.Lock()
	s.closed = true
	close(s.items)
	s.mu.Unlock()
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-s.done:
	case <-t.C:
	}
}

// offer puts an item in unless the sink is full or closed.
func (s *logSink) offer(it logItem) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false
	}
	if s.bytes.Add(it.size) > maxLogBytes {
		s.bytes.Add(-it.size)
		return false
	}
	select {
	case s.items <- it:
		return true
	default:
		s.bytes.Add(-it.size)
		return false
	}
}

// flush returns when what was put in before was delivered (O4), or ctx ends, or there is no room for its
// mark.
func (s *logSink) flush(ctx context.Context) {
	mark := make(chan struct{})
	if !s.offer(logItem{flushed: mark}) {
		return
	}
	select {
	case <-mark:
	case <-ctx.Done():
	}
}

// logger returns l with the sink before its handler.
func (s *logSink) logger(l *slog.Logger) *slog.Logger { return slog.New(sinkHandler{s, l.Handler()}) }

// sinkHandler puts records into a sink.
type sinkHandler struct {
	sink *logSink
	next slog.Handler
}

func (h sinkHandler) Enabled(ctx context.Context, l slog.Level) bool { return h.next.Enabled(ctx, l) }

func (h sinkHandler) Handle(_ context.Context, r slog.Record) error {
	size := int64(len(r.Message) + 128)
	r.Attrs(func(a slog.Attr) bool {
		size += 64
		switch v := a.Value.Any().(type) {
		case string:
			size += int64(len(v))
		case pluginAttrs:
			size += int64(len(v))
		}
		return true
	})
	if !h.sink.offer(logItem{handler: h.next, record: r.Clone(), size: size}) {
		h.sink.dropped.Add(1)
	}
	return nil
}

func (h sinkHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return sinkHandler{h.sink, h.next.WithAttrs(attrs)}
}

func (h sinkHandler) WithGroup(name string) slog.Handler {
	return sinkHandler{h.sink, h.next.WithGroup(name)}
}

// logRecord takes a record of the plugin's log, for its call's caller and for the host's log. It never blocks.
func (pr *process) logRecord(call uint64, rec *pb.Log) {
	pr.callLogs.put(call, rec)
	p := pr.plugin
	if n := rec.GetDropped(); n > 0 {
		p.host.sink.dropped.Add(n)
	}
	if !p.log.Enabled(p.host.life, levelOf(rec)) {
		return
	}
	_ = p.log.Handler().Handle(p.host.life, pluginRecord(rec, rec.GetMessage(), rec.GetAttributes())) // the sink's, which never fails
}

// levelOf is one of slog's four levels.
func levelOf(rec *pb.Log) slog.Level {
	return min(max(slog.Level(rec.GetLevel()), slog.LevelDebug), slog.LevelError)
}

// pluginRecord is a plugin's record with a text and attributes, its own or masked ones.
func pluginRecord(rec *pb.Log, text string, attrs []byte) slog.Record {
	at, now := time.Unix(0, rec.GetTimeNs()), time.Now()
	if at.Before(now.Add(-time.Hour)) || at.After(now.Add(time.Hour)) {
		at = now // the plugin's clock is not to be believed
	}
	r := slog.NewRecord(at, levelOf(rec), text, 0)
	if len(attrs) > 0 {
		r.AddAttrs(slog.Any("attrs", pluginAttrs(attrs)))
	}
	return r
}

// pluginAttrs are a plugin's attributes, a JSON object. They stand under one group, where they cannot pass
// for the host's own, and are bounded (T12).
type pluginAttrs []byte

// The bounds of a record's attributes.
const (
	maxAttrs = 64
	maxAttr  = 4 << 10
)

// LogValue decodes the attributes when a logger writes them.
func (a pluginAttrs) LogValue() slog.Value {
	var all map[string]json.RawMessage
	if json.Unmarshal(a, &all) != nil {
		return slog.StringValue("(not readable)")
	}
	attrs := make([]slog.Attr, 0, len(all))
	for k, v := range all {
		text := string(v)
		var s string
		if json.Unmarshal(v, &s) == nil {
			text = s
		}
		attrs = append(attrs, slog.String(runes.Cut(k, maxAttr), runes.Cut(text, maxAttr)))
	}
	slices.SortFunc(attrs, func(a, b slog.Attr) int { return cmp.Compare(a.Key, b.Key) })
	return slog.GroupValue(attrs[:min(maxAttrs, len(attrs))]...)
}

// logLine takes a line of stdout or stderr; it runs on the launcher's goroutine for this process.
func (p *plugin) logLine(l launch.Line) {
	if l.Dropped > 0 {
		p.host.sink.dropped.Add(uint64(l.Dropped))
	}
	r := slog.NewRecord(l.Time, slog.LevelInfo, string(l.Text), 0)
	r.AddAttrs(slog.String("stream", l.Stream))
	if l.Cut > 0 {
		r.AddAttrs(slog.Int("cut", l.Cut))
	}
	if p.log.Enabled(p.host.life, r.Level) {
		_ = p.log.Handler().Handle(p.host.life, r) // the sink's, which never fails
	}
}
