// Package cost holds what a function allocates to a ceiling, in tests.
package cost

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// Ceiling is the most that one run may allocate in the whole process, all its goroutines included. Whoever raises one says why beside it.
type Ceiling struct {
	Allocs int
	Bytes  int
}

// Hold runs f many times and fails t if one run allocates more than c. It skips t under the race detector, which allocates itself.
//
// It counts on one processor and without garbage collection, so that goroutines take turns in one order and pools keep what they hold:
// the same program costs the same on every machine. It must not run beside a parallel test.
func Hold(t *testing.T, c Ceiling, f func()) {
	t.Helper()
	if race {
		t.Skip("the race detector allocates")
	}
	got := Of(1000, f)
	t.Logf("%d allocations and %d bytes", got.Allocs, got.Bytes)
	if got.Allocs > c.Allocs || got.Bytes > c.Bytes {
		t.Errorf("one run costs %d allocations and %d bytes; the ceilings are %d and %d", got.Allocs, got.Bytes, c.Allocs, c.Bytes)
	}
}

// Of is what one run of f costs, counted as Hold does: the least of some rounds of so many runs, since a timer or a test's own
// goroutine may fall into one.
func Of(runs int, f func()) Ceiling {
	const rounds = 4
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	best := Ceiling{math.MaxInt, math.MaxInt}
	for i := range rounds + 1 { // the first fills the pools
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		if i > 0 {
			best.Allocs = min(best.Allocs, perRun(after.Mallocs-before.Mallocs, runs))
			best.Bytes = min(best.Bytes, perRun(after.TotalAlloc-before.TotalAlloc, runs))
		}
	}
	return best
}

// perRun rounds: a few allocations in a thousand runs are somebody else's.
func perRun(total uint64, runs int) int { return int(math.Round(float64(total) / float64(runs))) }
