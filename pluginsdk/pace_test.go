package pluginsdk

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// settled calls where until the goroutine that reads runs it, call after call.
func settled(t *testing.T, where func() string) (reader string) {
	t.Helper()
	same := 0
	for start := time.Now(); same < 10; {
		if time.Since(start) > testTimeout {
			t.Fatal("the calls are not run by one goroutine")
		}
		if now := where(); now == reader {
			same++
		} else {
			reader, same = now, 0
		}
	}
	return reader
}

// TestPace_QuickCallsAreRunByWhoReads: and when one of them takes long after all, what comes meanwhile is read: other calls, and a cancel.
func TestPace_QuickCallsAreRunByWhoReads(t *testing.T) {
	began, goOn := make(chan struct{}, 1), make(chan struct{})
	h := serveTools(t, newTool("tool", func(ctx context.Context, _ *Call, in struct {
		Wait string `json:"wait,omitempty"`
	}) (string, error) {
		switch in.Wait {
		case "word":
			began <- struct{}{}
			<-goOn
		case "cancel":
			began <- struct{}{}
			<-ctx.Done()
			return "", context.Cause(ctx)
		case "goexit":
			runtime.Goexit()
		case "panic":
			panic("boo")
		}
		return goroutine(), nil
	}))
	where := func() string { return string(h.open("tool", "{}").output().GetOutput()) }
	settled(t, where)
	waits := h.open("tool", `{"wait":"word"}`)
	waitFor(t, began, "start of the call that waits")
	where() // is answered
	close(goOn)
	waits.output()

	settled(t, where)
	canceled := h.open("tool", `{"wait":"cancel"}`)
	waitFor(t, began, "start of the call that waits")
	canceled.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
	where()

	for _, how := range []string{"goexit", "panic"} {
		settled(t, where)
		h.open("tool", `{"wait":"`+how+`"}`).failed()
		where()
	}
}

// TestPace_Took: some in a row make a tool quick, and a single slow one makes it slow.
func TestPace_Took(t *testing.T) {
	var p pace
	for i := range 3 {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			for n := range 2 * quickAfter {
				if p.quick() != (n >= quickAfter) {
					t.Errorf("after %d quick calls: %t", n, p.quick())
				}
				p.took(quickWork)
			}
			if p.took(quickWork + 1); p.quick() {
				t.Error("a slow one did not count")
			}
		})
	}
}
