package main

import "os"

// otherLife runs this test binary as something else, if it was started for that: an MCP server on standard input and output.
func otherLife() (code int, ran bool) {
	how, ok := os.LookupEnv("MCP_TEST_SERVER")
	if ok {
		serveTest(how)
	}
	return 0, ok
}
