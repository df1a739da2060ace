//go:build race

package mcpserver

// largeBytes is the size of a large result (R24), less under the race detector, which is ten times slower over it.
const largeBytes = 2 << 20
