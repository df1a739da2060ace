package workers

import (
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Everything runs, also more at once than are kept and what comes after Close; no more wait than are kept, and none after Close.
func TestPool_RunsEverythingAndEndsWhenClosed(t *testing.T) {
	const keep = 20
	p := Pool[func()]{Do: func(f func()) { f() }, Keep: keep}
	for range 3 {
		var all, ran sync.WaitGroup
		hold := make(chan struct{})
		for range keep + 10 { // all at once
			all.Add(1)
			ran.Add(1)
			p.Run(func() {
				defer ran.Done()
				all.Done()
				<-hold
			})
		}
		all.Wait()
		close(hold)
		ran.Wait()
	}
	p.mu.Lock()
	if n := len(p.idle); n > keep {
		t.Errorf("%d goroutines wait", n)
	}
	p.mu.Unlock()
	p.Close()
	var late sync.WaitGroup
	late.Add(1)
	p.Run(late.Done)
	late.Wait()
}
