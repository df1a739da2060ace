//go:build linux

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host"
)

// A plugin that breaks HTTP/2, or does not read, or asks for more than it should, hangs neither its callers nor the host, at any stage.
func TestH3_HostileHTTP2(t *testing.T) {
	const megabyte = 1 << 20
	for _, tt := range []struct {
		evil     string
		input    int  // bytes of the second and third call's
		first    bool // the first call is answered
		then     bool // and the others
		code     host.Code
		outcomes []host.Outcome
	}{
		{evil: "", input: megabyte, first: true, then: true},
		{evil: "window later", first: true, then: true},
		{evil: "data after the end", first: true, then: true},
		{evil: "pings", first: true, then: true},
		{evil: "no connection window", input: megabyte, first: true, code: host.Timeout, outcomes: []host.Outcome{host.NotStarted}},
		{evil: "window over", code: host.Unavailable, outcomes: []host.Outcome{host.Unknown}},
		{evil: "large frame", code: host.Unavailable, outcomes: []host.Outcome{host.Unknown}},
		{evil: "continuation", code: host.Unavailable, outcomes: []host.Outcome{host.Unknown}},
		{evil: "settings", code: host.Unavailable, outcomes: []host.Outcome{host.Unknown}},
		{evil: "unread", input: megabyte, code: host.Timeout, outcomes: []host.Outcome{host.Unknown, host.NotStarted}},
		{evil: "slow", input: megabyte, code: host.Timeout, outcomes: []host.Outcome{host.Unknown, host.NotStarted}},
		{evil: "deaf when called", input: megabyte, code: host.Timeout, outcomes: []host.Outcome{host.Unknown, host.NotStarted}},
		{evil: "announces", code: host.Timeout, outcomes: []host.Outcome{host.Unknown}},
	} {
		t.Run(tt.evil, func(t *testing.T) {
			t.Parallel()
			h := open(t, host.Config{Limits: host.Limits{
				Input: 2 * megabyte, Drain: time.Second, Grace: time.Second, BackoffFirst: time.Millisecond, BackoffMost: time.Millisecond,
			}}, h2("evil", tt.evil))
			for i := range 3 {
				limit, fine, input := time.Minute, tt.first, 0
				if i > 0 {
					fine, input = tt.then, tt.input
				}
				if !fine && tt.code == host.Timeout {
					limit = 2 * time.Second // the call's own: a start took longer on a machine that does much else
					if _, ok := h.Tool("do"); !ok {
						t.Fatal("it has no tools")
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				begin := time.Now()
				_, err := h.Call(ctx, host.Call{Tool: "do", Input: []byte(`{"text":"` + strings.Repeat("x", input) + `"}`)})
				cancel()
				if took := time.Since(begin); took > limit+soon {
					t.Errorf("call %d took %v", i, took)
				}
				if fine {
					if err != nil {
						t.Errorf("call %d: %v", i, err)
					}
					continue
				}
				if tt.evil == "deaf when called" && strings.Contains(fmt.Sprint(err), "asks and does not read") {
					continue // its pings were noticed first
				}
				wantHostile(t, err, tt.code, tt.outcomes)
			}
			closes(t, h)
		})
	}
}

// A plugin that talks and does not read is dead, as one that is silent, once something waits for it.
func TestC10_TalksAndDoesNotRead(t *testing.T) {
	t.Parallel()
	h := open(t, host.Config{Limits: host.Limits{Input: 4 << 20, Ping: 300 * time.Millisecond, PingWait: 200 * time.Millisecond}}, h2("evil", "talks"))
	ctx, dead := context.WithTimeout(t.Context(), time.Minute)
	defer dead()
	var calls sync.WaitGroup
	for range 3 { // more than fits in between
		calls.Go(func() { // ends with its call
			_, err := h.Call(ctx, host.Call{Tool: "do", Input: []byte(`{"text":"` + strings.Repeat("x", 2<<20) + `"}`)})
			if strings.Contains(fmt.Sprint(err), "did not answer 3 pings") {
				wantHostile(t, err, host.Unavailable, []host.Outcome{host.Unknown, host.NotStarted})
				dead()
			}
		})
	}
	calls.Wait()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("it is not found dead")
	}
	closes(t, h)
}

func wantHostile(t *testing.T, err error, code host.Code, outcomes []host.Outcome) {
	t.Helper()
	e, ok := errors.AsType[*host.Error](err)
	if !ok || e.Code != code {
		t.Errorf("%v, want %v", err, code)
		return
	}
	for _, o := range outcomes {
		if e.Outcome == o {
			return
		}
	}
	t.Errorf("outcome %v of %v, want one of %v", e.Outcome, err, outcomes)
}

// closes fails the test if the host cannot be closed: a close may take the limits' drain, grace and reap.
func closes(t *testing.T, h *host.Host) {
	t.Helper()
	closed := make(chan struct{})
	go func() { h.Close(); close(closed) }() // ends with Close
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatal("the host does not close")
	}
}

// A plugin that makes the host's writes wait before its session is opened, or takes no more streams, does not hang the start: neither
// the caller's nor the host's.
func TestL11_DeafBetweenDescribeAndSession(t *testing.T) {
	for _, evil := range []string{"deaf when described", "no more streams"} {
		t.Run(evil, func(t *testing.T) {
			t.Parallel()
			h := open(t, host.Config{StateDir: t.TempDir(), Limits: host.Limits{Start: 4 * time.Second}}, h2("evil", evil))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := h.Call(ctx, host.Call{Tool: "do", Input: []byte("{}")}); err == nil || ctx.Err() != nil {
				t.Errorf("%v", err)
			}
			closes(t, h)
		})
	}
}

// What a plugin answers is accepted where encoding/json accepts it, whatever stands in its strings and wherever, but for halves of
// surrogate pairs. It is handed on byte for byte, and stays as it is.
func TestParrot_OutputsAgainstEncodingJSON(t *testing.T) {
	t.Parallel()
	h := open(t, host.Config{}, h2("evil", "parrot"))
	call(t, h, "do", `{"out":"MA=="}`)
	var callers sync.WaitGroup
	for w := range 4 {
		callers.Go(func() { // ends with its calls
			r := rand.New(rand.NewPCG(uint64(w), 1))
			var kept []*host.Result
			var texts []string
			for range 1000 {
				out := oddText(r)
				in, err := json.Marshal(map[string]any{"out": []byte(out)})
				if err != nil {
					t.Error(err)
					return
				}
				res, err := h.Call(t.Context(), host.Call{Tool: "do", Input: in})
				if want := soundText(out); want != (err == nil) {
					t.Errorf("%q: %v, want %v", out, err, want)
				}
				if err == nil {
					kept, texts = append(kept, res), append(texts, out)
				}
			}
			for i, res := range kept {
				if string(res.Output) != texts[i] {
					t.Errorf("%q became %q", texts[i], res.Output)
				}
			}
		})
	}
	callers.Wait()
}

// oddText is a JSON string, or an object with it as name and value, that has odd things at any distance from its ends.
func oddText(r *rand.Rand) string {
	odd := []string{
		`"`, `\`, "\n", "\x00", "\x1f", "\x7f", "\x80", "\xff", "\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80",
		"é", "€", "😀", "\u2028", `\u0041`, `\ud83d\ude00`, `\ud83d`, `\x`, `\u12`, `\"`, `\b\f\/`,
	}
	body := strings.Repeat("a", r.IntN(140))
	for range 1 + r.IntN(3) {
		at := r.IntN(len(body) + 1)
		body = body[:at] + odd[r.IntN(len(odd))] + body[at:]
	}
	text := `"` + body + strings.Repeat("b", r.IntN(70)) + `"`
	if r.IntN(3) == 0 {
		text = `{"k` + body + `":[1,` + text + `]}`
	}
	return text
}

func soundText(text string) bool {
	var v any
	if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	again, err := json.Marshal(v)
	return err == nil && !strings.ContainsRune(string(again), utf8.RuneError) // what encoding/json makes of half a pair
}
