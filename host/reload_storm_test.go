//go:build unix

package host_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
)

// D8, C13, K12: whatever is done to a plugin at the same time, every call has an honest end, no version is left over, and a
// good version answers in the end.
func TestD8_C13_Storm(t *testing.T) {
	p, path := versioned(t, "0")
	p.Limits = host.Limits{
		Idle: 5 * time.Millisecond, Drain: 200 * time.Millisecond,
		BackoffFirst: time.Millisecond, BackoffMost: 5 * time.Millisecond, Circuit: 3,
	}
	h := open(t, host.Config{StateDir: t.TempDir()}, p)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var storm sync.WaitGroup
	every := func(pause time.Duration, do func(n int)) {
		storm.Go(func() { // ends with ctx
			for n := 0; ctx.Err() == nil; n++ {
				do(n)
				time.Sleep(time.Duration(rand.Int64N(int64(pause))))
			}
		})
	}
	for range 4 {
		every(10*time.Millisecond, func(int) {
			_, err := h.Call(t.Context(), host.Call{Tool: "test/version"})
			e, failed := errors.AsType[*host.Error](err)
			if err != nil && (!failed || e.Code != host.Unavailable || e.Outcome != host.NotStarted && e.Outcome != host.Unknown) {
				t.Errorf("a call ended with %v", err)
			}
		})
	}
	evils := []string{"", " exits", "", " dies", " grows"}
	every(100*time.Millisecond, func(n int) { install(t, path, fmt.Sprint(n)+evils[n%len(evils)]) })
	every(50*time.Millisecond, func(int) { _ = h.Reload(ctx) }) // broken versions are its errors
	every(40*time.Millisecond, func(int) {
		if pid := status(t, h).PID; pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	every(200*time.Millisecond, func(int) {
		if err := h.Trust("test"); err != nil {
			t.Error(err)
		}
	})
	storm.Wait()
	install(t, path, "last")
	reload(t, h)
	eventually(t, "the last version answers, alone", func() bool {
		_ = h.Trust("test")
		res, err := h.Call(t.Context(), host.Call{Tool: "test/version"})
		return err == nil && string(res.Output) == `"last"` && len(status(t, h).Draining) == 0
	})
	began := time.Now()
	h.Close()
	if d := time.Since(began); d > soon {
		t.Errorf("Close took %v", d)
	}
}
