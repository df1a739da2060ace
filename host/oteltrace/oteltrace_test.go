package oteltrace_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/oteltrace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/plugintest"
)

type in struct {
	Secret string `json:"secret" jsonschema_extras:"x-sensitive=true"`
}

// C-9, OB-1: the call and the author's spans are one trace, and nothing of the data is in it.
func TestC9_SpansOfHostAndAuthorAreOneTrace(t *testing.T) {
	recorded := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(recorded))
	traceparent := ""
	tool := pluginsdk.Tool[in, string]{ID: "spanned", Description: "makes a span", Execute: func(ctx context.Context, c *pluginsdk.Call, _ in) (string, error) {
		traceparent = c.Traceparent()
		return "ok", c.Span(ctx, "lookup", func(context.Context) error { return nil })
	}}
	h := plugintest.Config{Tracer: oteltrace.New(provider)}.Open(t, tool)
	if _, err := h.Call(t.Context(), host.Call{Tool: "spanned", Input: []byte(`{"secret":"hunter2hunter2"}`)}); err != nil {
		t.Fatal(err)
	}
	spans := recorded.GetSpans()
	if len(spans) != 2 || spans[0].Name != "lookup" || spans[1].Name != "execute_tool spanned" {
		t.Fatalf("got %+v", spans)
	}
	if spans[0].SpanContext.TraceID() != spans[1].SpanContext.TraceID() || spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() {
		t.Error("the author's span is not below the call's")
	}
	if want := spans[1].SpanContext.TraceID().String(); len(traceparent) < 35 || traceparent[3:35] != want {
		t.Errorf("the plugin got traceparent %q, want trace %s", traceparent, want)
	}
	if len(spans[1].Attributes) != 4 {
		t.Errorf("attributes %v", spans[1].Attributes)
	}
}

// T38, OB-1: where the caller's context has no span, the call's span is below the trace context that the caller gave, sampled as
// that is, and the plugin sees the span and the tracestate; where it has one, that counts. Baggage does not travel.
func TestT38_RemoteParent(t *testing.T) {
	const parent, state = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=a"
	recorded := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(recorded))
	var traceparent, tracestate string
	tool := pluginsdk.Tool[struct{}, string]{ID: "spanned", Description: "sees a trace", Execute: func(_ context.Context, c *pluginsdk.Call, _ struct{}) (string, error) {
		traceparent, tracestate = c.Traceparent(), c.Tracestate()
		return "ok", nil
	}}
	h := plugintest.Config{Tracer: oteltrace.New(provider)}.Open(t, tool)
	own, outer := provider.Tracer("test").Start(t.Context(), "outer")
	outer.End()
	for _, tt := range []struct {
		name                 string
		ctx                  context.Context
		parent               string
		trace, above, tstate string
	}{
		{"remote", t.Context(), parent, parent[3:35], parent[36:52], state},
		{"own", own, parent, outer.SpanContext().TraceID().String(), outer.SpanContext().SpanID().String(), ""},
		{"unsampled", t.Context(), parent[:53] + "00", parent[3:35], "", state},
		{"none", t.Context(), "", "", "0000000000000000", ""},
		{"broken", t.Context(), "00-x", "", "0000000000000000", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			recorded.Reset()
			if _, err := h.Call(tt.ctx, host.Call{Tool: "spanned", Traceparent: tt.parent, Tracestate: state}); err != nil {
				t.Fatal(err)
			}
			spans := recorded.GetSpans()
			if tt.above == "" {
				if len(spans) != 0 || traceparent[3:35] != tt.trace || traceparent[53:] != "00" {
					t.Errorf("not sampled: %v, the plugin sees %s", spans, traceparent)
				}
				return
			}
			if len(spans) != 1 || spans[0].Parent.SpanID().String() != tt.above {
				t.Fatalf("got %+v", spans)
			}
			id := spans[0].SpanContext
			if tt.trace != "" && id.TraceID().String() != tt.trace {
				t.Errorf("trace %s, want %s", id.TraceID(), tt.trace)
			}
			if want := "00-" + id.TraceID().String() + "-" + id.SpanID().String() + "-01"; traceparent != want || tracestate != tt.tstate {
				t.Errorf("the plugin sees %s %q, want %s %q", traceparent, tracestate, want, tt.tstate)
			}
		})
	}
}
