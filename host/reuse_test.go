//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// What a call was made with is used again by later ones: calls that succeed, end in time or not, and fail, side by side, get
// their own outcome each.
func TestCall_ReusedRunsDoNotMix(t *testing.T) {
	h := open(t, host.Config{Limits: host.Limits{Call: 30 * time.Second}})
	call(t, h, "echo", `{"text":"ready"}`)
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	var callers sync.WaitGroup
	for n := range 16 {
		callers.Go(func() {
			for i := range rounds {
				text := fmt.Sprintf("caller %d, call %d", n, i)
				c := host.Call{Tool: "echo", Input: json.RawMessage(`{"text":"` + text + `"}`)}
				ctx, cancel := context.Background(), context.CancelFunc(func() {})
				switch i % 5 {
				case 1:
					ctx, cancel = context.WithCancel(ctx)
				case 2: // may end at any time
					ctx, cancel = context.WithTimeout(ctx, time.Duration(i*n)*10*time.Microsecond)
				case 3:
					c.Tool = "fail"
					c.Input = nil
				}
				res, err := h.Call(ctx, c)
				cancel()
				e, failed := errors.AsType[*host.Error](err)
				switch {
				case i%5 == 2 && failed && e.Code == host.Timeout:
				case i%5 == 3:
					if !failed || e.Code != host.ToolFailed {
						t.Errorf("%s: %v", text, err)
					}
				case err != nil:
					t.Errorf("%s: %v", text, err)
				case string(res.Output) != `{"text":"`+text+`","times":1}`:
					t.Errorf("%s got %s", text, res.Output)
				}
			}
		})
	}
	callers.Wait()
}
