// Command bareplugin is the bare go-plugin gRPC plugin that toolhost's start-up is compared with.
package main

import (
	"github.com/hashicorp/go-plugin"

	"github.com/toolhost/toolhost/bench/bare"
	"github.com/toolhost/toolhost/bench/weather"
)

func main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: bare.Handshake,
		Plugins:         plugin.PluginSet{bare.Name: &bare.Plugin{Answer: weather.ForecastJSON}},
		GRPCServer:      plugin.DefaultGRPCServer,
	})
}
