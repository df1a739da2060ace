//go:build !race

package session

import (
	"runtime"
	"testing"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// What one small call may allocate on both sides together, its frames and their encoding included. It is measured on an
// in-memory stream. Whoever raises a ceiling says here why.
const (
	guardAllocs = 27.5
	guardBytes  = 3550
)

// TestGuardCall holds the allocations of a call that is answered at once.
func TestGuardCall(t *testing.T) {
	open := func(c *Call, o *pb.Open) {
		_ = c.Context()
		if err := c.Send(t.Context(), outputFrame(o.GetInput())); err != nil {
			t.Error(err)
		}
	}
	e := connect(t, Config{}, Config{}, open)
	input := make([]byte, 200)
	const calls = 2000
	var before, after runtime.MemStats
	for _, m := range []*runtime.MemStats{&before, &after} { // the first round warms up
		for range calls {
			if err := echoOnce(e.host, input); err != nil {
				t.Fatal(err)
			}
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
