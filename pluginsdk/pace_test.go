package pluginsdk

import (
	"context"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/workers"
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

// TestPace_WhoWaitsForTheHostDoesNotRead: not even for the millisecond that it takes until another goroutine reads.
func TestPace_WhoWaitsForTheHostDoesNotRead(t *testing.T) {
	var p *pace
	h := serveTools(t, newTool("tool", func(ctx context.Context, c *Call, in struct {
		Ask bool `json:"ask,omitempty"`
	}) (bool, error) {
		p = &c.tool.pace
		if in.Ask {
			if _, err := c.Elicit(ctx, Question{Message: "sure?"}); err != nil {
				return false, err
			}
		}
		return strings.Contains(string(debug.Stack()), "(*connection).workKept("), nil
	}))
	h.open("tool", "{}").output()
	reads := func(edit func(*pb.Open), send ...*pb.Frame) bool {
		p.row.Store(quickAfter)
		c := h.open("tool", "{}", edit)
		for _, f := range send {
			c.send(f)
		}
		got := string(c.output().GetOutput())
		c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
		return got == "true"
	}
	for start := time.Now(); !reads(func(*pb.Open) {}); { // it is, unless the call before has not ended
		if time.Since(start) > testTimeout {
			t.Fatal("no call is run by the goroutine that reads")
		}
	}
	input := &pb.Frame{Body: &pb.Frame_Input{Input: &pb.Input{Input: []byte("{}"), Run: true}}}
	for range 5 {
		if reads(func(o *pb.Open) { o.Confirm = true }) || reads(func(o *pb.Open) { o.Input, o.Run = nil, false }, input) ||
			reads(func(o *pb.Open) { o.Run = false }, &pb.Frame{Body: &pb.Frame_Run{Run: &pb.Run{}}}) {
			t.Error("a call that waits for the host is run by the goroutine that reads")
		}
	}
	for range 2 * quickAfter {
		c := h.open("tool", `{"ask":true}`, func(o *pb.Open) { o.Answers = true })
		q := c.recv().GetQuestion()
		c.send(&pb.Frame{Body: &pb.Frame_Answer{Answer: &pb.Answer{Id: q.GetId(), Action: pb.AnswerAction_ANSWER_ACTION_ACCEPT}}})
		c.output()
	}
	if p.quick() {
		t.Error("calls that ask count as quick ones")
	}
}

// TestPace_ALullThatIsLate begins when another goroutine reads already, and is told that all was handed over: one of them runs what was
// kept.
func TestPace_ALullThatIsLate(t *testing.T) {
	const calls = 2000
	var ran atomic.Int64
	c := &connection{workers: workers.Pool[*Call]{Do: func(*Call) { ran.Add(1) }, Keep: 1}}
	for range calls {
		c.kept.Store(&Call{})
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { // ends at once
				if c.lull(false) != nil {
					t.Error("work, though there is more to read")
				}
			})
		}
		both.Wait()
	}
	for ran.Load() < calls {
		runtime.Gosched()
	}
	c.workers.Close()
	if ran.Load() != calls {
		t.Errorf("%d calls were run %d times", calls, ran.Load())
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

// TestPace_Rhythm: a call that comes by itself is not one that the reader runs.
func TestPace_Rhythm(t *testing.T) {
	var r rhythm
	now := time.Now()
	for i, c := range []struct {
		after time.Duration
		want  bool
	}{{0, false}, {soonAfter - 1, true}, {soonAfter, false}, {0, true}, {time.Hour, false}} {
		if now = now.Add(c.after); r.soon(now) != c.want {
			t.Errorf("call %d: soon is not %t", i, c.want)
		}
	}
}
