package main

import (
	"os"

	"github.com/toolhost/toolhost/proto/wire"
)

// otherLife runs this test binary as something else, if it was started for that: an MCP server on standard input and output, the plugin, or
// the client that the official suite drives.
func otherLife() (code int, ran bool) {
	if how, ok := os.LookupEnv("MCP_TEST_SERVER"); ok {
		serveTest(how)
		return 0, true
	}
	if os.Getenv(wire.CookieKey) != "" {
		main()
		return 0, true
	}
	if scenario, ok := os.LookupEnv("MCP_CONFORMANCE_SCENARIO"); ok {
		return beConformanceClient(scenario, os.Args[len(os.Args)-1]), true
	}
	return 0, false
}
