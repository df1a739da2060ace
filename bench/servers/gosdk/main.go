// Command gosdk serves the weather tool with the MCP Go SDK over stdio, validated by the SDK.
package main

import (
	"context"
	"encoding/json"
	"log"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/bench/weather"
)

func main() {
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
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
