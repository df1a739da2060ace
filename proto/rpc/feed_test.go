package rpc

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
)

// answering is a stream whose raw server has begun to answer.
func answering(t *testing.T) (*ClientStream, *Client, *raw) {
	t.Helper()
	a, b := join(t)
	p := newRaw(t, b, false, true)
	c := dial(t, a)
	st := open(t, within(t), c, "chat").(*ClientStream)
	p.next(http2.FrameHeaders, 1)
	p.headers(1, false, ":status", "200", "content-type", "application/grpc")
	return st, c, p
}

// TestFeed_FromTheStart: what came before Feed is handed over first, in order, and the end too if it was there; the peer
// has its room back then.
func TestFeed_FromTheStart(t *testing.T) {
	st, _, p := answering(t)
	for n := range 4 {
		p.data(1, false, message(filled(250_000+n)))
	}
	p.ping()
	var sizes []int
	ended := make(chan error, 1)
	st.Feed(func(msg []byte) { sizes = append(sizes, len(msg)) }, func(err error) { ended <- err })
	if len(sizes) != 4 {
		t.Errorf("%d messages were there", len(sizes))
	}
	if f := p.next(http2.FrameWindowUpdate, 1); f.last < 1_000_000 {
		t.Errorf("room for %d bytes", f.last)
	}
	p.data(1, false, message(filled(3)))
	p.headers(1, true, "grpc-status", "0")
	if err := await(t, ended, "end"); err != io.EOF {
		t.Error(err)
	}
	for i, n := range sizes {
		if want := len(message(filled([]int{250_000, 250_001, 250_002, 250_003, 3}[i]))) - prefixSize; n != want {
			t.Errorf("message %d has %d bytes, want %d", i, n, want)
		}
	}
	st.Feed(func([]byte) { t.Error("a message again") }, func(err error) { ended <- err })
	if err := await(t, ended, "end"); err != io.EOF {
		t.Error(err)
	}
}

// TestH3_WhatWaitsIsBounded: messages that nobody takes cost what they have on the wire, the smallest ones too.
func TestH3_WhatWaitsIsBounded(t *testing.T) {
	st, c, p := answering(t)
	for range 4 {
		p.data(1, false, make([]byte, 200_000)) // 40,000 messages of nothing
	}
	p.ping()
	st.mu.Lock()
	if n := cap(st.queue); n > 2*streamWindow {
		t.Errorf("%d bytes wait", n)
	}
	st.mu.Unlock()
	for range 4 * 40_000 {
		if msg, err := st.next(); err != nil || len(msg) != 0 {
			t.Fatalf("%d bytes, %v", len(msg), err)
		}
	}
	p.next(http2.FrameWindowUpdate, 1)
	p.data(1, false, make([]byte, 5*200_000))
	await(t, c.Done(), "end of the connection, for that frame was too large")
}

// TestH3_MemoryGrowsWithWhatArrives: not with what is announced.
func TestH3_MemoryGrowsWithWhatArrives(t *testing.T) {
	st, _, p := answering(t)
	p.data(1, false, append([]byte{0, 0, 0x7f, 0xff, 0xff}, make([]byte, 100_000)...))
	p.data(1, false, make([]byte, 200_000))
	p.ping()
	st.c.mu.Lock() // the reader is behind the ping
	n := cap(st.msg)
	st.c.mu.Unlock()
	if n < 300_000 || n > 1<<20 {
		t.Errorf("%d bytes of memory for 300,000 that came of 8 MB", n)
	}
}

// TestH6_Panics: one of whoever receives ends the connection, and every call with a status.
func TestH6_Panics(t *testing.T) {
	for name, feed := range map[string]func(st *Stream){
		"a receiver":                func(st *Stream) { st.Feed(func([]byte) { panic("boo") }, func(error) {}) },
		"the receiver of an end":    func(st *Stream) { st.Feed(func([]byte) {}, func(error) { panic("boo") }) },
		"both, and of another call": func(st *Stream) { st.Feed(func([]byte) { panic("boo") }, func(error) { panic("boo") }) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := join(t)
			k, p := startCalls(t, a, b, true)
			feed(k.st.(*ClientStream).Stream)
			p.headers(1, false, ":status", "200", "content-type", "application/grpc")
			p.data(1, false, message(nil))
			p.headers(1, true, "grpc-status", "0")
			await(t, k.c.Done(), "end of the connection")
			k.c.Wait()
			wantCode(t, await(t, k.unary, "end of the call"), codes.Unavailable, "panic: boo")
		})
	}
}

// TestH6_APanicOfWhoIsToldOfACancel is no panic of the process: it is told in a goroutine of its own.
func TestH6_APanicOfWhoIsToldOfACancel(t *testing.T) {
	st, c, _ := answering(t)
	st.Feed(func([]byte) {}, func(error) { panic("boo") })
	_ = st.Close()
	await(t, c.Done(), "end of the connection")
	if err := c.c.cause(); !strings.Contains(err.Error(), "panic: boo") {
		t.Errorf("it ended with %v", err)
	}
}

// badMessage is one that cannot be encoded.
type badMessage struct {
	size   int
	append func(b []byte) ([]byte, error)
}

func (m badMessage) Size() int                       { return m.size }
func (m badMessage) Append(b []byte) ([]byte, error) { return m.append(b) }

// TestSend_OfWhatCannotBeEncoded: it is the sender's error, nothing of it is sent, and whoever sends next is not in its way.
func TestSend_OfWhatCannotBeEncoded(t *testing.T) {
	st, _, p := answering(t)
	cause := errors.New("not today")
	for _, size := range []int{10, 50_000} { // in a frame, and in parts
		for text, f := range map[string]func(b []byte) ([]byte, error){
			"not today":  func([]byte) ([]byte, error) { return nil, cause },
			"boo":        func([]byte) ([]byte, error) { panic("boo") },
			"became one": func(b []byte) ([]byte, error) { return append(b, 1), nil },
		} {
			if err := st.Send(badMessage{size, f}); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("send of %d: %v, want %q", size, err, text)
			}
			if _, err := st.TrySend(badMessage{min(size, 100), f}); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("try of %d: %v, want %q", size, err, text)
			}
		}
	}
	st.c.mu.Lock()
	if st.window != firstWindow || st.c.window != firstWindow {
		t.Errorf("windows of %d and %d bytes", st.window, st.c.window)
	}
	st.c.mu.Unlock()
	if err := st.Send(badMessage{3, func(b []byte) ([]byte, error) { return append(b, "yes"...), nil }}); err != nil {
		t.Error(err)
	}
	if got := p.take(1, 8); string(got[5:]) != "yes" {
		t.Errorf("got %q", got)
	}
}

// TestSend_AfterTheEnd is an error, and nothing is sent.
func TestSend_AfterTheEnd(t *testing.T) {
	st, _, p := answering(t)
	if err := st.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if err := st.Send(badMessage{}); err != io.EOF {
		t.Errorf("send: %v", err)
	}
	if err := st.CloseSend(); err != nil {
		t.Error(err)
	}
	if f := p.next(http2.FrameData, 1); len(f.data) > 0 || !f.head.Flags.Has(http2.FlagDataEndStream) {
		t.Errorf("%v %q", f.head, f.data)
	}
	p.ping()
	select {
	case f := <-p.frames:
		t.Errorf("also %v", f.head)
	default:
	}
}

// TestDial_EndsWithItsContext: a server that does not greet is not waited for.
func TestDial_EndsWithItsContext(t *testing.T) {
	a, b := join(t)
	defer b.Close()
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("the host ends")
	cancel(cause)
	if _, err := Dial(ctx, a, limit); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// TestWait_IsAfterEveryEnd: who has waited for the connection hears of no end any more, whoever ended the call.
func TestWait_IsAfterEveryEnd(t *testing.T) {
	for range 200 {
		a, b := join(t)
		k, _ := startCalls(t, a, b, true)
		st := k.st.(*ClientStream)
		told := false
		st.Feed(func([]byte) {}, func(error) { time.Sleep(time.Millisecond); told = true })
		go st.Close() // ends at once
		runtime.Gosched()
		_ = k.c.Close()
		k.c.Wait()
		if !told {
			t.Fatal("the receiver was not told")
		}
		<-k.unary
	}
}
