package cost

import (
	"sync"
	"testing"
)

var sink any

func TestOf_CountsWhatEveryRunAllocates(t *testing.T) {
	if race {
		t.Skip("the race detector allocates")
	}
	pool := sync.Pool{New: func() any { return new([64]byte) }}
	for _, c := range []struct {
		name string
		f    func()
		want int
	}{
		{"nothing", func() {}, 0},
		{"one", func() { sink = new([32]byte) }, 1},
		{"in another goroutine", func() {
			done := make(chan struct{}) // one, and the goroutine's closure
			go func() { sink = new([32]byte); close(done) }()
			<-done
		}, 3},
		{"from a pool", func() { pool.Put(pool.Get()) }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Of(1000, c.f); got.Allocs != c.want || got.Bytes < 32*c.want {
				t.Errorf("%+v; want %d allocations, each of 32 bytes or more", got, c.want)
			}
		})
	}
}
