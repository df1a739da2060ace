// Package mcpserver serves the tools of a host to MCP clients, over stdio and over streamable HTTP, in both protocol
// eras: up to 2025-11-25 with its handshake and sessions, and 2026-07-28, where every request stands alone.
//
// A call goes through the host's whole pipeline. What a client sees of a tool or a result is projected for its era,
// so that no tool can break a list or a result for an older client.
//
// The way of a message: stdio.go and pipe.go, or http.go, guard.go, session.go and stream.go; link.go, one client as the
// SDK has it; adapter.go, which makes requests of the SDK ours; list.go and audience.go for tools/list; call.go for
// tools/call, with park.go, ask.go, suspend.go, progress.go and log.go for what happens until its answer. From call.go on
// nothing knows of the SDK or a transport. Names, schemas and results are made in internal/project, forms in internal/form.
package mcpserver
