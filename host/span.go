package host

import (
	"context"
	"log/slog"
	"strings"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Tracer receives spans. Package host/oteltrace makes one of an OpenTelemetry tracer provider. Its methods
// may be called concurrently.
type Tracer interface {
	// Start begins a span below the one in ctx, if there is one, or else below RemoteParent.
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

// RemoteParent is the W3C trace context of whoever made the call, for Tracer.Start: traceparent, which is well formed or empty, and
// the tracestate that belongs to it.
func RemoteParent(ctx context.Context) (traceparent, tracestate string) {
	remote, _ := ctx.Value(remoteKey{}).(remoteTrace)
	return remote.parent, remote.state
}

type remoteKey struct{}

// remoteTrace is a trace context from outside; zero: none.
type remoteTrace struct{ parent, state string }

// Where the parts of a traceparent end: version, trace id, span id, flags.
const (
	versionEnd = 2
	traceIDEnd = versionEnd + 1 + 32
	spanIDEnd  = traceIDEnd + 1 + 16
	parentEnd  = spanIDEnd + 1 + 2
)

// maxTracestate is the bytes of a tracestate that is passed on.
const maxTracestate = 512

// isTraceparent reports whether s has the form of one.
func isTraceparent(s string) bool {
	if len(s) != parentEnd {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if i == versionEnd || i == traceIDEnd || i == spanIDEnd {
			if c != '-' {
				return false
			}
		} else if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// isTracestate reports whether s may be one.
func isTracestate(s string) bool {
	return len(s) <= maxTracestate && strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

// traceContext returns what is well formed of a trace context from outside. Only what version 00 has is read, of later ones too.
func traceContext(parent, state string) remoteTrace {
	if parent == "" {
		return remoteTrace{}
	}
	const traceID, spanID = "00000000000000000000000000000000", "0000000000000000"
	if len(parent) > parentEnd && parent[parentEnd] == '-' && !strings.HasPrefix(parent, "00") {
		parent = "00" + parent[versionEnd:parentEnd]
	}
	switch {
	case !isTraceparent(parent), strings.HasPrefix(parent, "ff"), parent[versionEnd+1:traceIDEnd] == traceID, parent[traceIDEnd+1:spanIDEnd] == spanID:
		return remoteTrace{}
	case !isTracestate(state):
		state = ""
	}
	return remoteTrace{parent, state}
}

// span begins the call's span, named and attributed as the GenAI conventions do. Nothing of the data is in
// it.
func (r *run) span(ctx context.Context) (context.Context, func(error)) {
	t, remote := r.host.cfg.Tracer, traceContext(r.call.Traceparent, r.call.Tracestate)
	if t == nil {
		r.traceparent, r.tracestate = remote.parent, remote.state
		return ctx, func(error) {}
	}
	if remote.parent != "" {
		ctx = context.WithValue(ctx, remoteKey{}, remote)
	}
	ctx, s := t.Start(ctx, "execute_tool "+r.call.Tool,
		slog.String("gen_ai.operation.name", "execute_tool"),
		slog.String("gen_ai.tool.name", r.call.Tool),
		slog.String("gen_ai.tool.call.id", r.call.ID),
		slog.String("gen_ai.tool.type", "function"))
	r.trace, r.traceparent = s, s.Traceparent()
	if remote.parent != "" && strings.HasPrefix(r.traceparent, remote.parent[:traceIDEnd]) {
		r.tracestate = remote.state // the span is of that trace
	}
	return ctx, s.End
}

// pluginSpan records a span of the author's code below the call's.
func (r *run) pluginSpan(s *pb.Span) {
	if r.trace == nil {
		return
	}
	r.trace.Child(s.GetName(), time.Unix(0, s.GetStartNs()), time.Unix(0, s.GetEndNs()), r.maskText(s.GetError()))
}
