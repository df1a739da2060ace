package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
)

// asked makes a legacy client that gives these results, in turn, and keeps what it was asked.
type asked struct {
	mu      sync.Mutex
	results []string // "" is an error
	params  []string // "method params"
}

func (a *asked) ask(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.params = append(a.params, method+" "+string(params))
	if len(a.results) == 0 || a.results[0] == "" {
		return nil, errors.New("the user is away")
	}
	r := a.results[0]
	if len(a.results) > 1 {
		a.results = a.results[1:]
	}
	return json.RawMessage(r), nil
}

func TestAskLegacy(t *testing.T) {
	b := newBench(t, nil, nil)
	for _, c := range []struct {
		tool    string
		results []string
		want    string
		times   int
	}{
		{"name", []string{`{"action":"accept","content":{"name":"Ann"}}`}, `accept {"name":"Ann"}`, 1},
		{"name", []string{`{"action":"decline"}`}, "decline", 1},
		{"name", []string{`{"action":"cancel"}`}, "cancel", 1},
		{"name", []string{""}, "decline", 1},                                                                                                       // it refused
		{"name", []string{`{"action":"accept","content":{"name":"A"}}`, `{"action":"accept","content":{"name":"Bo"}}`}, `accept {"name":"Bo"}`, 2}, // asked again
		{"name", []string{`{"action":"maybe"}`}, "cancel", asks},
		{"name", []string{`[1]`}, "cancel", asks},
		{"number", []string{`{"action":"accept","content":{"value":9007199254740993}}`}, "accept 9007199254740993", 1}, // R21
		{"sample", []string{`{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`}, `accept {"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`, 1},
		{"nested", []string{`{"action":"accept","content":{}}`}, "decline", 0},   // no form can ask it
		{"password", []string{`{"action":"accept","content":{}}`}, "decline", 0}, // T32
	} {
		a := &asked{results: c.results}
		b.must(request{name: c.tool, can: everything, ask: a.ask}, c.want)
		if len(a.params) != c.times {
			t.Errorf("%s %q: asked %d times, want %d: %q", c.tool, c.results, len(a.params), c.times, a.params)
		}
	}
	a := &asked{results: []string{`{"action":"accept","content":{"name":"A"}}`}}
	b.must(request{name: "name", can: everything, ask: a.ask}, "cancel")
	for i, p := range a.params {
		method, params, _ := strings.Cut(p, " ")
		var q struct{ Message string }
		if err := json.Unmarshal([]byte(params), &q); err != nil || method != "elicitation/create" {
			t.Fatalf("%s: %v", p, err)
		}
		// T32: whose words they are, in the host's
		if !strings.Contains(q.Message, "The tool name of plugin kit asks: What is your name?") || strings.Contains(q.Message, "not accepted: ") != (i > 0) {
			t.Errorf("it was asked %q", q.Message)
		}
	}
}

// TestAskUndeclared holds that a client is asked only what it declared, and what then becomes of the call.
func TestAskUndeclared(t *testing.T) {
	b := newBench(t, nil, nil)
	a := &asked{results: []string{`{}`}}
	got := b.send(t.Context(), request{name: "sample", can: capabilities{form: true}, ask: a.ask})
	if !got.IsError || !strings.Contains(got.text(), "no model answered") || len(a.params) > 0 {
		t.Errorf("legacy: %s; it was asked %q", got.raw, a.params)
	}
	b.must(request{name: "name", ask: a.ask}, "decline")
	b.must(request{name: "name", can: everything}, "decline") // nobody can be asked
	got = b.send(t.Context(), request{era: project.Modern, name: "sample", can: capabilities{form: true}})
	e, ok := got.err.(*rpcError)
	if !ok || e.code != codeMissingCapability || string(e.data) != `{"requiredCapabilities":{"sampling":{}}}` {
		t.Errorf("modern: %s, error %+v", got.raw, got.err)
	}
	b.must(request{era: project.Modern, name: "name"}, "decline") // the tool lives without: no error
	got = b.send(t.Context(), request{era: project.Modern, name: "lost"})
	if got.err != nil || !got.IsError || !strings.Contains(string(got.raw), `"outcome":"unknown"`) { // it asked, and did not fail for that
		t.Errorf("lost: %s, error %+v", got.raw, got.err)
	}
}

// TestAskModern goes through a question of a modern client: asked, answered, asked again.
func TestAskModern(t *testing.T) {
	b := newBench(t, nil, nil)
	first := request{era: project.Modern, name: "name", can: everything, arguments: json.RawMessage(`{"text":"x"}`)}
	a := b.send(t.Context(), first)
	if a.err != nil || a.Type != "input_required" || a.State == "" || !slices.Equal(a.keys(), []string{"user_name"}) {
		t.Fatalf("got %s, error %v", a.raw, a.err)
	}
	q := a.Requests["user_name"]
	if q.Method != "elicitation/create" || !strings.Contains(q.Params.Message, "plugin kit asks: What is your name?") ||
		string(q.Params.Schema) != `{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}` {
		t.Errorf("it is asked %+v", q)
	}
	again := first
	again.arguments = json.RawMessage(` { "text" : "x" } `) // white space does not matter
	states := []string{a.State}
	for _, bad := range []map[string]json.RawMessage{nil, {"other": json.RawMessage(`{"action":"accept","content":{"name":"Eve"}}`)},
		{"user_name": json.RawMessage(`12345`)}, {"user_name": json.RawMessage(`{"action":"accept","content":{"name":"A"}}`)}, {"user_name": nil}} {
		again.state, again.answers = a.State, bad
		a = b.send(t.Context(), again)
		if a.Type != "input_required" || slices.Contains(states, a.State) || !slices.Equal(a.keys(), []string{"user_name"}) {
			t.Fatalf("%v: got %s, error %v", bad, a.raw, a.err)
		}
		states = append(states, a.State)
	}
	again.state = a.State
	again.answers = map[string]json.RawMessage{
		"user_name": json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`),
		"extra":     json.RawMessage(`{"action":"accept"}`), // ignored
	}
	b.must(again, `accept {"name":"Ann"}`)
	for _, s := range states { // T35: none of them can be used again
		again.state = s
		if a := b.send(t.Context(), again); a.code() != codeInvalidParams {
			t.Errorf("a replayed state: got %s, error %v", a.raw, a.err)
		}
	}
}

func TestAskModernRounds(t *testing.T) {
	b := newBench(t, nil, nil)
	a := b.send(t.Context(), request{era: project.Modern, name: "twice", can: everything})
	name := func(key, n string) map[string]json.RawMessage {
		return map[string]json.RawMessage{key: json.RawMessage(`{"action":"accept","content":{"name":"` + n + `"}}`)}
	}
	a = b.send(t.Context(), request{era: project.Modern, name: "twice", can: everything, state: a.State, answers: name("user_name", "Ann")})
	if a.Type != "input_required" || len(a.keys()) != 1 || a.keys()[0] == "user_name" {
		t.Fatalf("the second round: %s, error %v", a.raw, a.err) // with a key of its own, so that no old answer fits
	}
	b.must(request{era: project.Modern, name: "twice", can: everything, state: a.State, answers: name(a.keys()[0], "Bob")},
		`accept {"name":"Ann"} accept {"name":"Bob"}`)
}

// TestAskModernTogether holds that what is asked at once is asked in one result, that what is not answered is asked again,
// and that what the client cannot do is left out.
func TestAskModernTogether(t *testing.T) {
	b := newBench(t, nil, nil)
	r := request{era: project.Modern, name: "all", can: everything}
	a := b.send(t.Context(), r)
	by := map[string]string{}
	for k, q := range a.Requests {
		by[q.Method] = k
	}
	if len(by) != 3 {
		t.Fatalf("asked %s", a.raw)
	}
	r.state, r.answers = a.State, map[string]json.RawMessage{
		by["elicitation/create"]:     json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`),
		by["sampling/createMessage"]: json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}`),
	}
	a = b.send(t.Context(), r)
	if !slices.Equal(a.keys(), []string{by["roots/list"]}) {
		t.Fatalf("asked again: %s", a.raw)
	}
	r.state, r.answers = a.State, map[string]json.RawMessage{by["roots/list"]: json.RawMessage(`{"roots":[]}`)}
	b.must(r, `accept {"name":"Ann"}; accept {"role":"assistant","content":{"type":"text","text":"hi"},"model":"m"}; accept {"roots":[]}`)

	r = request{era: project.Modern, name: "all", can: capabilities{sampling: true}}
	a = b.send(t.Context(), r)
	if len(a.Requests) != 1 || a.Requests[a.keys()[0]].Method != "sampling/createMessage" {
		t.Fatalf("a client that can only sample is asked %s", a.raw)
	}
	r.state, r.can = a.State, capabilities{form: true} // and now it cannot even that
	b.must(r, "decline; decline; decline")
}

// TestAskModernAnswersAtOnce holds that answers may come with the call itself, as SEP-2322 has it for servers without a state.
func TestAskModernAnswersAtOnce(t *testing.T) {
	b := newBench(t, nil, nil)
	r := request{era: project.Modern, name: "name", can: everything, answers: map[string]json.RawMessage{"user_name": json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`)}}
	b.must(r, `accept {"name":"Ann"}`)
	r.answers["user_name"] = json.RawMessage(`12345`)
	if a := b.send(t.Context(), r); a.Type != "input_required" {
		t.Errorf("got %s", a.raw)
	}
}

// TestT35_StateIsBound holds that a state is of use only to who got it, for the same tool and arguments, until it expires, and
// that whoever tries something else does not harm the call that waits.
func TestT35_StateIsBound(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Verify = nil }, nil)
	other := newBench(t, nil, nil)
	ann := host.Caller{Channel: channelHTTP, Subject: "ann"}
	good := request{era: project.Modern, name: "name", caller: ann, can: everything, arguments: json.RawMessage(`{"text":"x"}`)}
	a := b.send(t.Context(), good)
	good.state = a.State
	good.answers = map[string]json.RawMessage{"user_name": json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`)}
	change := func(f func(*request)) request { r := good; f(&r); return r }
	for name, r := range map[string]request{
		"appended":  change(func(r *request) { r.state += "-TAMPERED" }),
		"flipped":   change(func(r *request) { r.state = r.state[:20] + flip(r.state[20]) + r.state[21:] }),
		"cut":       change(func(r *request) { r.state = r.state[:len(r.state)-1] }),
		"garbage":   change(func(r *request) { r.state = "}{" }),
		"long":      change(func(r *request) { r.state = strings.Repeat("A", 1<<20) }),
		"subject":   change(func(r *request) { r.caller.Subject = "bob" }),
		"anonymous": change(func(r *request) { r.caller.Subject = "" }),
		"tenant":    change(func(r *request) { r.caller.Tenant = "t" }),
		"channel":   change(func(r *request) { r.caller.Channel = channelStdio }),
		"tool":      change(func(r *request) { r.name = "twice" }),
		"arguments": change(func(r *request) { r.arguments = json.RawMessage(`{"text":"y"}`) }),
		"absent":    change(func(r *request) { r.arguments = nil }),
	} {
		if a := b.send(t.Context(), r); a.code() != codeInvalidParams {
			t.Errorf("%s: got %s, error %v", name, a.raw, a.err)
		}
	}
	if a := other.send(t.Context(), good); a.code() != codeInvalidParams {
		t.Errorf("another server: got %s, error %v", a.raw, a.err)
	}
	b.must(good, `accept {"name":"Ann"}`)
	late, err := b.sealer.seal(ticket{Flight: "x", Expires: time.Now().Add(-time.Second).Unix()}, bound(good))
	if err != nil {
		t.Fatal(err)
	}
	good.state = late
	if a := b.send(t.Context(), good); a.code() != codeInvalidParams || !strings.Contains(a.err.Error(), "expired") {
		t.Errorf("expired: got %s, error %v", a.raw, a.err)
	}
}

func flip(c byte) string {
	if c == 'A' {
		return "B"
	}
	return "A"
}

// TestParkExpires holds that a call whose client never comes back is cancelled, and its question with it.
func TestParkExpires(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Park = 50 * time.Millisecond }, nil)
	r := request{era: project.Modern, name: "name", can: everything}
	a := b.send(t.Context(), r)
	r.state = a.State
	for begun := time.Now(); ; {
		b.lot.mu.Lock()
		n := len(b.lot.parked)
		b.lot.mu.Unlock()
		if n == 0 {
			break
		}
		if time.Since(begun) > patience {
			t.Fatal("it waits still")
		}
		pause(t.Context(), time.Millisecond)
	}
	if a := b.send(t.Context(), r); a.code() != codeInvalidParams {
		t.Errorf("got %s, error %v", a.raw, a.err)
	}
	b.calls.work.Wait() // the call has ended
}

// TestT29_ParkedCallsAreLimited holds that a caller can let only so many calls wait, and that this is nobody else's trouble.
func TestT29_ParkedCallsAreLimited(t *testing.T) {
	b := newBench(t, nil, nil)
	ann, bob := host.Caller{Channel: channelHTTP, Subject: "ann"}, host.Caller{Channel: channelHTTP, Subject: "bob"}
	var last outcome
	for n := range maxParkedOwner + 1 {
		last = b.send(t.Context(), request{era: project.Modern, name: "name", caller: ann, can: everything})
		if (last.Type == "input_required") != (n < maxParkedOwner) {
			t.Fatalf("call %d: %s, error %v", n, last.raw, last.err)
		}
	}
	if !last.IsError || !strings.Contains(last.text(), "too many calls wait") {
		t.Errorf("got %s", last.raw)
	}
	if a := b.send(t.Context(), request{era: project.Modern, name: "name", caller: bob, can: everything}); a.Type != "input_required" {
		t.Errorf("another caller: %s, error %v", a.raw, a.err)
	}
}

// TestParkRoundsAreLimited holds that a client that brings no answers does not keep a call for ever.
func TestParkRoundsAreLimited(t *testing.T) {
	b := newBench(t, nil, nil)
	r := request{era: project.Modern, name: "name", can: everything}
	rounds := 0
	a := b.send(t.Context(), r)
	for ; a.Type == "input_required" && rounds <= maxRounds; rounds++ {
		r.state = a.State
		a = b.send(t.Context(), r)
	}
	if rounds != maxRounds || !a.IsError || !strings.Contains(a.text(), "asked too often") {
		t.Errorf("after %d rounds: %s, error %v", rounds, a.raw, a.err)
	}
}

// TestParkedCallOutlivesItsRequest holds that the end of the request that parked a call does not end the call, that its clock
// stands still meanwhile, and that of two who bring answers one is heard.
func TestParkedCallOutlivesItsRequest(t *testing.T) {
	b := newBench(t, nil, func(c *host.Config) { c.Limits.Call = 3 * time.Second })
	ctx, cancel := context.WithCancel(t.Context())
	r := request{era: project.Modern, name: "name", can: everything}
	a := b.send(ctx, r)
	cancel()
	pause(t.Context(), 3500*time.Millisecond) // longer than the call may take
	r.state, r.answers = a.State, map[string]json.RawMessage{"user_name": json.RawMessage(`{"action":"accept","content":{"name":"Ann"}}`)}
	got := make(chan outcome)
	for range 8 {
		go func() { got <- b.send(t.Context(), r) }() // ends with the call
	}
	heard := 0
	for range 8 {
		if a := <-got; a.err == nil && a.text() == `accept {"name":"Ann"}` {
			heard++
		} else if a.code() != codeInvalidParams {
			t.Errorf("got %s, error %v", a.raw, a.err)
		}
	}
	if heard != 1 {
		t.Errorf("%d of 8 were heard", heard)
	}
}
