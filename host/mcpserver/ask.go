package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/schema"
	"github.com/toolhost/toolhost/host/mcpserver/internal/form"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// inquiry is something to ask a client: a request of MCP, and how its result is read.
type inquiry struct {
	kind   askKind
	key    string                                            // of inputRequests; if empty, one is made
	params func(remark string) json.RawMessage               // of the request; remark is what was wrong with the last answer
	read   func(result json.RawMessage) (host.Answer, error) // the error says what is wrong, for whoever answers
}

// askKind is a capability of clients to be asked.
type askKind int

const (
	elicitation askKind = iota
	sampling
	roots
)

// method is the request of the kind.
func (k askKind) method() string {
	return [...]string{"elicitation/create", "sampling/createMessage", "roots/list"}[k]
}

// capability is the name under which a client declares it.
func (k askKind) capability() string { return [...]string{"elicitation", "sampling", "roots"}[k] }

// has reports whether a client declared it.
func (c capabilities) has(k askKind) bool { return [...]bool{c.form, c.sampling, c.roots}[k] }

// any reports whether the client can be asked anything.
func (c capabilities) any() bool { return c.form || c.sampling || c.roots }

func (c *capabilities) add(k askKind) { *[...]*bool{&c.form, &c.sampling, &c.roots}[k] = true }

// required is the object of capabilities that a client would have to declare; nil: none.
func (c capabilities) required() json.RawMessage {
	all := map[string]struct{}{}
	for _, k := range []askKind{elicitation, sampling, roots} {
		if c.has(k) {
			all[k.capability()] = struct{}{}
		}
	}
	if len(all) == 0 {
		return nil
	}
	out, _ := json.Marshal(all) // names marshal
	return out
}

// maxMessage is how many bytes of a question a client is shown.
const maxMessage = 8 << 10

// inquire makes a tool's question one of MCP. The error says why it cannot be asked.
func (c *calls) inquire(tool *exported, q host.Question) (*inquiry, error) {
	switch q.Kind {
	case host.QuestionSampling:
		return plain(sampling, q.Params, "content")
	case host.QuestionRoots:
		return plain(roots, nil, "roots")
	case "", host.QuestionForm:
		f, err := form.New(q.Schema, c.cfg.Secrets)
		if err != nil {
			return nil, err
		}
		// The plugin's own words follow the host's, which say whose they are (T32).
		message := fmt.Sprintf("The tool %s of plugin %s asks: %s", tool.ID, tool.Plugin, project.Plain(q.Message, maxMessage))
		return elicit(f, questionKey(q.Schema), message), nil
	}
	return nil, fmt.Errorf("the kind of question %q is not known here", q.Kind)
}

// elicit asks by a form.
func elicit(f *form.Form, key, message string) *inquiry {
	return &inquiry{kind: elicitation, key: key, read: f.Read, params: func(remark string) json.RawMessage {
		text := message
		if remark != "" {
			text = "The last answer was not accepted: " + project.Plain(remark, maxMessage) + "\n\n" + message
		}
		return rawjson.Object{{"message", rawjson.Quote(text)}, {"requestedSchema", f.Schema}}.Raw()
	}}
}

// plain asks with parameters that are the plugin's; the result is an object with this member.
func plain(k askKind, params json.RawMessage, member string) (*inquiry, error) {
	var p map[string]json.RawMessage
	if len(params) == 0 {
		params = json.RawMessage("{}")
	}
	if json.Unmarshal(params, &p) != nil || p == nil {
		return nil, fmt.Errorf("the parameters of %s are no object", k.method())
	}
	return &inquiry{
		kind:   k,
		params: func(string) json.RawMessage { return params },
		read: func(result json.RawMessage) (host.Answer, error) {
			doc, err := schema.Parse(result, schema.Limits{Bytes: maxResult})
			if err != nil {
				return host.Answer{}, err
			}
			if all, ok := doc.Value().(map[string]any); !ok || all[member] == nil {
				return host.Answer{}, fmt.Errorf("it is no result of %s: the member %s is missing", k.method(), member)
			}
			return host.Answer{Action: "accept", Content: result}, nil
		},
	}, nil
}

// maxResult is how many bytes the result of a question may have: models may answer with images.
const maxResult = 16 << 20

// questionKey is the name that a question gives itself: the title of its schema, if that is one word.
func questionKey(text json.RawMessage) string {
	var s struct {
		Title string `json:"title"`
	}
	if len(text) > form.MaxSchema || json.Unmarshal(text, &s) != nil || len(s.Title) > maxKey {
		return ""
	}
	for _, r := range s.Title {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return ""
		}
	}
	return s.Title
}

// maxKey is how long such a name may be.
const maxKey = 64

// elicitor answers the questions of a call: it puts them to the client.
func (c *calls) elicitor(f *flight, r request) func(context.Context, host.Question) (host.Answer, error) {
	return func(ctx context.Context, q host.Question) (host.Answer, error) {
		together := max(q.Together, 1)
		inq, err := c.inquire(f.tool, q)
		if err != nil {
			c.log.Warn("a question is declined", "plugin", f.tool.Plugin, "tool", f.tool.ID, "error", err)
			f.arrived(together, nil)
			return host.Answer{Action: "decline"}, nil
		}
		if r.era == project.Modern {
			return f.ask(ctx, inq, together)
		}
		return c.askNow(ctx, f, r, inq)
	}
}

// asks is how often a client is asked again whose answer was not acceptable.
const asks = 3

// askNow puts a tool's question to a legacy client. A client that refuses to answer declines.
func (c *calls) askNow(ctx context.Context, f *flight, r request, inq *inquiry) (host.Answer, error) {
	if !r.can.has(inq.kind) || r.ask == nil {
		f.miss(inq.kind)
		return host.Answer{Action: "decline"}, nil
	}
	answer, err := r.put(ctx, inq)
	if _, refused := errors.AsType[*unanswered](err); refused {
		c.log.Warn("a question is declined", "plugin", f.tool.Plugin, "tool", f.tool.ID, "method", inq.kind.method(), "error", err)
		return host.Answer{Action: "decline"}, nil
	}
	return answer, err
}

// put asks a legacy client, and asks again if the answer is not acceptable. The error is an *unanswered if it did not answer, or
// says what was wrong with the last answer.
func (r request) put(ctx context.Context, inq *inquiry) (host.Answer, error) {
	remark := ""
	for range asks {
		result, err := r.ask(ctx, inq.kind.method(), inq.params(remark))
		if ctx.Err() != nil {
			return host.Answer{}, ctx.Err()
		}
		if err != nil {
			return host.Answer{}, &unanswered{err}
		}
		answer, err := inq.read(result)
		if err == nil {
			return answer, nil
		}
		remark = err.Error()
	}
	return host.Answer{}, errors.New("no acceptable answer: " + remark)
}

// unanswered says why a client did not answer.
type unanswered struct{ error }

func (e *unanswered) Error() string { return "the client did not answer: " + e.error.Error() }

// question is one that a modern client is to be asked.
type question struct {
	*inquiry
	remark string           // what was wrong with the last answer
	tries  int              // answers that were not acceptable
	answer chan host.Answer // room for one
}

// group is what of a group of questions came.
type group struct {
	want, got int
	since     time.Time // the first came
}

// groupWait is how long the rest of a group is waited for: they are asked side by side, so it is on its way.
const groupWait = time.Second

// ask waits until some request brings the answer.
func (f *flight) ask(ctx context.Context, inq *inquiry, together int) (host.Answer, error) {
	q := &question{inquiry: inq, answer: make(chan host.Answer, 1)}
	f.arrived(together, q)
	select {
	case a := <-q.answer:
		return a, nil
	case <-ctx.Done():
		f.mu.Lock()
		defer f.mu.Unlock()
		f.forget(q)
		return host.Answer{}, context.Cause(ctx)
	}
}

// arrived counts a question of a group and, if it is not nil, takes it among the open ones, unless it can be answered
// at once.
func (f *flight) arrived(together int, q *question) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.group.got >= f.group.want {
		f.group = group{want: together, since: time.Now()}
	}
	f.group.got++
	defer f.signal()
	if q == nil {
		return
	}
	f.name(q)
	if raw, ok := f.early[q.key]; ok {
		delete(f.early, q.key)
		if answer, err := q.read(raw); err == nil {
			q.answer <- answer
			return
		} else {
			q.remark = err.Error()
		}
	}
	if !f.can.has(q.kind) {
		f.missing.add(q.kind)
		q.answer <- host.Answer{Action: "decline"}
		return
	}
	f.open = append(f.open, q)
}

// name gives a question a key that no other one of the call has, so that no answer is taken for another's.
func (f *flight) name(q *question) {
	base := q.key
	for n := len(f.names) + 1; q.key == "" || f.names[q.key]; n++ {
		if q.key = fmt.Sprintf("question-%d", n); base != "" {
			q.key = fmt.Sprintf("%s-%d", base, n)
		}
	}
	if f.names == nil {
		f.names = map[string]bool{}
	}
	f.names[q.key] = true
}

func (f *flight) forget(q *question) {
	for i, o := range f.open {
		if o == q {
			f.open = append(f.open[:i:i], f.open[i+1:]...)
			return
		}
	}
}

// miss notes that a question could not be put.
func (f *flight) miss(k askKind) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.missing.add(k)
}

// answer takes what a client brought. What is missing or not acceptable stays open and is asked again; what nobody
// asked is ignored.
func (f *flight) answer(all map[string]json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range append([]*question(nil), f.open...) {
		if !f.can.has(q.kind) { // it declares less than before
			f.missing.add(q.kind)
			q.answer <- host.Answer{Action: "decline"}
			f.forget(q)
			continue
		}
		raw, ok := all[q.key]
		if !ok {
			q.remark = ""
			continue
		}
		answer, err := q.read(raw)
		if err != nil {
			q.remark = err.Error()
			if q.tries++; q.tries < maxTries {
				continue
			}
			answer = host.Answer{Action: "cancel"}
		}
		q.answer <- answer
		f.forget(q)
	}
}

// maxTries is how many answers to one question may be unacceptable until it is cancelled.
const maxTries = 10

// toAsk returns the questions to put to the client now; none: nothing, or not all of a group came yet and more may
// come until then.
func (f *flight) toAsk(now time.Time) (qs []*question, wait time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.open) == 0 {
		return nil, time.Time{}
	}
	if until := f.group.since.Add(groupWait); f.group.got < f.group.want && now.Before(until) {
		return nil, until
	}
	return append([]*question(nil), f.open...), time.Time{}
}

// inputRequests is what an input_required result asks.
func inputRequests(qs []*question) json.RawMessage {
	out := rawjson.Object{}
	for _, q := range qs {
		out.Set(q.key, rawjson.Object{{"method", rawjson.Quote(q.kind.method())}, {"params", q.params(q.remark)}}.Raw())
	}
	return rawjson.Compact(out.Raw()) // what a plugin asks may have line breaks
}

// inputRequired is the result that asks a modern client for something.
func inputRequired(requests json.RawMessage, state string) json.RawMessage {
	return rawjson.Object{{"resultType", rawjson.Quote("input_required")}, {"inputRequests", requests}, {"requestState", rawjson.Quote(state)}}.Raw()
}
