package mcpserver

import (
	"sync"
	"testing"
)

func TestWorkers_RunEverythingAndEndWhenClosed(t *testing.T) {
	leaks(t)
	var w workers
	for range 3 {
		var all, ran sync.WaitGroup
		hold := make(chan struct{})
		for range keepWorkers + 10 { // all at once
			all.Add(1)
			ran.Add(1)
			w.run(func() {
				defer ran.Done()
				all.Done()
				<-hold
			})
		}
		all.Wait()
		close(hold)
		ran.Wait()
	}
	w.mu.Lock()
	if n := len(w.idle); n > keepWorkers {
		t.Errorf("%d workers wait", n)
	}
	w.mu.Unlock()
	w.close()
	var late sync.WaitGroup
	late.Add(1)
	w.run(late.Done)
	late.Wait()
}
