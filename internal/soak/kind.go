//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/soak/subject"
)

// kind is one kind of call of the mixed load.
type kind struct {
	name   string
	weight int // of 100
	tool   string
	text   int  // bytes of payload
	n      int  // what the tool is told
	fast   bool // takes no time of its own, so its latency is the host's
	do     func(ctx context.Context, h *host.Host, c host.Call, k *kind) (*host.Result, error)
}

// kinds are the mix. Most calls are small, as those of agents are.
var kinds = []*kind{
	{name: "echo", weight: 69, tool: "echo", text: 100, fast: true, do: plain},
	{name: "payload", weight: 5, tool: "echo", text: 4 << 10, fast: true, do: plain},
	{name: "feed", weight: 8, tool: "feed", text: 100, fast: true, do: inPieces},
	{name: "stream", weight: 8, tool: "stream", text: 20, n: 8, fast: true, do: watched},
	{name: "large", weight: 4, tool: "large", n: 32 << 10, fast: true, do: plain},
	{name: "slow", weight: 4, tool: "slow", text: 20, n: 20, do: plain},
	{name: canceled, weight: 2, tool: "slow", text: 20, n: 1000, do: cutShort},
}

// canceled is the kind of calls that their caller cancels.
const canceled = "canceled"

// draw picks a kind by weight.
func draw(rng *rand.Rand) *kind {
	at := rng.IntN(100)
	for _, k := range kinds {
		if at -= k.weight; at < 0 {
			return k
		}
	}
	return kinds[0]
}

// call is the call of this kind with the number.
func (k *kind) call(plugin string, id uint64) host.Call {
	b := make([]byte, 0, k.text+64)
	b = append(b, `{"id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"text":"`...)
	b = append(b, subject.Text(id, k.text)...)
	b = append(b, `","n":`...)
	b = strconv.AppendInt(b, int64(k.n), 10)
	return host.Call{Tool: plugin + "/" + k.tool, Input: append(b, '}'), View: host.Raw}
}

// check says how an answer is not that of the call with the number.
func (k *kind) check(id uint64, raw json.RawMessage) error {
	out, err := subject.Decode(raw)
	switch {
	case err != nil:
		return err
	case out.ID != id:
		return fmt.Errorf("the answer is that of call %d", out.ID)
	case out.Sum != subject.Sum(id, subject.Text(id, k.text)):
		return errors.New("the checksum is wrong")
	case k.tool == "large" && out.Text != subject.Text(id, k.n):
		return errors.New("the text is wrong")
	}
	return nil
}

func plain(ctx context.Context, h *host.Host, c host.Call, _ *kind) (*host.Result, error) {
	return h.Call(ctx, c)
}

// inPieces writes the input as a model does.
func inPieces(ctx context.Context, h *host.Host, c host.Call, _ *kind) (*host.Result, error) {
	input := c.Input
	c.Input = nil
	r := h.Start(ctx, c)
	for len(input) > 0 {
		n := min(len(input), 40)
		if r.Delta(input[:n]) != nil { // the outcome says why
			break
		}
		input = input[n:]
	}
	_ = r.EndInput() // fails never
	return r.Result()
}

// cutShort cancels the call soon.
func cutShort(ctx context.Context, h *host.Host, c host.Call, _ *kind) (*host.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer time.AfterFunc(10*time.Millisecond, cancel).Stop()
	return h.Call(ctx, c)
}

// watched reads the call's events, and finds what is out of order, foreign or missing in them.
func watched(ctx context.Context, h *host.Host, c host.Call, k *kind) (*host.Result, error) {
	var id struct{ ID uint64 }
	if err := json.Unmarshal(c.Input, &id); err != nil {
		return nil, err
	}
	r := h.Start(ctx, c)
	var terminal, pieces int
	var last float64
	for e := range r.Events() {
		if terminal > 0 {
			return nil, fmt.Errorf("event %s after the terminal one", host.EventType(e))
		}
		switch e := e.(type) {
		case host.Output:
			var p subject.Piece
			if err := json.Unmarshal(e.Data, &p); err != nil {
				return nil, err
			}
			if p.ID != id.ID || p.I != pieces {
				return nil, fmt.Errorf("piece %d of call %d came as piece %d of call %d", p.I, p.ID, pieces, id.ID)
			}
			pieces++
		case host.Progress:
			if e.Progress <= last {
				return nil, fmt.Errorf("progress went from %v to %v", last, e.Progress)
			}
			last = e.Progress
		case host.ResultEvent:
			terminal++
			if pieces != k.n {
				return nil, fmt.Errorf("%d pieces instead of %d", pieces, k.n)
			}
		case host.ErrorEvent, host.DeniedEvent, host.ApprovalEvent, host.SuspendedEvent:
			terminal++
		}
	}
	if terminal != 1 {
		return nil, fmt.Errorf("%d terminal events", terminal)
	}
	return r.Result()
}
