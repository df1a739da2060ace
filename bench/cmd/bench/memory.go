package main

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/bench/bare"
	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/report"
	"github.com/toolhost/toolhost/bench/weather"
	"github.com/toolhost/toolhost/host"
)

// memory compares what an idle plugin keeps for itself, after one call. There are several of each, so that the pages of a program
// are shared and do not count.
func memory(o *options) ([]report.Row, error) {
	const copies = 5
	h, err := host.Open(context.Background(), o.hostOf(copies, host.ProfileNone))
	if err != nil {
		return nil, err
	}
	defer func() { _ = h.Close() }()
	var yard []int
	for i := range copies {
		if err := ask(h, i); err != nil {
			return nil, err
		}
		r, err := bare.Start(o.program("bareplugin"))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if _, err := r.Call(context.Background(), []byte(weather.Input)); err != nil {
			return nil, err
		}
		yard = append(yard, r.PID())
	}
	time.Sleep(2 * time.Second) // what a process does after its first call is over
	ours, err := private(pids(h))
	if err != nil {
		return nil, err
	}
	that, err := private(yard)
	if err != nil {
		return nil, err
	}
	return []report.Row{{Group: "An idle plugin", Name: "private memory after one call", Value: ours, Unit: "MiB", Than: bareName, Other: that, Target: report.AtMost(1.5, 0)}}, nil
}

// private is the median of the processes, in MiB.
func private(pids []int) (float64, error) {
	var all []float64
	for _, pid := range pids {
		bytes, err := measure.Private(pid)
		if err != nil {
			return 0, err
		}
		all = append(all, float64(bytes)/(1<<20))
	}
	return measure.Median(all), nil
}
