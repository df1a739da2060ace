package host

import (
	"context"
	"log/slog"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Tracer receives spans. Package host/oteltrace makes one of an OpenTelemetry tracer provider. Its methods
// may be called concurrently.
type Tracer interface {
	// Start begins a span below the one in ctx, if there is one.
	Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, Span)
}

// Span is one span under way.
type Span interface {
	// Traceparent is the W3C trace context of the span, for the plugin; it may be empty.
	Traceparent() string
	// Child records a span that is over, below this one.
	Child(name string, start, end time.Time, err string, attrs ...slog.Attr)
	// End ends the span. err may be nil.
	End(err error)
}

// span begins the call's span, named and attributed as the GenAI conventions do. Nothing of the data is in
// it.
func (r *run) span(ctx context.Context) (context.Context, func(error)) {
	t := r.host.cfg.Tracer
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, s := t.Start(ctx, "execute_tool "+r.call.Tool,
		slog.String("gen_ai.operation.name", "execute_tool"),
		slog.String("gen_ai.tool.name", r.call.Tool),
		slog.String("gen_ai.tool.call.id", r.call.ID),
		slog.String("gen_ai.tool.type", "function"))
	r.trace, r.traceparent = s, s.Traceparent()
	return ctx, s.End
}

// pluginSpan records a span of the author's code below the call's.
func (r *run) pluginSpan(s *pb.Span) {
	if r.trace == nil {
		return
	}
	r.trace.Child(s.GetName(), time.Unix(0, s.GetStartNs()), time.Unix(0, s.GetEndNs()), r.maskText(s.GetError()))
}
