// Package mcpserver serves the tools of a host to MCP clients, over stdio and over streamable HTTP, in both protocol
// eras: up to 2025-11-25 with its handshake and sessions, and 2026-07-28, where every request stands alone.
//
// A call goes through the host's whole pipeline. What a client sees of a tool or a result is projected for its era,
// so that no tool can break a list or a result for an older client.
package mcpserver
