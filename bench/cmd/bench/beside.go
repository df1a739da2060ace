package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
	"github.com/toolhost/toolhost/bench/weather"
	"github.com/toolhost/toolhost/host"
)

// beside compares small validated calls, one at a time, while the same plugin sends one answer of 16 MiB after the other: through
// toolhost's one connection, and on gRPC's streams of one connection.
func beside(o *options) ([]report.Row, error) {
	h, b, end, err := o.wires()
	if err != nil {
		return nil, err
	}
	defer end()
	call := func(tool, input string) func() error {
		c := host.Call{Tool: tool, Input: json.RawMessage(input)}
		return func() error { _, err := h.Call(context.Background(), c); return err }
	}
	small, err := peer.Checked(weather.InSchema, weather.OutSchema, weather.Input, b.Call)
	if err != nil {
		return nil, err
	}
	pairs := []pair{
		{small: call("weather", weather.Input), large: call("ready", `{"bytes":16777216}`)},
		{small: small, large: func() error { return answer(b, 16*mib) }},
	}
	for round := range o.pick(9, 3) + 1 {
		for turn := range pairs {
			p := &pairs[(turn+round)%len(pairs)]
			if err := p.load(time.Duration(o.pick(800, 300))*time.Millisecond, round > 0); err != nil {
				return nil, err
			}
		}
	}
	const group, than = "Small calls beside answers of 16 MiB", "gRPC streams of one connection"
	ours, that := pairs[0].middle(), pairs[1].middle()
	return []report.Row{
		{Group: group, Name: "latency, p50", Value: ours.busy, Unit: "µs", Than: "the same, nothing beside it", Other: ours.quiet, Target: report.AtMost(7, 0)},
		{Group: group, Name: "latency, p50, of gRPC", Value: that.busy, Unit: "µs", Than: "the same, nothing beside it", Other: that.quiet},
		{Group: group, Name: "latency, p50", Value: ours.busy, Unit: "µs", Than: than, Other: that.busy, Target: report.AtMost(1.5, 0)},
		{Group: group, Name: "latency, p99", Value: ours.p99, Unit: "µs", Than: than, Other: that.p99},
		{Group: group, Name: "large answers meanwhile", Value: ours.rate, Unit: "MB/s", Than: than, Other: that.rate},
	}, nil
}

// pair is a small call and a large one to one plugin, with what their loads showed.
type pair struct {
	small, large func() error
	seen         []together
}

// together is what one load showed: latencies of the small call in microseconds, MB/s of the large one.
type together struct{ quiet, busy, p99, rate float64 }

// load makes small calls for a while, and then again while there is always a large call under way.
func (p *pair) load(d time.Duration, keep bool) error {
	quiet, err := measure.Load(1, d, p.small)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	large := make(chan error)
	n := 0
	begin := time.Now()
	go func() { // ends with stop
		var err error
		for {
			select {
			case <-stop:
				large <- err
				return
			default:
				err = errors.Join(err, p.large())
				n++
			}
		}
	}()
	busy, err := measure.Load(1, d, p.small)
	close(stop)
	err = errors.Join(err, <-large)
	took := time.Since(begin)
	if err != nil || !keep {
		return err
	}
	q, b := quiet.Sample(0), busy.Sample(0)
	p.seen = append(p.seen, together{us(q.P50), us(b.P50), us(b.P99), float64(n) * 16 * mib / 1e6 / took.Seconds()})
	return nil
}

// middle is the median of every figure.
func (p *pair) middle() together {
	of := func(figure func(together) float64) float64 {
		var all []float64
		for _, t := range p.seen {
			all = append(all, figure(t))
		}
		return measure.Median(all)
	}
	return together{
		of(func(t together) float64 { return t.quiet }), of(func(t together) float64 { return t.busy }),
		of(func(t together) float64 { return t.p99 }), of(func(t together) float64 { return t.rate }),
	}
}
