// Package measure times calls and counts the CPU time of processes.
package measure

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Sample is what one load showed.
type Sample struct {
	P50, P99 time.Duration // of a call
	Rate     float64       // calls a second
	CPU      time.Duration // of all processes, for each call
}

// Times are the times of the calls of one load.
type Times struct {
	Each    []time.Duration
	Elapsed time.Duration
}

// Load makes calls for a while, so many at once. It ends with the first error.
func Load(inFlight int, d time.Duration, call func() error) (Times, error) {
	var (
		mu    sync.Mutex
		all   Times
		first error
		group sync.WaitGroup
	)
	start := time.Now()
	end := start.Add(d)
	for range inFlight {
		group.Go(func() { // ends with the time, or its first error
			var own []time.Duration
			var err error
			for before := start; before.Before(end) && err == nil; {
				err = call()
				now := time.Now()
				own = append(own, now.Sub(before))
				before = now
			}
			mu.Lock()
			defer mu.Unlock()
			all.Each, first = append(all.Each, own...), cmp.Or(first, err)
		})
	}
	group.Wait()
	all.Elapsed = time.Since(start)
	return all, first
}

// Sample sums up; cpu is what all processes used meanwhile.
func (t Times) Sample(cpu time.Duration) Sample {
	if len(t.Each) == 0 {
		return Sample{}
	}
	slices.Sort(t.Each)
	n := len(t.Each)
	return Sample{
		P50: t.Each[n/2], P99: t.Each[n*99/100],
		Rate: float64(n) / t.Elapsed.Seconds(), CPU: cpu / time.Duration(n),
	}
}

// Median is the middle value; of none it is zero. It sorts a copy.
func Median[T cmp.Ordered](values []T) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// Middle is the median of every member.
func Middle(samples []Sample) Sample {
	of := func(member func(Sample) float64) float64 {
		var all []float64
		for _, s := range samples {
			all = append(all, member(s))
		}
		return Median(all)
	}
	return Sample{
		P50:  time.Duration(of(func(s Sample) float64 { return float64(s.P50) })),
		P99:  time.Duration(of(func(s Sample) float64 { return float64(s.P99) })),
		Rate: of(func(s Sample) float64 { return s.Rate }),
		CPU:  time.Duration(of(func(s Sample) float64 { return float64(s.CPU) })),
	}
}
