package main

import (
	"bytes"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/toolhost/toolhost/bench/bare"
	"github.com/toolhost/toolhost/bench/large"
	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
)

// schemas measures what validation costs: a call with a large document both ways beside go-plugin's with the same validation, and
// how much of a small call's CPU is spent in it.
func schemas(o *options) ([]report.Row, error) {
	const group = "Validation"
	wire := o.program("toolplugin-wire")
	rounds, d := o.pick(9, 3), time.Duration(o.pick(400, 200))*time.Millisecond
	const than = "go-plugin, unary gRPC"
	order := peer.ToolhostTool("order", wire, o.state, "order", large.Document)
	got, err := takeTurns([]peer.Kind{order, peer.Local(than, func() (func() error, func(), error) {
		b, err := bare.Start(o.program("bareplugin"))
		if err != nil {
			return nil, nil, err
		}
		call, err := peer.Checked(large.Schema, large.Schema, large.Document, b.Echo)
		return call, b.Close, err
	})}, []int{1, 64}, rounds, d)
	if err != nil {
		return nil, err
	}
	one, many, thatOne, thatMany := got[order.Name][1], got[order.Name][64], got[than][1], got[than][64]
	rows := []report.Row{
		{Group: group, Name: "2 KB, 40 properties, both ways: latency, p50", Value: us(one.P50), Unit: "µs", Than: than, Other: us(thatOne.P50)},
		{Group: group, Name: "64 in flight: calls a second", Value: many.Rate, Unit: "/s", Than: than, Other: thatMany.Rate},
		{Group: group, Name: "64 in flight: CPU of both processes for a call", Value: us(many.CPU), Unit: "µs", Than: than, Other: us(thatMany.CPU)},
	}
	checks, call, err := share(o, time.Duration(o.pick(6000, 2000))*time.Millisecond)
	return append(rows, report.Row{
		Group: group, Name: "small, 64 in flight: CPU in parsing and validation", Unit: "µs",
		Value: us(checks), Than: "the whole call", Other: us(call), Target: report.AtMost(0.5, 0),
	}), err
}

// share is how much CPU a small call takes in both processes at 64 in flight, and how much of that is the host's package schema, which
// parses and validates input and output: its part of the host's CPU profile, so without the garbage collection that it causes.
func share(o *options, d time.Duration) (checks, call time.Duration, err error) {
	p, err := peer.Toolhost(o.program("toolplugin-weather"), o.state).Start()
	if err != nil {
		return 0, 0, err
	}
	defer p.Close()
	if _, err := p.Load(64, d/10); err != nil {
		return 0, 0, err
	}
	var text bytes.Buffer
	if err := pprof.StartCPUProfile(&text); err != nil {
		return 0, 0, err
	}
	self := os.Getpid()
	own, both := measure.Own(self), measure.CPU(self)
	s, err := p.Load(64, d)
	own, both = measure.Own(self)-own, measure.CPU(self)-both
	pprof.StopCPUProfile()
	if err != nil {
		return 0, 0, err
	}
	part, err := within(&text, "github.com/toolhost/toolhost/host/internal/schema.")
	return time.Duration(part * float64(own) / float64(both) * float64(s.CPU)), s.CPU, err
}

// within is the part of a CPU profile that is under functions whose name has a prefix.
func within(r io.Reader, prefix string) (float64, error) {
	p, err := profile.Parse(r)
	if err != nil {
		return 0, err
	}
	below := func(l profile.Line) bool { return strings.HasPrefix(l.Function.Name, prefix) }
	var in, all float64
	for _, s := range p.Sample {
		n := float64(s.Value[0])
		all += n
		if slices.ContainsFunc(s.Location, func(l *profile.Location) bool { return slices.ContainsFunc(l.Line, below) }) {
			in += n
		}
	}
	return in / max(all, 1), nil
}
