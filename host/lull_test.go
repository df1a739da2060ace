//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
)

// doIn says what a call does.
type doIn struct {
	What string `json:"what"`
	N    int    `json:"n"` // microseconds, or how much of it
}

// doTools do what their input says, each call once, and return its id.
func doTools() []pluginsdk.Definition {
	var seen sync.Map
	var held sync.Mutex
	do := func(ctx context.Context, c *pluginsdk.Call, in doIn) (string, error) {
		if _, twice := seen.LoadOrStore(c.ID(), true); twice {
			return "", errors.New("run twice")
		}
		d := time.Duration(in.N) * time.Microsecond
		var err error
		switch in.What {
		case "sleep":
			time.Sleep(d)
		case "spin":
			for end := time.Now().Add(d); time.Now().Before(end) && ctx.Err() == nil; {
			}
		case "lock":
			held.Lock()
			defer held.Unlock()
			time.Sleep(d)
		case "hang":
			<-ctx.Done()
			err = ctx.Err()
		case "panic":
			panic("boo")
		case "goexit":
			runtime.Goexit()
		case "elicit":
			_, err = c.Elicit(ctx, pluginsdk.Question{Message: "q"})
		case "write":
			for i := 0; i < 3+in.N/100 && err == nil; i++ {
				err = c.Write(ctx, strings.Repeat("x", 10*in.N))
			}
		case "say":
			c.Progress(1, 2, "half")
			c.Logger().Info("half")
		}
		return c.ID(), err
	}
	confirmed, asks, starts := tool("confirmed", do), tool("asks", do), tool("starts", do)
	confirmed.OnOutput = func(context.Context, *pluginsdk.Call, string) error { return nil }
	asks.NeedsApproval = func(context.Context, *pluginsdk.Call, doIn) (bool, error) { return false, nil }
	starts.OnInputStart = func(context.Context, *pluginsdk.Call) error { return nil }
	return []pluginsdk.Definition{
		tool("do", do), confirmed, asks, starts,
		tool("goroutines", func(context.Context, *pluginsdk.Call, struct{}) (int, error) { return runtime.NumGoroutine(), nil }),
	}
}

// TestLull_EveryCallEndsOnce: calls of every kind, mostly short ones that are alone, which the plugin's reader runs, and at random times ones
// that take long, are cancelled, panic, or need the host. Each has its own outcome and is run once, and no goroutine is left. Under the race
// detector the plugin is too, and ends at the first race.
func TestLull_EveryCallEndsOnce(t *testing.T) {
	for _, procs := range []string{"1", "2", "4"} {
		t.Run(procs, func(t *testing.T) {
			p := self("do", "do")
			p.Env = append(p.Env[:1:1], "GOMAXPROCS="+procs, "GORACE=halt_on_error=1 atexit_sleep_ms=0")
			h := open(t, host.Config{StateDir: stateDir(t)}, p)
			var n atomic.Int64
			var all sync.WaitGroup
			for _, calls := range []int{400, 40, 40} {
				all.Go(func() { // ends with its calls
					for range calls {
						doOne(t, h, fmt.Sprint("call-", n.Add(1)))
						if calls == 40 || rand.IntN(8) == 0 {
							time.Sleep(time.Duration(rand.IntN(5000)) * time.Microsecond)
						}
					}
				})
			}
			all.Wait()
			eventually(t, "the goroutines that are not kept have ended", func() bool {
				left, err := strconv.Atoi(string(call(t, h, "goroutines", `{}`).Output))
				return err == nil && left < 100
			})
		})
	}
}

// doOne makes a random call.
func doOne(t *testing.T, h *host.Host, id string) {
	kinds := []string{"quick", "sleep", "spin", "lock", "hang", "panic", "goexit", "elicit", "write", "say"}
	tools := []string{"do", "do", "confirmed", "asks", "starts"}
	what, tool := kinds[rand.IntN(len(kinds))], tools[rand.IntN(len(tools))]
	if rand.IntN(3) > 0 {
		what, tool = "quick", "do"
	}
	ctx := t.Context()
	if what == "hang" || rand.IntN(10) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.IntN(4000))*time.Microsecond)
		defer cancel()
	}
	res, err := h.Call(ctx, host.Call{
		Tool: tool, ID: id, Input: json.RawMessage(fmt.Sprintf(`{"what":%q,"n":%d}`, what, rand.IntN(3000))),
		Elicit: func(context.Context, host.Question) (host.Answer, error) { return host.Answer{Action: "accept"}, nil },
	})
	switch {
	case ctx.Err() != nil && err != nil:
	case what == "panic" || what == "goexit":
		if e, ok := errors.AsType[*host.ToolError](err); !ok || !e.Panic {
			t.Errorf("%s %s: %v", tool, what, err)
		}
	case err != nil:
		t.Errorf("%s %s: %v", tool, what, err)
	case string(res.Output) != strconv.Quote(id):
		t.Errorf("%s %s: %s is the outcome of %s", tool, what, res.Output, id)
	}
}
