package mcpserver

import "github.com/modelcontextprotocol/go-sdk/mcp"

// versions are the protocol versions that can be spoken, the newest first.
func versions() []string { return mcp.SupportedProtocolVersions() }
