//go:build !race

package mcpserver

// largeBytes is the size of a large result (R24).
const largeBytes = 20 << 20
