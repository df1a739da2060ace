// Command mcpgo serves the weather tool with mcp-go over stdio, validated by it.
package main

import (
	"context"
	"encoding/json"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/toolhost/toolhost/bench/weather"
)

func main() {
	s := server.NewMCPServer("weather", "1", server.WithToolCapabilities(false), server.WithInputSchemaValidation(), server.WithOutputSchemaValidation())
	s.AddTool(mcp.Tool{
		Name: "weather", Description: "The weather of a city.",
		RawInputSchema: json.RawMessage(weather.InSchema), RawOutputSchema: json.RawMessage(weather.OutSchema),
	}, mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in weather.In) (weather.Out, error) {
		return weather.Forecast(in)
	}))
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}
