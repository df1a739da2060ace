package pluginsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// askAll is a tool that asks everything at once that its input lists, and tells the answers.
func askAll() Definition {
	return newTool("ask", func(ctx context.Context, c *Call, in struct {
		Kinds []string `json:"kinds"`
	}) ([]string, error) {
		var questions []Question
		for i, kind := range in.Kinds {
			questions = append(questions, Question{Message: fmt.Sprint("q", i), Kind: QuestionKind(kind)})
		}
		answers, err := c.ElicitAll(ctx, questions...)
		var got []string
		for _, a := range answers {
			got = append(got, strings.TrimSpace(a.Action+" "+string(a.Content)))
		}
		return got, err
	})
}

// Questions that are asked at once are sent before any is answered, and the answers are in their order. Those of a kind that the
// host does not put, as a host that knows no kinds, are declined without a frame, and do not count.
func TestElicitAll(t *testing.T) {
	h := serveTools(t, askAll())
	for _, tt := range []struct {
		name  string
		puts  []pb.QuestionKind
		asked []string
		want  string
	}{
		{"every kind", []pb.QuestionKind{2, 3}, []string{"q0 1", "q1 2", "q2 3", "q3 1"}, `["accept \"q0\"","accept \"q1\"","accept \"q2\"","accept \"q3\""]`},
		{"sampling", []pb.QuestionKind{2, 9}, []string{"q0 1", "q1 2", "q3 1"}, `["accept \"q0\"","accept \"q1\"","decline","accept \"q3\""]`},
		{"an old host", nil, []string{"q0 1", "q3 1"}, `["accept \"q0\"","decline","decline","accept \"q3\""]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := h.open("ask", `{"kinds":["","sampling","roots","form"]}`, func(o *pb.Open) { o.Answers, o.Kinds = true, tt.puts })
			var questions []*pb.Question
			var asked []string
			for range tt.asked {
				q := c.recv().GetQuestion()
				if int(q.GetTogether()) != len(tt.asked) {
					t.Errorf("%v, of %d", q, len(tt.asked))
				}
				questions = append(questions, q)
				asked = append(asked, fmt.Sprint(q.GetMessage(), " ", int32(q.GetKind())))
			}
			if !cmp.Equal(asked, tt.asked) {
				t.Errorf("asked %q, want %q", asked, tt.asked)
			}
			slices.Reverse(questions)
			for _, q := range questions {
				c.send(&pb.Frame{Body: &pb.Frame_Answer{Answer: &pb.Answer{Id: q.GetId(), Action: 1, Content: fmt.Appendf(nil, "%q", q.GetMessage())}}})
			}
			if got := string(c.output().GetOutput()); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A caller without answers declines everything at once, and no questions have no answers.
func TestElicitAll_NobodyAnswers(t *testing.T) {
	h := serveTools(t, askAll())
	for in, want := range map[string]string{`{"kinds":["","roots"]}`: `["decline","decline"]`, `{"kinds":[]}`: `[]`} {
		if got := string(h.open("ask", in, func(o *pb.Open) { o.Kinds = []pb.QuestionKind{2, 3} }).output().GetOutput()); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

// A question that cannot be asked is an error before anything is sent.
func TestQuestionsThatAreRefused(t *testing.T) {
	object, large := json.RawMessage(`{}`), json.RawMessage(`{"title":"`+strings.Repeat("x", 63<<10)+`"}`)
	for want, questions := range map[string][]Question{
		`question: unknown kind "sample"`:                     {{Kind: "sample"}},
		"question: a form has no Params":                      {{}, {Params: object}},
		"question: Params: no JSON object":                    {{Kind: QuestionSampling, Params: json.RawMessage(`[1]`)}},
		"question: one of kind roots has no Schema":           {{Kind: QuestionRoots, Schema: object}},
		"question: schema: ":                                  {{Schema: json.RawMessage(`[`)}},
		"question: a form of 64524 bytes; the limit is 64512": {{Schema: large}},
		"17 questions at once; the most is 16":                make([]Question, 17),
	} {
		c := &Call{open: &pb.Open{Answers: true, Kinds: []pb.QuestionKind{2, 3}}}
		if a, err := c.ElicitAll(t.Context(), questions...); a != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, %v; want %s", a, err, want)
		}
	}
}

// Questions that were given up take up places until they are answered: what does not fit waits for them, and neither fails nor
// breaks the session's rule.
func TestElicitAll_WaitsForPlaces(t *testing.T) {
	given := make(chan struct{})
	h := serveTools(t, newTool("ask", func(ctx context.Context, c *Call, _ nothing) (string, error) {
		for range 15 {
			short, cancel := context.WithCancel(ctx)
			asked := make(chan error, 1)
			go func() { _, err := c.Elicit(short, Question{Message: "given up"}); asked <- err }() // ends with short
			<-given
			cancel()
			if err := <-asked; !errors.Is(err, context.Canceled) {
				return "", err
			}
		}
		answers, err := c.ElicitAll(ctx, Question{Message: "a"}, Question{Message: "b"}, Question{Message: "c"})
		if err != nil {
			return "", err
		}
		return string(answers[0].Content) + string(answers[1].Content) + string(answers[2].Content), nil
	}))
	c := h.open("ask", "{}", func(o *pb.Open) { o.Answers = true })
	var old []*pb.Question
	for range 15 {
		old = append(old, c.recv().GetQuestion())
		given <- struct{}{}
	}
	answer := func(q *pb.Question, content string) {
		c.send(&pb.Frame{Body: &pb.Frame_Answer{Answer: &pb.Answer{Id: q.GetId(), Action: 1, Content: []byte(content)}}})
	}
	answer(old[0], "0")
	answer(old[1], "0")
	for i := range 3 {
		answer(c.recv().GetQuestion(), fmt.Sprint(i+1))
	}
	if got := string(c.output().GetOutput()); got != `"123"` {
		t.Errorf("got %s", got)
	}
}
