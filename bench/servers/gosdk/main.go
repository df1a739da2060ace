// Command gosdk serves the weather tool with the MCP Go SDK, validated by the SDK: over stdio, or with -http over streamable HTTP.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/bench/weather"
)

func main() {
	addr := flag.String("http", "", "serve at this `address`, and print the URL on stderr")
	flag.Parse()
	var in, out jsonschema.Schema
	for text, s := range map[string]*jsonschema.Schema{weather.InSchema: &in, weather.OutSchema: &out} {
		if err := json.Unmarshal([]byte(text), s); err != nil {
			log.Fatal(err)
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "weather", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "weather", Description: "The weather of a city.", InputSchema: &in, OutputSchema: &out},
		func(_ context.Context, _ *mcp.CallToolRequest, in weather.In) (*mcp.CallToolResult, weather.Out, error) {
			out, err := weather.Forecast(in)
			return nil, out, err
		})
	if err := serve(s, *addr); err != nil {
		log.Fatal(err)
	}
}

func serve(s *mcp.Server, addr string) error {
	if addr == "" {
		return s.Run(context.Background(), &mcp.StdioTransport{})
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "serving MCP at http://%s/mcp\n", l.Addr())
	return http.Serve(l, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
}
