package pluginsdk

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A goroutine takes one call after the other, and one that an author's function has ended takes none.
func TestWorkersAreKept(t *testing.T) {
	h := serveTools(t,
		newTool("where", func(context.Context, *Call, nothing) (string, error) { return goroutine(), nil }),
		newTool("end", func(_ context.Context, c *Call, _ nothing) (string, error) {
			if err := c.Write(context.Background(), goroutine()); err != nil {
				t.Error(err)
			}
			runtime.Goexit()
			return "", nil
		}))
	where := func() string { return string(h.open("where", "{}").output().GetOutput()) }
	last, kept := "", where()
	for start := time.Now(); last != kept; last, kept = kept, where() {
		if time.Since(start) > testTimeout {
			t.Fatal("no goroutine took a second call")
		}
	}
	c := h.open("end", "{}")
	gone := string(c.recv().GetWrite().GetData())
	c.failed()
	for range 100 {
		if now := where(); now == gone {
			t.Fatalf("goroutine %s has ended and took a call", gone)
		}
	}
}

// goroutine is the name of the calling goroutine; no other gets it later.
func goroutine() string {
	buf := make([]byte, 64)
	return strings.Fields(string(buf[:runtime.Stack(buf, false)]))[1]
}

// More calls at once than are kept all run, and those that are too many end.
func TestWorkersWithoutLimit(t *testing.T) {
	const calls = 3 * keepWorkers
	began, goOn := make(chan struct{}, calls), make(chan struct{})
	h := serveTools(t, newTool("wait", func(context.Context, *Call, nothing) (nothing, error) {
		began <- struct{}{}
		<-goOn
		return nothing{}, nil
	}))
	before := runtime.NumGoroutine()
	var open []*hostCall
	for range calls {
		open = append(open, h.open("wait", "{}"))
	}
	for range calls {
		waitFor(t, began, "start of a call")
	}
	close(goOn)
	for _, c := range open {
		c.output()
	}
	for start := time.Now(); runtime.NumGoroutine() > before+keepWorkers; time.Sleep(time.Millisecond) {
		if time.Since(start) > testTimeout {
			t.Fatalf("%d goroutines are left, %d before", runtime.NumGoroutine(), before)
		}
	}
}
