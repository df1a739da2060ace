package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
)

const scaleGroup = "How a call scales"

// inTurn ends the name of what has its tools called one after the other, and not the same one again and again.
const inTurn = ", called in turn"

// bareInTurn is the yardstick for what processes cost whose turn comes rarely.
const bareInTurn = "100 bare go-plugin gRPC" + inTurn

// scale holds that the cost of a call does not grow with what the host has beside it: plugins that run, and tools.
func scale(o *options) ([]report.Row, error) {
	one := peer.Crowd{Plugin: o.program("toolplugin-weather"), State: o.state, Plugins: 1, Tools: 1}
	var kinds []peer.Kind
	add := func(name string, change func(*peer.Crowd)) {
		c := one
		change(&c)
		kinds = append(kinds, c.Kind(name))
	}
	add("1 plugin, 1 tool", func(*peer.Crowd) {})
	add("10 plugins", func(c *peer.Crowd) { c.Plugins = 10 })
	add("50 idle plugins", func(c *peer.Crowd) { c.Plugins = 51 })
	add("100 plugins", func(c *peer.Crowd) { c.Plugins = 100 })
	add("100 tools", func(c *peer.Crowd) { c.Tools = 100 })
	add("1,000 tools", func(c *peer.Crowd) { c.Tools = 1000 })
	add("100 plugins"+inTurn, func(c *peer.Crowd) { c.Plugins, c.Spread = 100, true })
	add(bareInTurn, func(c *peer.Crowd) {
		*c = peer.Crowd{Plugin: o.program("bareplugin"), Plugins: 100, Tools: 1, Bare: true, Spread: true}
	})
	add("1,000 tools"+inTurn, func(c *peer.Crowd) { c.Tools, c.Spread = 1000, true })
	got, err := takeTurns(kinds, []int{1, 64}, o.pick(21, 5), time.Duration(o.pick(150, 80))*time.Millisecond)
	if err != nil {
		return nil, err
	}
	return scaleRows(kinds, got), nil
}

func scaleRows(kinds []peer.Kind, got map[string]map[int]measure.Sample) []report.Row {
	const most, least = 1.1, 0.9
	alone := got[kinds[0].Name]
	var rows []report.Row
	for _, k := range kinds[1:] {
		if k.Name == bareInTurn {
			continue
		}
		these := got[k.Name]
		row := func(what, unit string, value, other float64, target *report.Target) {
			rows = append(rows, report.Row{Group: scaleGroup, Name: fmt.Sprintf("%s: %s", k.Name, what), Value: value, Unit: unit, Than: kinds[0].Name, Other: other, Target: target})
		}
		gated := report.AtMost(most, 0)
		if strings.HasSuffix(k.Name, inTurn) {
			gated = nil // what it costs to wake a process whose caches are cold is the machine's
		}
		if k.Name == "50 idle plugins" {
			row("calls a second, 64 in flight", "/s", these[64].Rate, alone[64].Rate, report.AtLeast(least, 0))
			continue
		}
		row("latency, p50, 1 in flight", "µs", us(these[1].P50), us(alone[1].P50), gated)
		row("CPU, 1 in flight", "µs", us(these[1].CPU), us(alone[1].CPU), gated)
		row("CPU, 64 in flight", "µs", us(these[64].CPU), us(alone[64].CPU), gated)
	}
	ours, that := got["100 plugins"+inTurn], got[bareInTurn]
	for _, n := range []int{1, 64} {
		rows = append(rows, report.Row{Group: scaleGroup, Name: fmt.Sprintf("100 plugins%s: CPU, %d in flight", inTurn, n), Value: us(ours[n].CPU), Unit: "µs", Than: bareInTurn, Other: us(that[n].CPU)})
	}
	return rows
}
