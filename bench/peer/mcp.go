package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	mcpgo "github.com/mark3labs/mcp-go/client"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/bench/weather"
)

// MCPGo is mcp-go on both ends, over stdio. path is the server's binary.
func MCPGo(path string) Kind {
	return Kind{"mcp-go, stdio", func() (Peer, error) {
		ctx := context.Background()
		c, err := mcpgo.NewStdioMCPClient(path, nil)
		if err != nil {
			return nil, err
		}
		var hello mcpgotypes.InitializeRequest
		hello.Params.ProtocolVersion = mcpgotypes.LATEST_PROTOCOL_VERSION
		hello.Params.ClientInfo = mcpgotypes.Implementation{Name: "bench", Version: "1"}
		if _, err := c.Initialize(ctx, hello); err != nil {
			_ = c.Close()
			return nil, err
		}
		return &local{func() error {
			var r mcpgotypes.CallToolRequest
			r.Params.Name, r.Params.Arguments = "weather", json.RawMessage(weather.Input)
			res, err := c.CallTool(ctx, r)
			if err == nil && (res.IsError || res.StructuredContent == nil) {
				err = fmt.Errorf("mcp-go: %v", res)
			}
			return err
		}, func() { _ = c.Close() }}, nil
	}}
}

// GoSDK is the MCP Go SDK's client over stdio, with the server that command starts.
func GoSDK(name string, command ...string) Kind {
	return Kind{name, func() (Peer, error) {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stderr = os.Stderr
		return sdk(&mcp.CommandTransport{Command: cmd})
	}}
}

// sdk is a peer with the SDK's client.
func sdk(t mcp.Transport) (Peer, error) {
	ctx := context.Background()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, t, nil)
	if err != nil {
		return nil, err
	}
	return &local{func() error {
		res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "weather", Arguments: json.RawMessage(weather.Input)})
		if err == nil && (res.IsError || res.StructuredContent == nil) {
			err = errors.New("MCP Go SDK: the result is not the tool's")
		}
		return err
	}, func() { _ = s.Close() }}, nil
}
