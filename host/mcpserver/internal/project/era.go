package project

// Era is one of the two ways in which MCP is spoken.
type Era int

const (
	Legacy Era = iota // up to 2025-11-25: a handshake, and sessions over HTTP
	Modern            // from 2026-07-28: every request stands alone
)
