//go:build unix

package host_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// H6: what the embedder gave the host and panics on a host's goroutine costs the call at most, whatever the plugin does to
// set it off.
func TestH6_PanicsOfTheEmbeddersFunctions(t *testing.T) {
	t.Run("logger", func(t *testing.T) {
		log := &records{}
		h := open(t, host.Config{Logger: slog.New(touchy{log})}, self("test", ""))
		for range 3 {
			call(t, h, "say", `{"text":"boom"}`)
			call(t, h, "say", `{"text":"still logged"}`)
		}
		if n := len(log.with("still logged")); n != 6 { // by the SDK's logger and on stderr
			t.Errorf("%d records after a panic", n)
		}
	})
	t.Run("elicit", func(t *testing.T) {
		h := open(t, host.Config{})
		res, err := h.Call(t.Context(), host.Call{Tool: "ask", Elicit: func(context.Context, host.Question) (host.Answer, error) { panic("boom") }})
		if err != nil || !strings.Contains(string(res.Output), "cancel") {
			t.Errorf("%+v, %v", res, err)
		}
	})
	for _, span := range []string{"start", "child", "end"} {
		t.Run("tracer "+span, func(t *testing.T) {
			h := open(t, host.Config{Tracer: badTracer(span)}, self("more", "more"))
			for _, streamed := range []bool{false, true} {
				c := host.Call{Tool: "spans", Input: []byte(`{}`)}
				if streamed {
					c.Input = nil
				}
				r := h.Start(t.Context(), c)
				if streamed {
					_ = r.Delta([]byte(`{}`))
					_ = r.EndInput()
				}
				_, err := r.Result()
				e, ok := errors.AsType[*host.Error](err)
				if !ok || e.Code != host.Internal || e.Outcome != host.Unknown || !strings.Contains(e.Error(), "panic: boom") {
					t.Errorf("streamed %v: %v", streamed, err)
				}
			}
			if s := status(t, h); s.Error != "" {
				t.Errorf("%+v", s)
			}
			began := time.Now()
			h.Close()
			if took := time.Since(began); took > soon {
				t.Errorf("Close took %v", took)
			}
		})
	}
}

// H6: a panic over what a plugin registers refuses the tool that it is about.
func TestH6_APanicOverADefinition(t *testing.T) {
	m := &pb.Manifest{Role: pb.Role_ROLE_TOOLS, Tools: []*pb.Tool{{Id: "a", Description: "x"}, {Id: "b", Description: "x"}}}
	bad, err := host.PanicOverManifest(m)
	if err != nil || len(bad) != 2 || !strings.HasPrefix(bad[1].Reason, "panic: ") {
		t.Errorf("%+v, %v", bad, err)
	}
}

// touchy is a handler that panics.
type touchy struct{ *records }

func (h touchy) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h touchy) WithGroup(string) slog.Handler      { return h }
func (h touchy) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "boom") {
		panic(r.Message)
	}
	return h.records.Handle(ctx, r)
}

// badTracer panics at one of its methods.
type badTracer string

func (b badTracer) Start(ctx context.Context, _ string, _ ...slog.Attr) (context.Context, host.Span) {
	b.boom("start")
	return ctx, badSpan{b}
}

func (b badTracer) boom(at string) {
	if string(b) == at {
		panic("boom")
	}
}

type badSpan struct{ badTracer }

func (s badSpan) Traceparent() string { return "" }
func (s badSpan) Child(string, time.Time, time.Time, string, ...slog.Attr) {
	s.boom("child")
}
func (s badSpan) End(error) { s.boom("end") }
