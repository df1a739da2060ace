package launch

import (
	"testing"

	"github.com/toolhost/toolhost/internal/confine"
)

// S12: a C library that gets no memory for a thread's stack aborts, and says why before Go's runtime says that it did.
func TestS12_AbortForWantOfMemory(t *testing.T) {
	const said = "runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\nPC=0x7f m=0\n\ngoroutine 1:\n"
	for _, tt := range []struct {
		about  string
		limits confine.Settings
		stderr string
		limit  string
	}{
		{"memory", confine.Settings{Memory: 96 << 20}, said, "memory limit of 96 MiB"},
		{"tasks", confine.Settings{Memory: 96 << 20, Tasks: 9}, said, "limit of 9 tasks"},
		{"no limit", confine.Settings{}, said, ""},
		{"another abort", confine.Settings{Memory: 96 << 20}, "assertion failed\nSIGABRT: abort\nPC=0x7f m=0\n", ""},
	} {
		e := Exit{Status: 2, Panic: "SIGABRT: abort\nPC=0x7f m=0", Stderr: []byte(tt.stderr)}
		if got := e.breach(tt.limits, 0, false); got != (tt.limit != "") || e.Limit != tt.limit {
			t.Errorf("%s: %t, limit %q, want %q", tt.about, got, e.Limit, tt.limit)
		}
	}
}
