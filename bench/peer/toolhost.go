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
	return Kind{"toolhost", func() (Peer, error) {
		h, err := host.Open(context.Background(), host.Config{
			Plugins:  []host.Plugin{{Name: "weather", Path: path, Sandbox: host.Sandbox{Profile: host.ProfileNone}}},
			StateDir: state, Eager: true,
		})
		if err != nil {
			return nil, err
		}
		input := json.RawMessage(weather.Input)
		return &local{func() error {
			_, err := h.Call(context.Background(), host.Call{Tool: "weather", Input: input})
			return err
		}, func() { _ = h.Close() }}, nil
	}}
}
