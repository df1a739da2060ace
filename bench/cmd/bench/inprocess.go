package main

import (
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
)

// inProcess compares the call with what it costs to have no plugin at all: the tool as a function, input and output validated.
func inProcess(o *options) ([]report.Row, error) {
	ours, other := peer.Toolhost(o.program("toolplugin-weather"), o.state), peer.InProcess()
	got, err := takeTurns([]peer.Kind{ours, other}, inFlight, o.pick(9, 3), time.Duration(o.pick(300, 100))*time.Millisecond)
	if err != nil {
		return nil, err
	}
	rows := compare("The same tool in process", got[ours.Name], other.Name, got[other.Name])
	return slices.DeleteFunc(rows, func(r report.Row) bool { // functions that wait for a core are not in flight
		return strings.HasPrefix(r.Name, "latency") && !strings.HasSuffix(r.Name, " 1 in flight")
	}), nil
}
