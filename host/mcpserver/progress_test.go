package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

func progressOf(t *testing.T, c *client) (all []progressParams) {
	t.Helper()
	for _, raw := range c.of("notifications/progress") {
		var p progressParams
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// TestProgress holds that reports reach a client that gave a token, strictly increasing, and nobody else.
func TestProgress(t *testing.T) {
	b := newBench(t, nil, nil)
	for _, e := range []project.Era{project.Legacy, project.Modern} {
		cl := newClient()
		b.must(request{era: e, name: "steps", notify: cl.notify}, "done")
		if len(cl.sent) > 0 {
			t.Errorf("without a token: %v", cl.sent)
		}
		for _, token := range []string{`"t"`, `9007199254740993`} {
			var all []progressParams
			for try := 0; len(all) < 3 && try < 20; try++ { // the latest wins where the machine is busy
				cl := newClient()
				b.must(request{era: e, name: "steps", notify: cl.notify, meta: readMeta(json.RawMessage(`{"progressToken":` + token + `}`))}, "done")
				if all = progressOf(t, cl); len(all) == 0 || all[len(all)-1].Progress != 100 || all[len(all)-1].Total != 100 {
					t.Fatalf("got %+v", all)
				}
			}
			if len(all) < 3 {
				t.Fatalf("got %+v", all)
			}
			for i, p := range all {
				if string(p.Token) != token || i > 0 && p.Progress <= all[i-1].Progress {
					t.Errorf("report %d of %+v", i, all)
				}
			}
		}
		cl = newClient()
		b.must(request{era: e, name: "steps", notify: cl.notify, meta: readMeta(json.RawMessage(`{"progressToken":{"a":1}}`))}, "done")
		if len(cl.sent) > 0 {
			t.Errorf("with a token that is none: %v", cl.sent)
		}
	}
}

// TestR37_Heartbeats holds that a silent plugin does not look dead.
func TestR37_Heartbeats(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Heartbeat = 20 * time.Millisecond }, nil)
	cl, begun := newClient(), time.Now()
	b.must(request{name: "silent", arguments: json.RawMessage(`{"ms":1000}`), notify: cl.notify, meta: readMeta(json.RawMessage(`{"progressToken":"t"}`))}, "done")
	all := progressOf(t, cl)
	if most := int(time.Since(begun)/(20*time.Millisecond)) + 1; len(all) < 3 || len(all) > most {
		t.Fatalf("%d heartbeats", len(all))
	}
	for i, p := range all {
		if i > 0 && p.Progress <= all[i-1].Progress || p.Progress > 0.01 {
			t.Errorf("heartbeat %d of %+v", i, all)
		}
	}
	never := newBench(t, func(c *Config) { c.Heartbeat = -1 }, nil)
	cl = newClient()
	never.must(request{name: "silent", arguments: json.RawMessage(`{"ms":100}`), notify: cl.notify, meta: readMeta(json.RawMessage(`{"progressToken":"t"}`))}, "done")
	if len(cl.sent) > 0 {
		t.Errorf("heartbeats that nobody wants: %v", cl.sent)
	}
}

// TestProgressIsNoFlood holds that a plugin that reports without end floods no client.
func TestProgressIsNoFlood(t *testing.T) {
	b := newBench(t, nil, nil)
	cl := newClient()
	begun := time.Now()
	b.must(request{era: project.Modern, name: "chatty", notify: cl.notify, meta: readMeta(json.RawMessage(`{"progressToken":"t","io.modelcontextprotocol/logLevel":"debug"}`))}, "done")
	most := burst + int(time.Since(begun).Seconds()*perSecond) + 2
	if n := len(cl.sent); n > most || n == 0 {
		t.Errorf("%d notifications; at most %d may come", n, most)
	}
	if last := cl.sent[len(cl.sent)-1]; !strings.Contains(string(last.params), "records were dropped") {
		t.Errorf("nothing says that records were dropped: %s", last.params)
	}
}

func TestIncrease(t *testing.T) {
	var i increase
	last := math.Inf(-1)
	for _, p := range []float64{-5, 0, 0, 0, 0.5, 0.4, 1e15, 3, 1e300, 0, math.MaxFloat64} {
		v, ok := i.next(p)
		if !ok || v <= last {
			t.Errorf("%v: %v after %v", p, v, last)
		}
		last = v
	}
	for _, p := range []float64{0, math.Inf(1), math.NaN()} {
		if v, ok := i.next(p); ok && (v <= last || math.IsInf(v, 0)) {
			t.Errorf("%v: %v after %v", p, v, last)
		}
	}
}

func TestLogging(t *testing.T) {
	b := newBench(t, nil, nil)
	level := func(l string) json.RawMessage {
		return json.RawMessage(`{"io.modelcontextprotocol/logLevel":` + string(rawjson.Quote(l)) + `}`)
	}
	for _, c := range []struct {
		r    request
		want int
	}{
		{request{name: "logs"}, 0},
		{request{name: "logs", level: "debug"}, 3},
		{request{name: "logs", level: "info"}, 2},
		{request{name: "logs", level: "notice"}, 1},
		{request{name: "logs", level: "warning"}, 1},
		{request{name: "logs", level: "alert"}, 0},
		{request{name: "logs", level: "loud"}, 0},
		{request{name: "logs", meta: readMeta(level("debug"))}, 0}, // modern only
		{request{era: project.Modern, name: "logs"}, 0},
		{request{era: project.Modern, name: "logs", level: "debug"}, 0},
		{request{era: project.Modern, name: "logs", meta: readMeta(level("info"))}, 2},
	} {
		cl := newClient()
		c.r.notify = cl.notify
		b.must(c.r, "done")
		if got := cl.of("notifications/message"); len(got) != c.want {
			t.Errorf("era %d, level %q, meta %s: %d records, want %d: %s", c.r.era, c.r.level, c.r.meta, len(got), c.want, got)
		}
	}
	cl := newClient()
	b.must(request{name: "logs", level: "debug", notify: cl.notify}, "done")
	var got []any
	for _, raw := range cl.of("notifications/message") {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	last, _ := got[len(got)-1].(map[string]any)
	data, _ := json.Marshal(last["data"])
	if last["level"] != "warning" || last["logger"] != "kit" || !strings.Contains(string(data), `"message":"with"`) || !strings.Contains(string(data), `"plugin":"other"`) {
		t.Errorf("got %v", last) // T12: the plugin's attributes are under a member of their own
	}
	if second, _ := got[1].(map[string]any); second["data"] != "plain\nforged=1" {
		t.Errorf("got %v", second)
	}
}

// TestT12_LogData holds the bounds of a record.
func TestT12_LogData(t *testing.T) {
	var attrs []slog.Attr
	for n := range 200 {
		attrs = append(attrs, slog.String(fmt.Sprint("k", n), strings.Repeat("v", 10_000)))
	}
	raw, err := json.Marshal(logData("m", attrs))
	if err != nil || len(raw) > maxAttrs*(maxAttr+100) {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	for _, c := range []struct {
		attrs []slog.Attr
		want  string
	}{
		{nil, `"m"`},
		{[]slog.Attr{slog.Int("n", 1), slog.Bool("b", true), slog.Duration("d", time.Second)}, `{"attributes":{"b":true,"d":"1s","n":1},"message":"m"}`},
		{[]slog.Attr{slog.Group("g", slog.String("level", "x")), slog.Group("", slog.Int("i", 1))}, `{"attributes":{"g":{"level":"x"},"i":1},"message":"m"}`},
		{[]slog.Attr{slog.Any("f", math.Inf(1))}, `{"attributes":{"f":"+Inf"},"message":"m"}`},
	} {
		raw, err := json.Marshal(logData("m", c.attrs))
		if diff := cmp.Diff(c.want, string(raw)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	h := slog.New(logHandler{flight: &flight{attended: true, level: slog.LevelInfo, wake: make(chan struct{}, 1), tool: &exported{Tool: host.Tool{Plugin: "p"}}}})
	h.With("a", 1).WithGroup("g").With("b", 2).Info("m", "c", 3)
	n, ok := h.Handler().(logHandler).flight.peek()
	raw, _ = json.Marshal(n.log)
	if want := `{"level":"info","logger":"p","data":{"attributes":{"a":1,"g":{"b":2,"c":3}},"message":"m"}}`; !ok || string(raw) != want {
		t.Errorf("got %s", raw)
	}
	if h.Enabled(context.Background(), slog.LevelDebug) {
		t.Error("nobody wants it")
	}
}
