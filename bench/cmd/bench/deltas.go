package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/bench/bare"
	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
	"github.com/toolhost/toolhost/bench/stamp"
	"github.com/toolhost/toolhost/host"
)

// sender is an open stream of deltas.
type sender interface {
	Send(text []byte) error
	Close() (json.RawMessage, error) // a stamp.Report
}

// wires starts the plugin that is measured byte by byte under a host, and a bare one. end ends both.
func (o *options) wires() (h *host.Host, b *bare.Running, end func(), err error) {
	if h, err = peer.Open(o.program("toolplugin-wire"), o.state); err != nil {
		return nil, nil, nil, err
	}
	if b, err = bare.Start(o.program("bareplugin")); err != nil {
		_ = h.Close()
		return nil, nil, nil, err
	}
	return h, b, func() { b.Close(); _ = h.Close() }, nil
}

// pace is one load of deltas.
type pace struct {
	name   string
	n      int
	gap    time.Duration // zero: flat out
	target *report.Target
}

// deltas compares pieces of an input as a model writes it: through host.Start to the tool's OnInputDelta, and as messages of
// a gRPC stream.
func deltas(o *options) ([]report.Row, error) {
	h, b, end, err := o.wires()
	if err != nil {
		return nil, err
	}
	defer end()
	open := []func() (sender, error){
		func() (sender, error) {
			r := h.Start(context.Background(), host.Call{Tool: "deltas"})
			return &running{r}, r.Delta([]byte(stamp.Open))
		},
		func() (sender, error) {
			return b.Deltas(context.Background())
		},
	}
	paces := []pace{
		{"flat out, 10,000 of 16 bytes", 10_000, 0, nil},
		{"one way at 5,000/s, p50", o.pick(2000, 800), 200 * time.Microsecond, report.AtMost(1.3, 0)},
		{"one way at 200/s, p50", o.pick(100, 50), 5 * time.Millisecond, report.AtMost(1.3, 0)},
	}
	got := make([][2][]float64, len(paces))
	for round := range o.pick(9, 3) + 1 {
		for i, p := range paces {
			for turn := range open {
				who := (turn + round) % len(open)
				v, err := p.run(open[who])
				if err != nil {
					return nil, fmt.Errorf("%s: %w", p.name, err)
				}
				if round > 0 {
					got[i][who] = append(got[i][who], v)
				}
			}
		}
	}
	const group, than = "Deltas of an input", "gRPC stream, a message each"
	var rows []report.Row
	for i, p := range paces {
		ours, that := measure.Median(got[i][0]), measure.Median(got[i][1])
		row := report.Row{Group: group, Name: p.name, Value: ours, Unit: "µs", Than: than, Other: that, Target: p.target}
		if p.gap == 0 {
			row.Unit = "/s"
			row.Target = &report.Target{Gate: 500_000, Stretch: 1_000_000, Least: true, Absolute: true}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// run sends the deltas of one stream. It returns deltas a second until the last one has come if there is no gap, else microseconds
// from one end to the other.
func (p pace) run(open func() (sender, error)) (float64, error) {
	s, err := open()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	text := stamp.Append(nil)
	for i := range p.n {
		if p.gap > 0 {
			time.Sleep(time.Until(start.Add(p.gap * time.Duration(i))))
			text = stamp.Append(text[:0])
		}
		if err := s.Send(text); err != nil {
			return 0, err
		}
	}
	said, err := s.Close()
	if err != nil {
		return 0, err
	}
	var r stamp.Report
	if err := json.Unmarshal(said, &r); err != nil {
		return 0, err
	}
	if r.N != p.n {
		return 0, fmt.Errorf("%d of %d deltas came", r.N, p.n)
	}
	if p.gap == 0 {
		return float64(p.n) / time.Duration(r.Last-start.UnixNano()).Seconds(), nil
	}
	return us(time.Duration(r.P50)), nil
}

// running is a call whose input is on its way.
type running struct{ *host.Running }

func (r *running) Send(text []byte) error { return r.Delta(text) }

func (r *running) Close() (json.RawMessage, error) {
	if err := r.Delta([]byte(stamp.Close)); err != nil {
		return nil, err
	}
	if err := r.EndInput(); err != nil {
		return nil, err
	}
	res, err := r.Result()
	if err != nil {
		return nil, err
	}
	return res.Output, nil
}
