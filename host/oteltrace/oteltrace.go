// Package oteltrace gives a host's spans to OpenTelemetry. It is a package of its own, so that a program
// that does not import it does not link OpenTelemetry.
//
//	host.Open(ctx, host.Config{Tracer: oteltrace.New(provider)})
//
// Spans are named and attributed as the GenAI conventions do ("execute_tool weather"). Nothing of a call's
// data is in them.
package oteltrace

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolhost/toolhost/host"
)

// scope is the name of the instrumentation.
const scope = "github.com/toolhost/toolhost/host"

// Provider makes tracers; an OpenTelemetry trace.TracerProvider is one.
type Provider interface {
	Tracer(name string, options ...trace.TracerOption) trace.Tracer
}

// New returns a tracer that makes spans with p. It may be used by several hosts.
func New(p Provider) host.Tracer { return tracer{p.Tracer(scope)} }

type tracer struct{ t trace.Tracer }

// Start begins a span below the one in ctx, or else below that of whoever made the call.
func (t tracer) Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, host.Span) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = remote(ctx)
	}
	ctx, s := t.t.Start(ctx, name, trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(attributes(attrs)...))
	return ctx, span{ctx, t.t, s}
}

// remote returns ctx with the span of host.RemoteParent, if there is one. Baggage does not travel (T38).
func remote(ctx context.Context) context.Context {
	parent, state := host.RemoteParent(ctx)
	if parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent, "tracestate": state})
}

type span struct {
	ctx    context.Context // of the span: what a child begins below; it carries no deadline that is used
	tracer trace.Tracer
	s      trace.Span
}

// Traceparent is the W3C form of the span's context.
func (s span) Traceparent() string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(s.ctx, carrier)
	return carrier["traceparent"]
}

// Child records a span that is over.
func (s span) Child(name string, start, end time.Time, failed string, attrs ...slog.Attr) {
	_, c := s.tracer.Start(s.ctx, name, trace.WithTimestamp(start), trace.WithAttributes(attributes(attrs)...))
	if failed != "" {
		c.SetStatus(codes.Error, failed)
	}
	c.End(trace.WithTimestamp(end))
}

// End ends the span. Of an error only the code is kept: its text may quote what the caller sent.
func (s span) End(err error) {
	if e, ok := errors.AsType[*host.Error](err); ok {
		s.s.SetAttributes(attribute.String("error.type", e.Code.String()))
		s.s.SetStatus(codes.Error, e.Code.String())
	} else if err != nil {
		s.s.SetStatus(codes.Error, "internal")
	}
	s.s.End()
}

func attributes(attrs []slog.Attr) []attribute.KeyValue {
	out := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		out[i] = attribute.String(a.Key, a.Value.String())
	}
	return out
}
