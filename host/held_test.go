//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/proto/session"
)

// H3: a plugin that sends large outputs on many calls, and ends none of them, makes the host hold as much as Limits.Held says. The
// calls that find no room are told which limit it was; another plugin's calls find theirs.
func TestH3_HeldBoundsAllCalls(t *testing.T) {
	const size, calls, held = 4 << 20, 64, 16 << 20
	h := open(t, host.Config{Limits: host.Limits{Message: size, Held: held}}, wired("evil", fmt.Sprint("hoards:", size)), self("good", "more"))
	call(t, h, "good/echo", `{"text":"x"}`)
	h.Tool("evil/do") // starts it
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	failed := make(chan error, calls)
	peak := peakOf(func() {
		for range calls {
			callers.Go(func() { // ends with ctx, if the call is not refused
				_, err := h.Call(ctx, host.Call{Tool: "evil/do"})
				failed <- err
			})
		}
		for range calls - held/size {
			e := wantError(t, nil, <-failed, host.TooLarge, host.Unknown)
			full, ok := errors.AsType[*session.FullError](e)
			if !ok || full.Limit != held || full.Size != size || !strings.Contains(e.Error(), "limits.held") {
				t.Fatalf("%v does not say the limit and the size", e)
			}
		}
		call(t, h, "good/big", fmt.Sprintf(`{"n":%d}`, size/2))
	})
	if peak > held+held/2 {
		t.Errorf("%d MiB of memory for %d that may be held", peak>>20, held>>20)
	}
	cancel()
	callers.Wait()
	if s := statusOf(t, h, "evil"); s.State != host.Ready {
		t.Errorf("after its calls: %+v", s)
	}
}

// M4: outputs that have no room wait in the plugin, and arrive all the same, one after the other; what is small does not wait.
func TestM4_LargeOutputsWaitForRoom(t *testing.T) {
	const size, calls = 1 << 20, 32
	h := open(t, host.Config{Limits: host.Limits{Held: 4 << 20}}, self("more", "more"))
	call(t, h, "echo", `{"text":"x"}`)
	var callers sync.WaitGroup
	for range calls {
		callers.Go(func() { // ends with the call
			res, err := h.Call(t.Context(), host.Call{Tool: "big", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, size))})
			if err != nil || len(res.Output) != size {
				t.Errorf("%.200v", err)
			}
		})
		callers.Go(func() { // ends with the call
			if _, err := h.Call(t.Context(), host.Call{Tool: "echo", Input: json.RawMessage(`{"text":"x"}`)}); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
}

// A call that ends early gives its room back: with room for two, a hundred are cancelled, and the next one has its output.
func TestHeldIsGivenBack(t *testing.T) {
	const size = 1 << 20
	h := open(t, host.Config{Limits: host.Limits{Held: 2 * size, Output: size / 2}}, self("more", "more"))
	for i := range 100 {
		r := h.Start(t.Context(), host.Call{Tool: "big", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, size))})
		if i%2 == 0 {
			r.Cancel(nil)
		}
		_, err := r.Result()
		if code, _ := host.CodeOf(err); code != host.TooLarge && code != host.Canceled {
			t.Fatal(err)
		}
	}
	call(t, h, "big", fmt.Sprintf(`{"n":%d}`, size/2))
}

// H3, T9: a manifest is as large as its parts in memory, not as its bytes.
func TestH3_ManifestOfManyParts(t *testing.T) {
	h := open(t, host.Config{}, wired("evil", "many parts"))
	var err error
	if peak := peakOf(func() { _, err = h.Call(t.Context(), host.Call{Tool: "evil/do"}) }); peak > 64<<20 {
		t.Errorf("%d MiB of memory", peak>>20)
	}
	if e := wantError(t, nil, err, host.Unavailable, host.NotStarted); !strings.Contains(e.Error(), "more than 100000 parts") {
		t.Error(e)
	}
}
