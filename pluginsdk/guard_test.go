//go:build !race

package pluginsdk

import (
	"context"
	"runtime"
	"testing"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// What one small call through ServeListener may allocate, the host's end of the session and gRPC on both sides included. Whoever raises
// a ceiling says here why.
const (
	guardAllocs = 46.5
	guardBytes  = 3780
)

// TestGuardCall holds the allocations of a call of a typed tool that looks at nothing but its input.
func TestGuardCall(t *testing.T) {
	h := serveTools(t, newTool("echo", func(_ context.Context, _ *Call, in city) (city, error) { return in, nil }))
	once := func() {
		c, err := h.sess.Open(&pb.Open{Tool: "echo", CallId: "call-1", Run: true, TimeoutNs: 60e9, Input: []byte(`{"city":"Paris"}`)})
		if err != nil {
			t.Fatal(err)
		}
		f, err := c.Recv(t.Context())
		if err != nil || f.GetOutput() == nil {
			t.Fatal(f, err)
		}
		c.Close()
	}
	const calls = 2000
	var before, after runtime.MemStats
	for _, m := range []*runtime.MemStats{&before, &after} { // the first round warms up
		for range calls {
			once()
		}
		runtime.ReadMemStats(m)
	}
	allocs := float64(after.Mallocs-before.Mallocs) / calls
	bytes := float64(after.TotalAlloc-before.TotalAlloc) / calls
	t.Logf("%.1f allocations, %.0f bytes", allocs, bytes)
	if allocs > guardAllocs || bytes > guardBytes {
		t.Errorf("a call costs %.1f allocations and %.0f bytes; the ceilings are %.1f and %d", allocs, bytes, guardAllocs, guardBytes)
	}
}
