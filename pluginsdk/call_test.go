package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

func TestSU3_SuspendAndResume(t *testing.T) {
	type question struct {
		Ask string `json:"ask"`
	}
	events := make(chan string, 8)
	def := newTool("book", func(_ context.Context, c *Call, in city) (string, error) {
		var answer any
		resumed, err := c.Resume(&answer)
		if err != nil {
			return "", err
		}
		if !resumed {
			return "ignored", fmt.Errorf("wrapped: %w", c.Suspend(question{"where in " + in.City + "?"}))
		}
		var asked question
		if _, err := c.SuspendPayload(&asked); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %v", asked.Ask, answer), nil
	})
	def.OnInputAvailable = func(context.Context, *Call, city) error { events <- "available"; return nil }
	def.OnResume = func(_ context.Context, _ *Call, data json.RawMessage) error {
		events <- "resume " + string(data)
		return nil
	}
	h := serveTools(t, def)

	c := h.open("book", `{"city":"Rome"}`)
	s := c.recv().GetSuspended()
	if got := string(s.GetPayload()); got != `{"ask":"where in Rome?"}` || s.GetApproval() {
		t.Fatalf("suspended = %v", s)
	}
	c.closed()
	for _, tt := range []struct {
		resume *pb.Resume
		frame  bool
		want   string
	}{
		{&pb.Resume{Data: []byte(`"centre"`), Payload: s.GetPayload()}, false, `"where in Rome? centre"`},
		{&pb.Resume{Data: []byte(`null`), Payload: s.GetPayload()}, true, `"where in Rome? <nil>"`}, // null is an answer
		{&pb.Resume{Data: []byte(`false`), Payload: []byte(`{"ask":"again"}`)}, false, `"again false"`},
	} {
		open := func(o *pb.Open) {
			if o.Run = false; !tt.frame {
				o.Resume = tt.resume
			}
		}
		c := h.open("book", `{"city":"Rome"}`, open)
		if tt.frame {
			c.send(&pb.Frame{Body: &pb.Frame_Resume{Resume: tt.resume}})
		}
		if got := string(c.output().GetOutput()); got != tt.want {
			t.Errorf("resumed with %v: %s, want %s", tt.resume, got, tt.want)
		}
	}
	want := []string{"available", `resume "centre"`, "resume null", "resume false"}
	if got := drain(events); !cmp.Equal(got, want) {
		t.Errorf("callbacks %q, want %q", got, want)
	}
}

func TestAP16_AskApprovalAtRunTime(t *testing.T) {
	h := serveTools(t, newTool("rm", func(_ context.Context, c *Call, _ nothing) (string, error) {
		if approved, err := c.Resume(nil); err != nil || !approved {
			return "", errors.Join(err, c.AskApproval("sure?"))
		}
		return "removed", nil
	}))
	s := h.open("rm", "{}").recv().GetSuspended()
	if string(s.GetPayload()) != `"sure?"` || !s.GetApproval() {
		t.Fatalf("suspended = %v", s)
	}
	c := h.open("rm", "{}", func(o *pb.Open) { o.Run, o.Resume = false, &pb.Resume{Payload: s.GetPayload()} })
	if got := string(c.output().GetOutput()); got != `"removed"` {
		t.Errorf("got %s", got)
	}
}

func TestElicit(t *testing.T) {
	h := serveTools(t, newTool("ask", func(ctx context.Context, c *Call, in struct {
		N int `json:"n"`
	}) ([]string, error) {
		answers := make([]string, in.N)
		var group sync.WaitGroup
		for i := range answers {
			group.Go(func() {
				a, err := c.Elicit(ctx, Question{Message: fmt.Sprint("q", i), Schema: json.RawMessage(`{}`)})
				var v any
				if a.Accepted() {
					err = errors.Join(err, a.Decode(&v))
				}
				answers[i] = fmt.Sprintf("%s %v %v", a.Action, v, err)
			})
		}
		group.Wait()
		return answers, nil
	}))
	c := h.open("ask", `{"n":3}`, func(o *pb.Open) { o.Answers = true })
	want := make([]string, 3)
	for range want {
		q := c.recv().GetQuestion()
		a := &pb.Answer{Id: q.GetId(), Action: pb.AnswerAction(q.GetId()), Content: []byte(`{"x":1}`)}
		var i int
		if _, err := fmt.Sscanf(q.GetMessage(), "q%d", &i); err != nil {
			t.Fatal(err)
		}
		want[i] = map[uint32]string{1: "accept map[x:1] <nil>", 2: "decline <nil> <nil>", 3: "cancel <nil> <nil>"}[q.GetId()]
		c.send(&pb.Frame{Body: &pb.Frame_Answer{Answer: a}})
	}
	var got []string
	if err := json.Unmarshal(c.output().GetOutput(), &got); err != nil || !cmp.Equal(got, want) {
		t.Errorf("answers %q, %v, want %q", got, err, want)
	}
	// A caller that answers nothing declines at once, without a frame.
	out := h.open("ask", `{"n":1}`).output()
	if got := string(out.GetOutput()); got != `["decline <nil> <nil>"]` {
		t.Errorf("got %s", got)
	}
}

// A question that is given up does not take the answer of the next one, and one that outlives
// Execute does not hold the call.
func TestElicitGivenUp(t *testing.T) {
	late := make(chan error, 1)
	h := serveTools(t, newTool("ask", func(ctx context.Context, c *Call, _ nothing) (string, error) {
		short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
		defer cancel()
		if _, err := c.Elicit(short, Question{Message: "first"}); !errors.Is(err, context.DeadlineExceeded) {
			return "", fmt.Errorf("the first question ended with %v", err)
		}
		a, err := c.Elicit(ctx, Question{Message: "second"})
		asking := make(chan struct{})
		go func() { // ends with Execute, which ends its question
			close(asking)
			_, err := c.Elicit(context.Background(), Question{Message: "third"})
			late <- err
		}()
		<-asking
		return string(a.Content), err
	}))
	c := h.open("ask", "{}", func(o *pb.Open) { o.Answers = true })
	first, second := c.recv().GetQuestion(), c.recv().GetQuestion()
	for _, q := range []*pb.Question{first, second} {
		c.send(&pb.Frame{Body: &pb.Frame_Answer{Answer: &pb.Answer{
			Id: q.GetId(), Action: pb.AnswerAction_ANSWER_ACTION_ACCEPT, Content: fmt.Appendf(nil, "%q", "to "+q.GetMessage()),
		}}})
	}
	for f := c.recv(); ; f = c.recv() {
		if f.GetQuestion() != nil {
			continue // the third, if it came in time
		}
		if got := string(f.GetOutput().GetOutput()); got != `"\"to second\""` {
			t.Errorf("got %v", f)
		}
		break
	}
	if err := waitFor(t, late, "end of the third question"); err == nil {
		t.Error("the third question was answered")
	}
}

func TestO4_O6_Log(t *testing.T) {
	h := serveTools(t, newTool("log", func(_ context.Context, c *Call, _ nothing) (any, error) {
		l := c.Logger().With("tool", 1).WithGroup("g").With("a", "x")
		l.Debug("one\ntwo", "level", "mine", "msg", []int{1}, slog.Group("h", "t", time.Second))
		l.Warn("plain \xff")
		c.Logger().Info("bare")
		c.Logger().Error(strings.Repeat("y", 2*wire.MaxLog), "k", "v")
		return nil, nil
	}))
	out := h.open("log", "{}").output()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.logs) != 4 { // O4: all are here before the output
		t.Fatalf("%d records, want 4", len(h.logs))
	}
	want := []struct {
		level        int32
		message, att string
	}{
		{-4, "one\ntwo", `{"tool":1,"g":{"a":"x","level":"mine","msg":[1],"h":{"t":1000000000}}}`},
		{4, "plain \uFFFD", `{"tool":1,"g":{"a":"x"}}`},
		{0, "bare", ""},
	}
	for i, w := range want {
		rec := h.logs[i]
		if rec.GetLevel() != w.level || rec.GetMessage() != w.message || string(rec.GetAttributes()) != w.att || rec.GetTimeNs() == 0 {
			t.Errorf("record %d: %v, want %v", i, rec, w)
		}
	}
	cutOff := h.logs[3]
	if n := len(cutOff.GetMessage()) + len(cutOff.GetAttributes()); n > wire.MaxLog || !strings.Contains(cutOff.GetMessage(), "cut") {
		t.Errorf("a record of %d bytes, its end is %q", n, cutOff.GetMessage()[max(0, n-20):])
	}
	if out.GetLastLog() != cutOff.GetSeq() {
		t.Errorf("last_log = %d, want %d", out.GetLastLog(), cutOff.GetSeq())
	}
}

func TestProgressWriteSpan(t *testing.T) {
	h := serveTools(t, newTool("t", func(ctx context.Context, c *Call, _ nothing) (any, error) {
		c.Progress(1, 2, "half")
		for _, v := range []any{map[string]string{"a": "<b>"}, json.RawMessage(` [1]`), nil} {
			if err := c.Write(ctx, v); err != nil {
				return nil, err
			}
		}
		if err := c.Write(ctx, func() {}); err == nil {
			return nil, errors.New("a function was written")
		}
		err := c.Span(ctx, "outer", func(ctx context.Context) error {
			return c.Span(ctx, "inner", func(context.Context) error { return errors.New("why") })
		})
		return err.Error(), nil
	}))
	c := h.open("t", "{}")
	if p := c.recv().GetProgress(); p.GetProgress() != 1 || p.GetTotal() != 2 || p.GetMessage() != "half" {
		t.Errorf("progress = %v", p)
	}
	for _, want := range []string{`{"a":"<b>"}`, ` [1]`, "null"} {
		if got := string(c.recv().GetWrite().GetData()); got != want {
			t.Errorf("write %s, want %s", got, want)
		}
	}
	inner, outer := c.recv().GetSpan(), c.recv().GetSpan()
	if inner.GetName() != "inner" || outer.GetName() != "outer" || inner.GetError() != "why" ||
		string(inner.GetParentId()) != string(outer.GetSpanId()) || len(outer.GetSpanId()) != 8 || len(outer.GetParentId()) != 0 ||
		inner.GetStartNs() > inner.GetEndNs() || outer.GetStartNs() > inner.GetStartNs() {
		t.Errorf("spans %v, %v", inner, outer)
	}
	if got := string(c.output().GetOutput()); got != `"why"` {
		t.Errorf("got %s", got)
	}
}

func TestContextAndMessages(t *testing.T) {
	h := serveTools(t, newTool("t", func(_ context.Context, c *Call, _ nothing) (string, error) {
		rc := struct{ User string }{"nobody"}
		err := c.RequestContext(&rc)
		return fmt.Sprintf("%s %s %s", rc.User, c.Messages(), c.Traceparent()), err
	}))
	out := h.open("t", "{}", func(o *pb.Open) {
		o.Context, o.Messages, o.Traceparent = []byte(`{"user":"me"}`), []byte(`[1]`), "00-a-b-01"
	}).output()
	if got := string(out.GetOutput()); got != `"me [1] 00-a-b-01"` {
		t.Errorf("got %s", got)
	}
	if got := string(h.open("t", "{}").output().GetOutput()); got != `"nobody  "` {
		t.Errorf("without either: %s", got)
	}
	f := h.open("t", "{}", func(o *pb.Open) { o.Context = []byte(`{"user":[]}`) }).failed()
	if !strings.Contains(f.GetMessage(), "request context: at /user") {
		t.Errorf("got %v", f)
	}
}

func TestMethodsAfterTheEnd(t *testing.T) {
	calls := make(chan *Call, 1)
	h := serveTools(t, newTool("t", func(_ context.Context, c *Call, _ nothing) (any, error) { calls <- c; return nil, nil }))
	hc := h.open("t", "{}", func(o *pb.Open) { o.Answers = true })
	hc.output()
	hc.closed()
	c := <-calls
	ctx := context.Background()
	for !c.ended.Load() { // its goroutine is about to end
		time.Sleep(time.Millisecond)
	}
	if err := c.Write(ctx, 1); !errors.Is(err, ErrCallEnded) {
		t.Errorf("Write: %v", err)
	}
	if _, err := c.Elicit(ctx, Question{}); !errors.Is(err, ErrCallEnded) {
		t.Errorf("Elicit: %v", err)
	}
	if err := c.Logger().Handler().Handle(ctx, slog.Record{}); !errors.Is(err, ErrCallEnded) {
		t.Errorf("Logger: %v", err)
	}
	c.Progress(1, 1, "")
	if err := c.Span(ctx, "s", func(context.Context) error { return nil }); err != nil {
		t.Errorf("Span: %v", err)
	}
}

// E-5 mended: a Call that belongs to no host has everything too.
func TestE5_ZeroCall(t *testing.T) {
	c, ctx := &Call{}, context.Background()
	c.Logger().Info("x")
	c.Progress(1, 2, "")
	if err := c.Write(ctx, 1); err != nil {
		t.Errorf("Write: %v", err)
	}
	if a, err := c.Elicit(ctx, Question{}); err != nil || a.Action != "decline" {
		t.Errorf("Elicit: %v, %v", a, err)
	}
	for what, ask := range map[string]func() (Answer, error){
		"Sample": func() (Answer, error) { return c.Sample(ctx, json.RawMessage(`{}`)) },
		"Roots":  func() (Answer, error) { return c.Roots(ctx) },
	} {
		if a, err := ask(); err != nil || a.Action != "decline" {
			t.Errorf("%s: %v, %v", what, a, err)
		}
	}
	if c.Traceparent() != "" || c.Tracestate() != "" {
		t.Error("a trace")
	}
	if resumed, err := c.Resume(nil); resumed || err != nil {
		t.Errorf("Resume: %v, %v", resumed, err)
	}
	if err := c.Settings(&struct{}{}); err != nil {
		t.Errorf("Settings: %v", err)
	}
	if err := c.RequestContext(nil); err != nil || c.ID() != "" || c.Messages() != nil {
		t.Errorf("RequestContext: %v", err)
	}
	want := errors.New("of fn")
	if err := c.Span(ctx, "s", func(context.Context) error { return want }); err != want {
		t.Errorf("Span: %v", err)
	}
}
