//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// conversation plays one script. Everything it prints goes through say.
type conversation struct {
	t    *testing.T
	data map[string]string
	out  strings.Builder

	cfg     host.Config
	plugins []host.Plugin
	record  string     // file in which the tools write what they got
	h       *host.Host // nil until it is needed
	log     *syncBuffer

	call  host.Call // options of the calls to come
	turn  []host.Call
	live  map[string]*liveCall
	ended map[string]outcome
	waits map[string][]host.Suspension // of every call, oldest first
	quiet bool                         // events are not printed
	shown strings.Builder              // everything that any event showed, as it was

	traceM sync.Mutex
	trace  []string // what the hooks saw
}

// liveCall is a call whose events are read piece by piece.
type liveCall struct {
	running *host.Running
	next    func() (host.Event, bool)
	stop    func()
}

type outcome struct {
	res *host.Result
	err error
}

func newConversation(t *testing.T, data map[string]string) *conversation {
	dir := t.TempDir()
	c := &conversation{
		t: t, data: data, record: filepath.Join(dir, "record"), log: &syncBuffer{},
		live: map[string]*liveCall{}, ended: map[string]outcome{}, waits: map[string][]host.Suspension{},
	}
	c.cfg.StateDir = stateDir(t)
	c.cfg.Logger = slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: dropTime}))
	c.call.Caller = host.Caller{Subject: "ada", Channel: "embedder"}
	c.addPlugin("test", "contract")
	t.Cleanup(c.close)
	return c
}

func dropTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.Attr{}
	}
	return a
}

func (c *conversation) addPlugin(name, kind string) {
	p := self(name, kind)
	p.Env = append(p.Env, "TEST_RECORD="+c.record)
	c.plugins = append(c.plugins, p)
}

// play runs the script and returns what it printed.
func (c *conversation) play(script string) string {
	table := commands()
	for n, line := range strings.Split(script, "\n") {
		line = strings.TrimRight(line, "\r")
		word, rest, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
		if word == "" || word[0] == '#' {
			continue
		}
		run, ok := table[word]
		if !ok {
			c.t.Fatalf("script line %d: unknown command %q", n+1, word)
		}
		if err := run(c, rest); err != nil {
			c.t.Fatalf("script line %d: %s: %v\nso far:\n%s", n+1, line, err, c.out.String())
		}
		c.printTrace()
	}
	if len(c.live) > 0 || len(c.turn) > 0 {
		c.t.Fatalf("the script left calls open: %d running, %d of a turn", len(c.live), len(c.turn))
	}
	return c.out.String()
}

// host is the host, opened at its first use.
func (c *conversation) host() *host.Host {
	if c.h != nil {
		return c.h
	}
	cfg := c.cfg
	cfg.Plugins = c.plugins
	cfg.Limits.Start, cfg.Limits.Describe = time.Minute, time.Minute // many conversations start theirs at once
	cfg.Eager = cfg.Limits.Call+cfg.Limits.CallMax > 0               // which are to be used up by the calls, not by a start on a slow machine
	h, err := host.Open(c.t.Context(), cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	c.h = h
	return h
}

// close ends the host and its plugins; the next use opens a new one over the same state.
func (c *conversation) close() {
	for id, l := range c.live {
		l.stop()
		delete(c.live, id)
	}
	if c.h != nil {
		c.h.Close()
		c.h = nil
	}
}

func (c *conversation) say(format string, args ...any) {
	line := fixed(fmt.Sprintf(format, args...))
	c.out.WriteString(strings.TrimRight(line, " \n") + "\n")
}

// sayJSON prints v as JSON after a head.
func (c *conversation) sayJSON(head string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		c.t.Fatal(err)
	}
	c.say("%s %s", head, b)
}

// variable is what differs from run to run, and the word that stands for it.
var variable = []struct {
	what *regexp.Regexp
	word string
}{
	{regexp.MustCompile(`"id":"[A-Z2-7]{26}"`), `"id":"<id>"`},
	{regexp.MustCompile(`"sealed":"[^"]*"`), `"sealed":"<sealed>"`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), `<time>`},
	{regexp.MustCompile(`no answer after [0-9.]+[mµ]?s`), `no answer after <duration>`},
	{regexp.MustCompile(`attrs\.stack="(?:[^"\\]|\\.)*"`), `attrs.stack=<stack>`},
	{regexp.MustCompile(`"peakRssBytes":\d+`), `"peakRssBytes":0`},
}

func fixed(line string) string {
	for _, v := range variable {
		line = v.what.ReplaceAllString(line, v.word)
	}
	return line
}

// event prints an event and remembers what it brings.
func (c *conversation) event(e host.Event) {
	b, err := host.MarshalEvent(e)
	if err != nil {
		c.t.Fatal(err)
	}
	c.shown.Write(append(b, '\n'))
	id := e.Of().CallID
	switch e := e.(type) {
	case host.ApprovalEvent:
		c.waits[id] = append(c.waits[id], e.Suspension)
	case host.SuspendedEvent:
		c.waits[id] = append(c.waits[id], e.Suspension)
	}
	if !c.quiet {
		c.say("%s %s", id, b)
	}
}

// start begins a call.
func (c *conversation) start(call host.Call) {
	r := c.host().Start(c.t.Context(), call)
	next, stop := iter.Pull(r.Events())
	c.live[call.ID] = &liveCall{r, next, stop}
}

// until prints the call's events up to the first of this type, or the last one.
func (c *conversation) until(id, kind string) error {
	l := c.live[id]
	if l == nil {
		return fmt.Errorf("no running call %q", id)
	}
	for {
		e, ok := l.next()
		if !ok {
			break
		}
		c.event(e)
		if host.EventType(e) == kind {
			return nil
		}
	}
	l.stop()
	delete(c.live, id)
	res, err := l.running.Result()
	c.ended[id] = outcome{res, err}
	if kind != "" {
		return fmt.Errorf("the call ended without an event %q", kind)
	}
	return nil
}

// run makes a call and prints its events.
func (c *conversation) run(call host.Call) error {
	c.start(call)
	return c.until(call.ID, "")
}

// runTurn makes the calls of the turn and prints what is not terminal by call, and the terminal events in the order they came.
func (c *conversation) runTurn() {
	calls := c.turn
	c.turn = nil
	before, last := make([][]host.Event, len(calls)), []host.Event{}
	for i, e := range c.host().CallAll(c.t.Context(), calls) {
		switch e.(type) {
		case host.ResultEvent, host.ErrorEvent, host.DeniedEvent, host.ApprovalEvent, host.SuspendedEvent:
			last = append(last, e)
		default:
			before[i] = append(before[i], e)
		}
	}
	for _, e := range append(slices.Concat(before...), last...) {
		c.event(e)
	}
}

// suspension is that of a call: the latest, or with a#1 the first, a#2 the second, ...
func (c *conversation) suspension(ref string) (host.Suspension, string, error) {
	id, n, numbered := strings.Cut(ref, "#")
	all := c.waits[id]
	i := len(all) - 1
	if numbered {
		if _, err := fmt.Sscan(n, &i); err != nil {
			return host.Suspension{}, id, err
		}
		i--
	}
	if i < 0 || i >= len(all) {
		return host.Suspension{}, id, fmt.Errorf("the call %q has no such suspension", ref)
	}
	return all[i], id, nil
}

// answer makes the next round of a call with the caller and the hooks of now.
func (c *conversation) answer(ref string, turn func(*host.Suspension) host.Call) error {
	s, _, err := c.suspension(ref)
	if err != nil {
		return err
	}
	call, now := turn(&s), c.call
	call.Caller, call.Hooks, call.View, call.Elicit, call.Active = now.Caller, now.Hooks, now.View, now.Elicit, now.Active
	call.Input = json.RawMessage("{}") // of a resumed call the host takes the saved one
	return c.run(call)
}

// text is an argument: itself, or with @name the section of that name.
func (c *conversation) text(arg string) (string, error) {
	name, isSection := strings.CutPrefix(arg, "@")
	if !isSection {
		return arg, nil
	}
	body, ok := c.data[name]
	if !ok {
		return "", fmt.Errorf("no section %q", name)
	}
	return strings.TrimSuffix(body, "\n"), nil
}

// seen returns what the tools wrote down since the last time. It ends the host first, so that everything is written.
func (c *conversation) seen() ([]string, error) {
	if len(c.live) > 0 {
		return nil, errors.New("calls are running")
	}
	c.close()
	b, err := os.ReadFile(c.record)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = os.Remove(c.record)
	}
	return joinDeltas(b), err
}

// joinDeltas makes one line of the pieces of one input: how a text is cut on the way is nobody's promise.
func joinDeltas(record []byte) []string {
	var lines []string
	joined := ""
	for line := range strings.Lines(string(record)) {
		line = strings.TrimSuffix(line, "\n")
		head, piece, isDelta := strings.Cut(line, " onInputDelta ")
		if !isDelta {
			lines, joined = append(lines, line), ""
			continue
		}
		var text string
		_ = json.Unmarshal([]byte(piece), &text) // the tools wrote it so
		if n := len(lines); joined != "" && strings.HasPrefix(lines[n-1], head+" onInputDelta ") {
			joined += text
			lines = lines[:n-1]
		} else {
			joined = text
		}
		b, _ := json.Marshal(joined) // a string always has a JSON form
		lines = append(lines, head+" onInputDelta "+string(b))
	}
	return lines
}

// traced notes what a hook saw, to be printed after the command.
func (c *conversation) traced(format string, args ...any) {
	c.traceM.Lock()
	defer c.traceM.Unlock()
	c.trace = append(c.trace, fmt.Sprintf(format, args...))
}

func (c *conversation) printTrace() {
	c.traceM.Lock()
	defer c.traceM.Unlock()
	for _, line := range c.trace {
		c.say("%s", line)
	}
	c.trace = nil
}

// elicit answers questions by these fixed words.
func (c *conversation) elicit(action, content string) func(context.Context, host.Question) (host.Answer, error) {
	return func(_ context.Context, q host.Question) (host.Answer, error) {
		c.traced("asked %q %s", q.Message, q.Schema)
		if action == "fail" {
			return host.Answer{}, errors.New("nobody is there")
		}
		a := host.Answer{Action: action}
		if content != "" {
			a.Content = json.RawMessage(content)
		}
		return a, nil
	}
}
