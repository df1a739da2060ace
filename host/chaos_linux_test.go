//go:build linux

package host_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolhost/toolhost/host"
)

// Whatever a plugin does, every call ends in its time, none gets what belongs to another, none is an internal error, and nothing is left
// after Close: neither goroutine nor descriptor.
func TestH3_Chaos(t *testing.T) {
	for _, seed := range []uint64{0, 1} { // without and with what ends the connection
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			before, files := goleak.IgnoreCurrent(), descriptors(t)
			h, err := host.Open(t.Context(), host.Config{
				StateDir: t.TempDir(), Plugins: []host.Plugin{h2("evil", fmt.Sprint("chaos:", seed))},
				Limits: host.Limits{
					Ping: 300 * time.Millisecond, PingWait: 300 * time.Millisecond, Drain: time.Second, Grace: time.Second,
					BackoffFirst: time.Millisecond, BackoffMost: time.Millisecond, Circuit: 1 << 30,
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			end := time.Now().Add(2 * time.Second)
			var callers sync.WaitGroup
			for w := range uint64(64) {
				callers.Go(func() { // ends soon after end
					r := rand.New(rand.NewPCG(w, seed))
					for n := 0; time.Now().Before(end); n++ {
						chaosCall(t, h, r, fmt.Sprint("token ", w, " ", n, "."))
					}
				})
			}
			callers.Wait()
			closes(t, h)
			eventually(t, "no goroutine and no descriptor is left", func() bool { return goleak.Find(before) == nil && descriptors(t) <= files })
		})
	}
}

// chaosCall makes a call that may be cancelled, and looks at how it ends.
func chaosCall(t *testing.T, h *host.Host, r *rand.Rand, token string) {
	limit := time.Duration(1+r.IntN(300)) * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if r.IntN(3) == 0 {
		defer time.AfterFunc(time.Duration(r.IntN(int(limit))), cancel).Stop()
	}
	c := host.Call{Tool: "do", Input: fmt.Appendf(nil, `{"token":%q,"pad":"%s"}`, token, strings.Repeat("x", r.IntN(1+r.IntN(60_000))))}
	begin := time.Now()
	res, err := (*host.Result)(nil), error(nil)
	if r.IntN(4) > 0 {
		res, err = h.Call(ctx, c)
	} else {
		run := h.Start(ctx, c)
		for range run.Events() {
			if r.IntN(20) == 0 {
				break
			}
		}
		res, err = run.Result()
	}
	if took := time.Since(begin); took > limit+time.Minute {
		t.Errorf("a call of %v took %v", limit, took)
	}
	if err == nil {
		if out := string(res.Output); strings.Contains(out, `"token `) && !strings.Contains(out, token) {
			t.Errorf("%s got %.100s", token, out)
		}
		return
	}
	if e, ok := errors.AsType[*host.Error](err); !ok || e.Code == host.Internal {
		t.Error(err)
	}
}

// descriptors is how many are open.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
