package mcpserver

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpserver/internal/project"
	"github.com/toolhost/toolhost/internal/rawjson"
)

// ownState gives a host a state directory of its own: what waits counts against a limit (T29).
func ownState(t *testing.T) func(*host.Config) {
	return func(c *host.Config) { c.StateDir = t.TempDir() }
}

func TestSuspensionLegacy(t *testing.T) {
	b := newBench(t, nil, ownState(t))
	red := `{"action":"accept","content":{"color":"red"}}`
	for _, c := range []struct {
		results []string
		want    string // in the text
		isError bool
		times   int
	}{
		{[]string{red}, "color red", false, 1},
		{[]string{`{"action":"accept","content":{"color":"green"}}`, `{"action":"accept"}`, red}, "color red", false, 3},
		{[]string{`{"action":"decline"}`}, "declined by the user", true, 1},
		{[]string{`{"action":"cancel"}`}, "cancelled by the user", true, 1},
		{[]string{""}, "waits for an answer", true, 1},
		{[]string{`{"action":"accept","content":{"color":"green"}}`}, "waits for an answer", true, asks},
	} {
		a := &asked{results: c.results}
		got := b.send(t.Context(), request{name: "survey", can: everything, ask: a.ask})
		if got.err != nil || !strings.Contains(got.text(), c.want) || got.IsError != c.isError || len(a.params) != c.times {
			t.Errorf("%q: got %s, error %v, asked %q", c.results, got.raw, got.err, a.params)
		}
		if !strings.Contains(a.params[0], "The tool survey of plugin kit waits for an answer") || !strings.Contains(a.params[0], "Which color?") {
			t.Errorf("it was asked %s", a.params[0])
		}
	}
}

// TestSuspensionWaits holds that where nobody can be asked, the call says how it is decided, in both eras, and that it can be.
func TestSuspensionWaits(t *testing.T) {
	b := newBench(t, nil, ownState(t))
	for name, r := range map[string]request{
		"no form, legacy": {name: "survey", can: capabilities{sampling: true}, ask: (&asked{}).ask},
		"no way, legacy":  {name: "survey", can: everything},
		"no form, modern": {era: project.Modern, name: "survey"},
		"no flat form":    {era: project.Modern, name: "deep", can: everything},
	} {
		got := b.send(t.Context(), r)
		if got.err != nil || !got.IsError || !strings.Contains(got.text(), "waits for an answer") || !strings.Contains(got.text(), " --data JSON") {
			t.Fatalf("%s: got %s, error %v", name, got.raw, got.err)
		}
		var waiting *host.Suspension
		all, err := b.host.Pending()
		for _, s := range all {
			if strings.Contains(got.text(), "toolhost resume "+s.ID+" ") {
				waiting = &s
			}
		}
		if waiting == nil || err != nil {
			t.Fatalf("%s: %q names none of %d that wait, %v", name, got.text(), len(all), err)
		}
		if strings.Contains(string(got.raw), "sealed") {
			t.Errorf("%s: the client gets the sealed part: %s", name, got.raw)
		}
		call := waiting.Resume(json.RawMessage(`{"color":"blue"}`))
		call.Caller = host.Caller{Channel: "terminal"}
		if name == "no flat form" {
			call = waiting.Deny("no")
		}
		if res, err := b.host.Call(t.Context(), call); name != "no flat form" && (err != nil || string(res.Output) != `"color blue"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSuspensionModern goes through a suspension of a modern client; it survives a restart of host and server that have their
// keys (StateKey).
func TestSuspensionModern(t *testing.T) {
	dir, key := t.TempDir(), make([]byte, keySize)
	open := func() *bench {
		return newBench(t, func(c *Config) { c.StateKey = key }, func(c *host.Config) { c.StateDir = dir })
	}
	b := open()
	r := request{era: project.Modern, name: "survey", can: everything}
	a := b.send(t.Context(), r)
	if a.Type != "input_required" || len(a.Requests) != 1 || a.Requests["answer"].Method != "elicitation/create" {
		t.Fatalf("got %s, error %v", a.raw, a.err)
	}
	for _, bad := range []map[string]json.RawMessage{nil, {"answer": json.RawMessage(`7`)}, {"answer": json.RawMessage(`{"action":"accept","content":{"color":"green"}}`)}} {
		r.state, r.answers = a.State, bad
		if a = b.send(t.Context(), r); a.Type != "input_required" {
			t.Fatalf("%v: got %s, error %v", bad, a.raw, a.err)
		}
	}
	b.close()
	_ = b.host.Close()
	b = open()
	foreign := r
	foreign.state, foreign.caller = a.State, host.Caller{Channel: channelHTTP, Subject: "eve"}
	foreign.answers = map[string]json.RawMessage{"answer": json.RawMessage(`{"action":"decline"}`)}
	if a := b.send(t.Context(), foreign); a.code() != codeInvalidParams { // T35
		t.Errorf("another caller: %s, error %v", a.raw, a.err)
	}
	r.state, r.answers = a.State, map[string]json.RawMessage{"answer": json.RawMessage(`{"action":"accept","content":{"color":"blue"}}`)}
	b.must(r, "color blue")
	if a := b.send(t.Context(), r); a.code() != codeInvalidParams {
		t.Errorf("again: %s, error %v", a.raw, a.err)
	}
	r.state, r.answers = "", nil
	r.state = b.send(t.Context(), r).State
	r.answers = map[string]json.RawMessage{"answer": json.RawMessage(`{"action":"decline"}`)}
	if a := b.send(t.Context(), r); !a.IsError || !strings.Contains(a.text(), "declined by the user") {
		t.Errorf("declined: %s, error %v", a.raw, a.err)
	}
}

const yes = `{"action":"accept","content":{"approve":true}}`

// TestT28_ApprovalsAreNotTheClientsByDefault holds that a client that accepts every question approves nothing, on any channel,
// unless the configuration lets it.
func TestT28_ApprovalsAreNotTheClientsByDefault(t *testing.T) {
	h := testHost(t, ownState(t))
	for _, c := range []struct {
		approvals Approvals
		channel   string
		asked     bool
	}{
		{Approvals{}, channelStdio, false}, {Approvals{}, channelHTTP, false}, {Approvals{Stdio: true}, channelHTTP, false},
		{Approvals{HTTP: true}, channelStdio, false}, {Approvals{Stdio: true}, channelStdio, true}, {Approvals{HTTP: true}, channelHTTP, true},
		{Approvals{Stdio: true, HTTP: true}, "other", false},
	} {
		b := newBenchOn(t, h, func(cfg *Config) { cfg.Approvals = c.approvals })
		for _, e := range []project.Era{project.Legacy, project.Modern} {
			mark := filepath.Join(t.TempDir(), "mark")
			cl := &asked{results: []string{yes}}
			r := request{era: e, name: "danger", caller: host.Caller{Channel: c.channel}, can: everything, arguments: rawjson.Encode(map[string]string{"text": mark})}
			if e == project.Legacy {
				r.ask = cl.ask
			}
			r.answers = map[string]json.RawMessage{"approval": json.RawMessage(yes)} // nothing without its question
			got := b.send(t.Context(), r)
			if got.Type == "input_required" {
				cl.params = append(cl.params, "")
				r.state = got.State
				got = b.send(t.Context(), r)
			}
			_, err := os.Stat(mark)
			if ran := err == nil; ran != c.asked || len(cl.params) > 0 != c.asked || got.IsError == c.asked {
				t.Errorf("%+v on %s, era %d: ran %t, asked %q, got %s, error %v", c.approvals, c.channel, e, ran, cl.params, got.raw, got.err)
			}
			if !c.asked && (!strings.Contains(got.text(), "--approve") || !strings.Contains(got.text(), "toolhost resume ")) {
				t.Errorf("%+v on %s: it does not say how: %q", c.approvals, c.channel, got.text())
			}
		}
	}
}

// TestT13_OnlyAYesIsOne holds what counts as an approval, and what the question shows.
func TestT13_OnlyAYesIsOne(t *testing.T) {
	b := newBench(t, func(c *Config) { c.Approvals.Stdio = true }, ownState(t))
	for _, c := range []struct{ result, want string }{
		{yes, "boom"},
		{`{"action":"accept"}`, "waits for an approval"},
		{`{"action":"accept","content":{}}`, "waits for an approval"},
		{`{"action":"accept","content":{"approve":"true"}}`, "waits for an approval"},
		{`{"action":"accept","content":{"approve":false}}`, "declined by the user"},
		{`{"action":"decline","content":{"approve":true}}`, "declined by the user"},
		{`{"action":"cancel","content":{"approve":true}}`, "waits for an approval"},
		{`{"action":"yes","content":{"approve":true}}`, "waits for an approval"},
		{``, "waits for an approval"},
	} {
		mark := filepath.Join(t.TempDir(), "mark\u202e")
		cl := &asked{results: []string{c.result}}
		got := b.send(t.Context(), request{name: "danger", can: everything, ask: cl.ask, arguments: rawjson.Encode(map[string]string{"text": mark})})
		_, err := os.Stat(mark)
		if !strings.Contains(got.text(), c.want) || (err == nil) != (c.result == yes) {
			t.Errorf("%s: got %s; ran %t", c.result, got.raw, err == nil)
		}
		_, raw, _ := strings.Cut(cl.params[0], " ")
		var q struct{ Message string }
		if err := json.Unmarshal([]byte(raw), &q); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"May the tool danger of plugin kit run?\n", `Its title, in the plugin's words: "Approved by \"admin\""`, `mark\u202E"`, filepath.Dir(mark), "the tool requires an approval"} {
			if !strings.Contains(q.Message, want) {
				t.Errorf("the question lacks %q: %q", want, q.Message)
			}
		}
	}
	cl := &asked{results: []string{yes}} // what cannot be shown whole cannot be approved here
	got := b.send(t.Context(), request{name: "danger", can: everything, ask: cl.ask, arguments: rawjson.Encode(map[string]string{"text": strings.Repeat("x", maxShown)})})
	if len(cl.params) > 0 || !strings.Contains(got.text(), "longer than a client is asked to show") {
		t.Errorf("got %s, asked %d times", got.raw, len(cl.params))
	}
}
