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
