package peer

import (
	"context"
	"encoding/json"

	"github.com/toolhost/toolhost/bench/weather"
	"github.com/toolhost/toolhost/host"
)

// Toolhost calls through the public API of package host, with all that belongs to a call: the input is parsed, repaired, filled and
// validated, policy and views are applied, the output is validated and its forms are made. path is the plugin's binary.
func Toolhost(path, state string) Kind {
	return ToolhostTool("toolhost", path, state, "weather", weather.Input)
}

// ToolhostTool is Toolhost with another tool.
func ToolhostTool(name, path, state, tool, input string) Kind {
	return Local(name, func() (func() error, func(), error) {
		h, err := Open(path, state)
		if err != nil {
			return nil, nil, err
		}
		call := host.Call{Tool: tool, Input: json.RawMessage(input)}
		return func() error {
			_, err := h.Call(context.Background(), call)
			return err
		}, func() { _ = h.Close() }, nil
	})
}

// Open opens a host with one plugin that runs.
func Open(path, state string) (*host.Host, error) {
	return host.Open(context.Background(), host.Config{
		Plugins:  []host.Plugin{{Path: path, Sandbox: host.Sandbox{Profile: host.ProfileNone}}},
		StateDir: state, Eager: true,
	})
}
