//go:build linux

package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations with an error below 1/64. Its memory is fixed, and adding to it takes no lock, so that
// measuring costs the measured little.
type histogram struct {
	counts [64 * subBuckets]atomic.Uint32
	n      atomic.Uint64
}

const (
	subBits    = 6
	subBuckets = 1 << subBits
)

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(uint64(max(d, 0)))].Add(1)
	h.n.Add(1)
}

// quantile is the upper end of the bucket that holds the q-quantile, 0 if nothing was added.
func (h *histogram) quantile(q float64) time.Duration {
	n := h.n.Load()
	if n == 0 {
		return 0
	}
	rank := min(uint64(q*float64(n)), n-1)
	for i := range h.counts {
		c := uint64(h.counts[i].Load())
		if rank < c {
			return time.Duration(upper(i))
		}
		rank -= c
	}
	return 0 // an addition is under way
}

// bucket is the index of v: its highest bit and the subBits bits below it.
func bucket(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	shift := bits.Len64(v) - 1 - subBits
	return (shift+1)<<subBits + int(v>>shift)&(subBuckets-1)
}

// upper is the largest value of bucket i.
func upper(i int) uint64 {
	if i < subBuckets {
		return uint64(i)
	}
	shift := i>>subBits - 1
	return (uint64(subBuckets+i&(subBuckets-1))+1)<<shift - 1
}
