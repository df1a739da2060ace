//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/proto/session"
)

// peakOf is how much more memory than before is in use while f runs, garbage not counted.
func peakOf(f func()) (peak int64) {
	live := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	before := live()
	var over atomic.Bool
	var sampler sync.WaitGroup
	sampler.Go(func() { // ends after f
		for !over.Load() {
			peak = max(peak, live()-before)
			time.Sleep(2 * time.Millisecond) // or it would be all that runs
		}
	})
	f()
	over.Store(true)
	sampler.Wait()
	return peak
}

// A plugin that announces, or sends, more than the limit is refused without the memory for it, and the others of its
// calls go on.
func TestH3_M2_TooMuchTakesNoMemory(t *testing.T) {
	const limit = 4 << 20
	for _, tt := range []struct {
		evil string
		most int64 // memory
		code host.Code
	}{
		{fmt.Sprint("announces:", limit+1), 1 << 20, host.TooLarge},
		{"announces:1073741824", 1 << 20, host.TooLarge},
		{"announces:18446744073709551615", 1 << 20, host.TooLarge},
		{fmt.Sprint("sends:", 64<<20), limit + limit/5, host.TooLarge},
		{fmt.Sprint("message:", 64<<20), limit + limit/5, host.Unavailable}, // one gRPC message; the session is over
	} {
		t.Run(tt.evil, func(t *testing.T) {
			h := open(t, host.Config{Limits: host.Limits{Message: limit}}, wired("evil", tt.evil), self("good", "more"))
			call(t, h, "good/echo", `{"text":"x"}`)
			h.Tool("evil/do") // starts it
			var err error
			if peak := peakOf(func() { _, err = h.Call(t.Context(), host.Call{Tool: "evil/do"}) }); peak > tt.most {
				t.Errorf("%d KiB of memory; at most %d", peak>>10, tt.most>>10)
			}
			wantError(t, nil, err, tt.code, host.Unknown)
			if large, ok := errors.AsType[*session.TooLargeError](err); tt.code == host.TooLarge && (!ok || large.Limit != limit || large.Direction != session.Receiving) {
				t.Errorf("%v does not say the limit and the direction", err)
			}
			call(t, h, "good/echo", `{"text":"x"}`)
			if s := statusOf(t, h, "evil"); tt.code == host.TooLarge && s.State != host.Ready {
				t.Errorf("after one call too large: %+v", s)
			}
		})
	}
}

// M1: the limit is exact to the byte, for inputs and for outputs, and an error names it, the size and the direction.
func TestM1_LimitsAreExact(t *testing.T) {
	const limit = 4<<20 + 1 // above gRPC's own
	h := open(t, host.Config{Limits: host.Limits{Input: limit, Output: limit}}, self("more", "more"))
	for _, size := range []int{4 << 20, limit - 1, limit, limit + 1} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			input := `{"t":"` + strings.Repeat("i", size-len(`{"t":""}`)) + `"}`
			if size > limit {
				e := fails(t, h, "size", input, host.TooLarge, host.NotStarted)
				if !strings.Contains(e.Error(), fmt.Sprintf("an input of %d bytes; the limit is %d", size, limit)) {
					t.Error(e)
				}
				e = fails(t, h, "big", fmt.Sprintf(`{"n":%d}`, size), host.TooLarge, host.Done)
				if !strings.Contains(e.Error(), fmt.Sprintf("an output of %d bytes; the limit is %d", size, limit)) {
					t.Error(e)
				}
				return
			}
			if got := string(call(t, h, "size", input).Output); got != fmt.Sprint(size) {
				t.Errorf("of an input of %d bytes came %s", size, got)
			}
			if got := len(call(t, h, "big", fmt.Sprintf(`{"n":%d}`, size)).Output); got != size {
				t.Errorf("of an output of %d bytes came %d", size, got)
			}
		})
	}
}

// M1: what passes the limits of input and output and not that of a message is told by either side.
func TestM1_OneMessage(t *testing.T) {
	const limit = 1 << 20
	h := open(t, host.Config{Limits: host.Limits{Input: 4 * limit, Message: limit}}, self("more", "more"))
	for _, c := range []struct {
		tool, input string
		outcome     host.Outcome
	}{
		{"size", `{"t":"` + strings.Repeat("i", limit) + `"}`, host.NotStarted},
		{"big", fmt.Sprintf(`{"n":%d}`, limit+1), host.Failed},
	} {
		e := fails(t, h, c.tool, c.input, host.TooLarge, c.outcome)
		if text := e.Error(); !strings.Contains(text, fmt.Sprint(limit)) || !strings.Contains(text, "sen") {
			t.Errorf("%s: %q names no limit or no direction", c.tool, text)
		}
		call(t, h, "echo", `{"text":"x"}`)
	}
}

// M3: a text that no trailer would carry arrives whole.
func TestM3_LongErrorText(t *testing.T) {
	h := open(t, host.Config{}, self("more", "more"))
	e := fails(t, h, "sorry", `{"n":65536}`, host.ToolFailed, host.Failed)
	tool, ok := errors.AsType[*host.ToolError](e)
	if !ok || len(tool.Message) != 65536 || !strings.HasSuffix(tool.Message, "e.") {
		t.Errorf("%d bytes of text", len(e.Error()))
	}
}

// M4: 10,000 pieces of an input reach a plugin that is slower than the model, in order, joined and never dropped. The
// plugin's pace slows the model's side once a window is full.
func TestM4_SlowPluginSlowsTheProducer(t *testing.T) {
	h := open(t, host.Config{}, self("more", "more"))
	call(t, h, "echo", `{"text":""}`)
	r := h.Start(t.Context(), host.Call{Tool: "slow"})
	var bytes float64
	var reader sync.WaitGroup
	reader.Go(func() { // ends with the call
		for e := range r.Events() {
			if p, ok := e.(host.Progress); ok {
				bytes = max(bytes, p.Progress)
			}
		}
	})
	const pieces = 10_000
	send := func(s string) {
		if err := r.Delta([]byte(s)); err != nil {
			t.Errorf("delta: %v", err)
		}
	}
	send(`{"text":"`)
	for i := range pieces {
		send(fmt.Sprintf("%099d ", i)) // 1 MB in all, four windows
	}
	send(`"}`)
	if err := r.EndInput(); err != nil {
		t.Error(err)
	}
	res, err := r.Result()
	reader.Wait()
	if err != nil || string(res.Output) != fmt.Sprint(pieces*100) {
		t.Errorf("%v, %v", res, err)
	}
	if bytes > 64<<10 {
		t.Errorf("a piece of %.0f bytes", bytes)
	}
}

// M4: a plugin that reads nothing stops the producer after what may be under way, and a cancel ends the wait.
func TestM4_DeafPluginStopsTheProducer(t *testing.T) {
	h := open(t, host.Config{}, self("more", "more"))
	call(t, h, "echo", `{"text":""}`)
	r := h.Start(t.Context(), host.Call{Tool: "deaf"})
	go func() { // ends with the call
		for range r.Events() {
		}
	}()
	var sent atomic.Int64
	blocked := make(chan error, 1)
	go func() { // ends with the cancel
		err := r.Delta([]byte(`{"text":"`))
		for ; err == nil; err = r.Delta([]byte(strings.Repeat("x", 1000))) {
			sent.Add(1000)
		}
		blocked <- err
	}()
	last := int64(-1)
	eventually(t, "the producer waits", func() bool {
		now := sent.Load()
		defer func() { last = now; time.Sleep(50 * time.Millisecond) }()
		return now == last && now > 0
	})
	if n := sent.Load(); n > 1<<20 {
		t.Errorf("%d bytes went to a plugin that reads nothing", n)
	}
	call(t, h, "echo", `{"text":"beside it"}`)
	r.Cancel(nil)
	if err := <-blocked; err == nil {
		t.Error("no error")
	}
	if _, err := r.Result(); err == nil {
		t.Error("no error of the call")
	}
}

// M5: with one flow of a plugin stuck, the others of the same process go on.
func TestM5_NoFlowWaitsForAnother(t *testing.T) {
	for _, tool := range []string{"writer", "deaf", "asklater", "flood"} {
		t.Run(tool, func(t *testing.T) {
			h := open(t, host.Config{}, self("more", "more"))
			call(t, h, "echo", `{"text":""}`)
			pid := status(t, h).PID
			input := json.RawMessage(`{}`)
			switch tool {
			case "deaf":
				input = nil // in pieces
			case "flood":
				input = json.RawMessage(`{"n":100000000}`)
			}
			r := h.Start(t.Context(), host.Call{Tool: tool, Input: input}) // nobody reads its events
			if input == nil {
				go func() { // ends with the call
					for r.Delta([]byte(strings.Repeat(" ", 1000))) == nil {
					}
				}()
			}
			for range 50 {
				call(t, h, "echo", `{"text":"beside it"}`)
			}
			res := call(t, h, "big", `{"n":3000000}`)
			if len(res.Output) != 3000000 {
				t.Errorf("%d bytes", len(res.Output))
			}
			began := time.Now()
			r.Cancel(nil)
			if _, err := r.Result(); err == nil && tool != "asklater" {
				t.Error("a call that was cancelled has a result")
			}
			if d := time.Since(began); d > soon {
				t.Errorf("the cancel took %v", d)
			}
			call(t, h, "echo", `{"text":"after it"}`)
			if s := status(t, h); s.PID != pid {
				t.Errorf("another process: %+v", s)
			}
		})
	}
}

// M6, C8: a plugin that idles under pings lives on, and watching it costs no descriptor and no goroutine.
func TestM6_C8_ManyPings(t *testing.T) {
	var plugins []host.Plugin
	for i := range 5 {
		plugins = append(plugins, self(fmt.Sprint("p", i), "more"))
	}
	h := open(t, host.Config{Eager: true, Limits: host.Limits{Ping: time.Millisecond, PingWait: 5 * time.Second}}, plugins...)
	pids := map[int]bool{}
	for s := range h.Plugins() {
		if s.State != host.Ready {
			t.Fatalf("%+v", s)
		}
		pids[s.PID] = true
	}
	announced(t)
	before := census(t)
	for range 20 { // 2 s of a ping a millisecond
		time.Sleep(100 * time.Millisecond)
	}
	eventually(t, "as many descriptors and goroutines as before", func() bool { // others come and go
		now := census(t)
		return now.fds <= before.fds && now.goroutines <= before.goroutines+len(plugins)
	})
	for s := range h.Plugins() {
		if s.State != host.Ready || !pids[s.PID] || s.Restarts != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// M7: a question that comes after any time is answered on the stream that the call runs on.
func TestM7_LateCallback(t *testing.T) {
	t.Parallel()
	h := open(t, host.Config{}, self("more", "more"))
	const wait = 6000 // ms; go-plugin's broker gives up after 5 s
	res, err := h.Call(t.Context(), host.Call{
		Tool: "asklater", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, wait)), Elicit: accept,
	})
	if err != nil || string(res.Output) != `"accept \"yes\""` {
		t.Errorf("%+v, %v", res, err)
	}
}

// accept answers every question.
func accept(context.Context, host.Question) (host.Answer, error) {
	return host.Answer{Action: "accept", Content: json.RawMessage(`"yes"`)}, nil
}
