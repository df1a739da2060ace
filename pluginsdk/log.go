package pluginsdk

import (
	"bytes"
	"context"
	"log/slog"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Logger returns a logger whose records belong to this call. The host decides which
// levels it keeps. A record stays one record whatever newlines it has (O6), a
// record over the limit of the host (64 KiB) is cut and marked, and no record
// delays the call: when too many wait, the next ones are dropped and counted (O3).
func (c *Call) Logger() *slog.Logger { return slog.New(&logHandler{call: c}) }

// logHandler sends records as frames.
type logHandler struct {
	call  *Call
	steps []func(slog.Handler) slog.Handler // WithAttrs and WithGroup, in order
}

func (h *logHandler) Enabled(context.Context, slog.Level) bool { return h.call.wire != nil }

func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func(next slog.Handler) slog.Handler { return next.WithAttrs(attrs) })
}

func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.with(func(next slog.Handler) slog.Handler { return next.WithGroup(name) })
}

func (h *logHandler) with(step func(slog.Handler) slog.Handler) slog.Handler {
	return &logHandler{call: h.call, steps: append(h.steps[:len(h.steps):len(h.steps)], step)}
}

func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	c := h.call
	if c.wire == nil {
		return nil
	}
	if c.ended.Load() {
		return ErrCallEnded
	}
	rec := &pb.Log{
		TimeNs: r.Time.UnixNano(), Level: int32(r.Level),
		Message: r.Message, Attributes: h.attributes(ctx, r),
	}
	if r.Time.IsZero() {
		rec.TimeNs = time.Now().UnixNano()
	}
	c.conn.sess.Log(c.wire.ID(), rec)
	return nil
}

// attributes encodes the record's attributes as slog's own JSON handler does. They are
// put in a group, so that no name of the author's meets the handler's own.
func (h *logHandler) attributes(ctx context.Context, r slog.Record) []byte {
	var b bytes.Buffer
	var next slog.Handler = slog.NewJSONHandler(&b, &slog.HandlerOptions{
		Level: slog.Level(-1 << 30),
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 {
				return slog.Attr{} // level and message
			}
			return a
		},
	}).WithGroup("a")
	for _, step := range h.steps {
		next = step(next)
	}
	bare := slog.NewRecord(time.Time{}, r.Level, "", 0)
	r.Attrs(func(a slog.Attr) bool { bare.AddAttrs(a); return true })
	if err := next.Handle(ctx, bare); err != nil {
		return nil
	}
	raw, ok := bytes.CutPrefix(bytes.TrimSpace(b.Bytes()), []byte(`{"a":`))
	if !ok {
		return nil
	}
	return bytes.TrimSuffix(raw, []byte{'}'})
}
