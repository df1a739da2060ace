package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/toolhost/toolhost/bench/measure"
	"github.com/toolhost/toolhost/bench/peer"
	"github.com/toolhost/toolhost/bench/report"
)

// mcpCalls compares toolhost mcp, which has the tool in a plugin, with a server of the MCP Go SDK that has the tool in itself. The client is
// the SDK's for both.
func mcpCalls(o *options) ([]report.Row, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	command := []string{filepath.Join(o.bin, "..", "toolhost"), "--config", config, "--state", filepath.Join(o.state, "command"), "mcp"}
	var rows []report.Row
	for _, way := range []struct {
		name        string
		ours, other peer.Kind
	}{
		{"stdio", peer.GoSDK("toolhost mcp", command...), peer.GoSDK("MCP Go SDK's server", o.program("gosdk"))},
		{"HTTP", peer.GoSDKHTTP("toolhost mcp", append(command, "--http", "127.0.0.1:0")...), peer.GoSDKHTTP("MCP Go SDK's server", o.program("gosdk"), "-http", "127.0.0.1:0")},
	} {
		got, err := takeTurns([]peer.Kind{way.ours, way.other}, inFlight, o.pick(9, 3), time.Duration(o.pick(300, 120))*time.Millisecond)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way.name, err)
		}
		rows = append(rows, compare("MCP through toolhost over "+way.name, got[way.ours.Name], way.other.Name, got[way.other.Name])...)
	}
	return rows, nil
}

// compare are rows without a target: latency, calls a second and CPU at each load.
func compare(group string, ours map[int]measure.Sample, name string, that map[int]measure.Sample) []report.Row {
	var rows []report.Row
	for _, n := range inFlight {
		rows = append(rows,
			report.Row{Group: group, Name: fmt.Sprintf("latency, p50, %d in flight", n), Value: us(ours[n].P50), Unit: "µs", Than: name, Other: us(that[n].P50)},
			report.Row{Group: group, Name: fmt.Sprintf("calls a second, %d in flight", n), Value: ours[n].Rate, Unit: "/s", Than: name, Other: that[n].Rate},
			report.Row{Group: group, Name: fmt.Sprintf("CPU of a call, %d in flight", n), Value: us(ours[n].CPU), Unit: "µs", Than: name, Other: us(that[n].CPU)})
	}
	return rows
}

// config writes a configuration file with the weather plugin.
func (o *options) config() (string, error) {
	path := filepath.Join(o.state, "toolhost.yaml")
	text := fmt.Sprintf("plugins:\n  weather: {path: %q, sandbox: none}\n", o.program("toolplugin-weather"))
	return path, os.WriteFile(path, []byte(text), 0o600)
}
