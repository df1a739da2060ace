//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/pluginsdk"
)

// contextTools say what they know of their call, and how it ends.
func contextTools() []pluginsdk.Definition {
	facts := tool("facts", func(ctx context.Context, c *pluginsdk.Call, _ raw) (raw, error) {
		_, limited := ctx.Deadline()
		resumed, err := c.Resume(new(any))
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]any{"id": c.ID(), "tool": c.Tool(), "deadline": limited, "resumed": resumed, "trace": c.Traceparent()})
	})
	locale := rawTool("locale", "", "", func(_ context.Context, c *pluginsdk.Call, _ raw) (v raw, err error) { // nothing is required
		err = c.RequestContext(&v)
		return v, err
	})
	locale.RequestContextSchema = raw(`{"type":"object","properties":{"lang":{"type":"string","default":"en"}}}`)
	listener := rawTool("listener", "", "", same)
	listener.WantsMessages = true
	listener.OnInputStart = func(_ context.Context, c *pluginsdk.Call) error {
		noted(c, "onInputStart", c.Messages())
		return nil
	}
	listener.OnInputAvailable = func(_ context.Context, c *pluginsdk.Call, _ raw) error {
		noted(c, "onInputAvailable", c.Messages())
		return nil
	}
	patient := rawTool("patient", "", "", waitForEnd)
	patient.Timeout = time.Hour
	hasty := rawTool("hasty", "", "", waitForEnd)
	hasty.Timeout = time.Second
	modelled := rawTool("modelled", echoSchema, echoSchema, same)
	modelled.ToModelOutput = func(_ context.Context, _, out raw) (pluginsdk.ModelOutput, error) {
		return pluginsdk.Text("for the model: " + string(out)), nil
	}
	return []pluginsdk.Definition{
		facts, locale, listener, patient, hasty, modelled,
		rawTool("spans", "", "", spans),
		rawTool("endings", `{"type":"object","properties":{"how":{"enum":["plain","wrapped","dropped"]}}}`, "", endings),
		rawTool("meet", `{"type":"object","required":["people"],"properties":{"people":{"type":"integer"}}}`, "", (&meeting{full: make(chan struct{})}).meet),
	}
}

// spans says what came out of three spans: one that goes well with one inside, and one that fails.
func spans(ctx context.Context, c *pluginsdk.Call, _ raw) (raw, error) {
	var order []string
	well := c.Span(ctx, "outer", func(ctx context.Context) error {
		order = append(order, "outer")
		return c.Span(ctx, "inner", func(context.Context) error { order = append(order, "inner"); return nil })
	})
	broken := errors.New("the step broke")
	got := c.Span(ctx, "broken", func(context.Context) error { order = append(order, "broken"); return broken })
	return json.Marshal(map[string]any{"order": order, "well": well == nil, "itsOwnError": errors.Is(got, broken)})
}

// endings suspends in the ways that an author may write it.
func endings(_ context.Context, c *pluginsdk.Call, in raw) (raw, error) {
	var v struct{ How string }
	if err := json.Unmarshal(in, &v); err != nil {
		return nil, err
	}
	if resumed, err := c.Resume(new(any)); resumed || err != nil {
		return raw(`"went on"`), err
	}
	s := c.Suspend(map[string]string{"how": v.How})
	noted(c, "afterSuspend", v.How) // the author's code runs on until it returns
	switch v.How {
	case "wrapped":
		return raw(`"ignored"`), fmt.Errorf("on the way out: %w", s)
	case "dropped":
		return raw(`"an output after all"`), nil
	}
	return raw(`"ignored"`), s
}

// meeting lets calls wait for each other in one process.
type meeting struct {
	mu   sync.Mutex
	came int
	full chan struct{}
}

// meet returns when as many calls are here at once as the input says.
func (m *meeting) meet(ctx context.Context, _ *pluginsdk.Call, in raw) (raw, error) {
	var v struct{ People int }
	if err := json.Unmarshal(in, &v); err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.came++
	full := m.full
	if m.came == v.People {
		m.came, m.full = 0, make(chan struct{})
		close(full)
	}
	m.mu.Unlock()
	select {
	case <-full:
		return raw(`"met"`), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// namedTools have ids at the edge of what an id may be.
func namedTools() []pluginsdk.Definition {
	var all []pluginsdk.Definition
	for _, id := range []string{
		"plain-Name_1", "1first", strings.Repeat("x", 64), strings.Repeat("y", 65), "has.dot", "has/slash", "größe", "twice", "twice",
	} {
		all = append(all, rawTool(id, "", "", always(`"ran"`)))
	}
	return all
}
