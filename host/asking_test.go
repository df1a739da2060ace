//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// askingTools put what their input says to the caller.
func askingTools() []pluginsdk.Definition {
	show := func(answers []pluginsdk.Answer, err error) ([]string, error) {
		out := make([]string, len(answers))
		for i, a := range answers {
			out[i] = strings.TrimSpace(a.Action + " " + string(a.Content))
		}
		return out, err
	}
	type questions struct {
		Ask []struct {
			Message string          `json:"message"`
			Kind    string          `json:"kind,omitempty"`
			Schema  json.RawMessage `json:"schema,omitempty"`
			Params  json.RawMessage `json:"params,omitempty"`
		} `json:"ask"`
	}
	all := tool("all", func(ctx context.Context, c *pluginsdk.Call, in json.RawMessage) ([]string, error) {
		var qs questions
		if err := json.Unmarshal(in, &qs); err != nil {
			return nil, err
		}
		var list []pluginsdk.Question
		for _, q := range qs.Ask {
			list = append(list, pluginsdk.Question{Message: q.Message, Kind: pluginsdk.QuestionKind(q.Kind), Schema: q.Schema, Params: q.Params})
		}
		return show(c.ElicitAll(ctx, list...))
	})
	return []pluginsdk.Definition{
		all,
		tool("sample", func(ctx context.Context, c *pluginsdk.Call, in json.RawMessage) ([]string, error) {
			a, err := c.Sample(ctx, in)
			return show([]pluginsdk.Answer{a}, err)
		}),
		tool("roots", func(ctx context.Context, c *pluginsdk.Call, _ struct{}) ([]string, error) {
			a, err := c.Roots(ctx)
			return show([]pluginsdk.Answer{a}, err)
		}),
		tool("askwait", func(ctx context.Context, c *pluginsdk.Call, _ struct{}) ([]string, error) {
			got, err := c.ElicitAll(ctx, pluginsdk.Question{Message: "a"}, pluginsdk.Question{Message: "b"})
			if err == nil {
				<-ctx.Done()
				err = ctx.Err()
			}
			return show(got, err)
		}),
	}
}

// ask calls a tool of the plugin asking.
func ask(t *testing.T, h *host.Host, c host.Call) []string {
	t.Helper()
	res, err := h.Call(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := json.Unmarshal(res.Output, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// Questions of one ElicitAll are with the caller at the same time, each says how many there are, and the answers come in the
// order of the questions whatever order they were given in.
func TestElicitAll_AskedAtOnceAnsweredInOrder(t *testing.T) {
	h := open(t, host.Config{}, self("asking", "asking"))
	const n = 16
	var in strings.Builder
	var want []string
	for i := range n {
		fmt.Fprintf(&in, `,{"message":"%d"}`, i)
		want = append(want, fmt.Sprintf("accept %d", i))
	}
	var mu sync.Mutex
	waiting, last := 0, make(chan struct{})
	got := ask(t, h, host.Call{Tool: "all", Input: []byte(`{"ask":[` + in.String()[1:] + `]}`), Elicit: func(ctx context.Context, q host.Question) (host.Answer, error) {
		if q.Together != n || q.Kind != "" {
			t.Errorf("question %+v", q)
		}
		mu.Lock()
		if waiting++; waiting == n {
			close(last)
		}
		mu.Unlock()
		select {
		case <-last:
		case <-ctx.Done():
			t.Error("the questions are not put at once")
		}
		return host.Answer{Action: "accept", Content: json.RawMessage(q.Message)}, nil
	}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A question's kind and parameters reach the caller byte for byte, and what the caller answers is the request's result as it is.
func TestQuestionKinds(t *testing.T) {
	const large = 800 << 10 // a picture to look at
	params := `{"maxTokens":9007199254740993,"messages":[{"role":"user","content":{"type":"text","text":"` + strings.Repeat("x", large) + `"}}]}`
	result := `{ "role":"assistant","content":{"type":"text","text":"ok"},"x":9007199254740993}`
	accept := func(content string) (host.Answer, error) {
		return host.Answer{Action: "accept", Content: json.RawMessage(content)}, nil
	}
	h := open(t, host.Config{}, self("asking", "asking"))
	for _, tt := range []struct {
		name, tool, input string
		elicit            func(host.Question) (host.Answer, error)
		asked             host.QuestionKind
		want              string
	}{
		{"sampling", "sample", params, func(host.Question) (host.Answer, error) { return accept(result) }, host.QuestionSampling, "accept " + result},
		{"roots", "roots", `{}`, func(host.Question) (host.Answer, error) { return accept(`{"roots":[]}`) }, host.QuestionRoots, `accept {"roots":[]}`},
		{"declined", "roots", `{}`, func(host.Question) (host.Answer, error) { return host.Answer{}, nil }, host.QuestionRoots, "decline"},
		{"no JSON", "roots", `{}`, func(host.Question) (host.Answer, error) { return accept(`{"roots":`) }, host.QuestionRoots, "cancel"},
		{"nothing", "roots", `{}`, func(host.Question) (host.Answer, error) { return accept(``) }, host.QuestionRoots, "cancel"},
		{"form", "all", `{"ask":[{"message":"m","kind":"form","schema":{"type":"number"}}]}`, func(host.Question) (host.Answer, error) { return accept(`"x"`) }, "", "cancel"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var asked []host.Question
			got := ask(t, h, host.Call{Tool: tt.tool, Input: []byte(tt.input), Elicit: func(_ context.Context, q host.Question) (host.Answer, error) {
				asked = append(asked, q)
				return tt.elicit(q)
			}})
			if len(got) != 1 || got[0] != tt.want {
				t.Errorf("got %.200q, want %.200q", got, tt.want)
			}
			if len(asked) != 1 || asked[0].Kind != tt.asked || asked[0].Message == "" {
				t.Fatalf("asked %.300v", asked)
			}
			if tt.tool == "sample" && string(asked[0].Params) != params {
				t.Errorf("%d bytes of parameters, want %d", len(asked[0].Params), len(params))
			}
		})
	}
}

// A plugin that knows no kinds asks forms; a kind that this host does not know, or parameters that are no JSON object, are declined
// and reach nobody; and how many are asked at once is no more than can be.
func TestQuestionKinds_OfOtherVersions(t *testing.T) {
	h := open(t, host.Config{}, wired("asking", "asks"))
	var mu sync.Mutex
	asked := map[string]host.Question{}
	res, err := h.Call(t.Context(), host.Call{Tool: "do", Elicit: func(_ context.Context, q host.Question) (host.Answer, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[q.Message] = q
		return host.Answer{Action: "accept", Content: json.RawMessage(`{}`)}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	const accept, decline = "ANSWER_ACTION_ACCEPT", "ANSWER_ACTION_DECLINE"
	if want := fmt.Sprintf(`"1 %s, 2 %s, 3 %s, 4 %s, 5 %s"`, accept, decline, decline, decline, accept); string(res.Output) != want {
		t.Errorf("got %s, want %s", res.Output, want)
	}
	want := map[string]host.Question{
		"old":     {Message: "old"},
		"a crowd": {Message: "a crowd", Kind: host.QuestionRoots, Together: 16},
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}
}

// b52: the call's time stands still while any question is open, of whatever kind and however many, and runs on afterwards.
func TestB52_TimeStandsForEveryKindAndSeveral(t *testing.T) {
	const limit = 2 * time.Second // what is not waiting may take that long
	h := open(t, host.Config{Limits: host.Limits{Call: limit}}, self("asking", "asking"))
	slowly := func() func(context.Context, host.Question) (host.Answer, error) {
		var calls atomic.Int64
		return func(ctx context.Context, _ host.Question) (host.Answer, error) {
			wait := limit + limit/4*time.Duration(calls.Add(1)) // each longer than the one before
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return host.Answer{}, context.Cause(ctx)
			}
			return host.Answer{Action: "accept", Content: json.RawMessage(`{}`)}, nil
		}
	}
	for tool, input := range map[string]string{
		"sample": `{}`, "roots": `{}`,
		"all": `{"ask":[{"message":"a"},{"message":"b","kind":"roots"},{"message":"c","kind":"sampling","params":{}}]}`,
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			for _, a := range ask(t, h, host.Call{Tool: tool, Input: []byte(input), Elicit: slowly()}) {
				if a != "accept {}" {
					t.Errorf("got %s", a)
				}
			}
		})
	}
	t.Run("runs on", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), soon)
		defer cancel()
		res, err := h.Call(ctx, host.Call{Tool: "askwait", Elicit: slowly()})
		wantError(t, res, err, host.Timeout, host.Unknown)
		if ctx.Err() != nil {
			t.Error("the call's own time did not run on")
		}
	})
}
