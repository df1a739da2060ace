//go:build unix

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// loggingTools log as their input says.
func loggingTools() []pluginsdk.Definition {
	type logIn struct {
		Text   string `json:"text"`
		N      int    `json:"n,omitempty"`
		Then   string `json:"then,omitempty"`
		Secret string `json:"secret,omitempty" jsonschema_extras:"x-sensitive=true"`
	}
	return []pluginsdk.Definition{
		tool("logs", func(_ context.Context, c *pluginsdk.Call, in logIn) (string, error) {
			for i := range max(1, in.N) {
				c.Logger().Warn(fmt.Sprint(in.Text, i), "secret", in.Secret, "said", "it is "+in.Secret)
			}
			switch in.Then {
			case "fail":
				return "", &pluginsdk.Error{Message: "no"}
			case "suspend":
				return "", c.Suspend("more")
			case "die":
				panic("boom")
			}
			return "done", nil
		}),
	}
}

// logged is a handler that keeps what it is given.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
	next slog.Handler
}

func newLogged() *logged {
	r := &logged{}
	r.next = slog.NewTextHandler(&r.text, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "stack" {
			return slog.Attr{}
		}
		return a
	}})
	return r
}

func (r *logged) Enabled(ctx context.Context, l slog.Level) bool { return r.next.Enabled(ctx, l) }
func (r *logged) WithAttrs([]slog.Attr) slog.Handler             { return r }
func (r *logged) WithGroup(string) slog.Handler                  { return r }
func (r *logged) Handle(ctx context.Context, rec slog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next.Handle(ctx, rec)
}

func (r *logged) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Split(strings.TrimSpace(r.text.String()), "\n")
}

// O4: whatever its outcome, a call returns after the records that its author logged in it were delivered, in order; and
// with no record of another call, though many run at once.
func TestO4_CallLogHasTheRecordsOfItsCall(t *testing.T) {
	h := open(t, host.Config{StateDir: stateDir(t)}, self("logging", "logging"))
	var calls sync.WaitGroup
	for i := range 32 {
		calls.Go(func() {
			then := []string{"", "fail", "suspend", "die"}[i%4]
			log := newLogged()
			in := fmt.Sprintf(`{"text":"%d-","n":20,"then":%q}`, i, then)
			var view host.View
			if i >= 16 {
				view = host.Raw
			}
			res, err := h.Call(t.Context(), host.Call{Tool: "logs", Input: []byte(in), Log: slog.New(log), View: view})
			if (err == nil) != (then == "") {
				t.Errorf("%s: %+v, %v", then, res, err)
			}
			got := log.lines()
			var want []string
			for n := range 20 {
				want = append(want, fmt.Sprintf(`level=WARN msg=%d-%d attrs.said="it is " attrs.secret=""`, i, n))
			}
			if then == "die" { // and the SDK's own record of the panic
				if last := len(got) - 1; !strings.Contains(got[last], "panicked") {
					t.Errorf("last: %s", got[last])
				} else {
					got = got[:last]
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", then, diff)
			}
		})
	}
	calls.Wait()
}

// C4, O4: the records before a death are delivered too.
func TestO4_CallLogBeforeADeath(t *testing.T) {
	h := open(t, host.Config{}, self("test", ""))
	log := newLogged()
	res, err := h.Call(t.Context(), host.Call{Tool: "logexit", Elicit: accept, Log: slog.New(log)})
	wantError(t, res, err, host.Unavailable, host.Unknown)
	if got := log.lines(); len(got) != 1 || !strings.Contains(got[0], "last words") {
		t.Errorf("got %q", got)
	}
}

// b15: sensitive values of the input are masked in what the caller's log gets, unless it sees the raw form.
func TestB15_CallLogIsMasked(t *testing.T) {
	h := open(t, host.Config{}, self("logging", "logging"))
	for _, view := range []host.View{host.Display, host.Raw} {
		log := newLogged()
		_, err := h.Call(t.Context(), host.Call{Tool: "logs", Input: []byte(`{"text":"hunter2hunter2","secret":"hunter2hunter2"}`), Log: slog.New(log), View: view})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Join(log.lines(), "\n")
		if strings.Contains(got, "hunter2") != (view == host.Raw) {
			t.Errorf("view %v: %s", view, got)
		}
	}
}

// stuck is a handler that waits until it is let go, or panics.
type stuck struct {
	*logged
	let   chan struct{}
	panic bool
}

func (s stuck) Handle(context.Context, slog.Record) error {
	if s.panic {
		panic("boom")
	}
	<-s.let
	return nil
}

// O3, H6, K1: a caller's logger that is stuck, or panics, holds up neither another call nor the host's own log, and its own call
// for a while only. What it has no room for is counted.
func TestO3_CallLogThatIsStuck(t *testing.T) {
	own := newLogged()
	h := open(t, host.Config{Logger: slog.New(own)}, self("logging", "logging"))
	log := stuck{newLogged(), make(chan struct{}), false}
	done := make(chan error, 1)
	go func() { // ends with the call
		_, err := h.Call(t.Context(), host.Call{Tool: "logs", Input: json.RawMessage(`{"text":"stuck","n":500}`), Log: slog.New(log)})
		done <- err
	}()
	for range 20 {
		call(t, h, "logs", `{"text":"free"}`)
	}
	eventually(t, "the host's log has it all", func() bool { return len(own.lines()) >= 520 })
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(soon):
		t.Error("the call waits for its logger")
	}
	close(log.let)
	if _, err := h.Call(t.Context(), host.Call{Tool: "logs", Input: json.RawMessage(`{"text":"x"}`), Log: slog.New(stuck{log.logged, nil, true})}); err != nil {
		t.Error(err)
	}
}

// T38: without a tracer, the trace context of whoever called is what the plugin sees; what is not well formed it never sees.
func TestT38_TraceContextOfTheCaller(t *testing.T) {
	const parent, state = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "vendor=a,other=b"
	h := open(t, host.Config{}, self("more", "more"))
	for _, tt := range []struct{ parent, state, want string }{
		{parent, state, parent + " " + state},
		{parent, "", parent + " "},
		{"", state, " "},
		{parent, "a=b\r\nbaggage: x=y", parent + " "},
		{parent, strings.Repeat("x", 513), parent + " "},
		{parent + "\r\nbaggage: x", state, " "},
		{strings.ToUpper(parent), state, " "},
		{"ff" + parent[2:], state, " "},
		{parent + "-later", state, " "},
		{"01" + parent[2:] + "-later", state, parent + " " + state},
		{"00-00000000000000000000000000000000-00f067aa0ba902b7-01", state, " "},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", state, " "},
		{"00-4bf92f3577b34da6", state, " "},
	} {
		res, err := h.Call(t.Context(), host.Call{Tool: "traced", Traceparent: tt.parent, Tracestate: tt.state})
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := json.Marshal(tt.want); string(res.Output) != string(want) {
			t.Errorf("%q, %q: the plugin sees %s", tt.parent, tt.state, res.Output)
		}
	}
}
