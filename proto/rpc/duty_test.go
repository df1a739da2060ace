package rpc

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
)

// lulled is a client's stream whose messages and lulls are told in order, a lull as "idle" or "more", and of which lull takes the idle ones.
func lulled(t *testing.T, lull func()) (*ClientStream, *Client, *raw, chan string) {
	t.Helper()
	st, c, p := answering(t)
	told := make(chan string, 100)
	st.Lull(func(idle bool) func() {
		if !idle {
			told <- "more"
			return nil
		}
		told <- "idle"
		return lull
	})
	st.Feed(func(msg []byte) { told <- string(msg[2:]) }, func(err error) { told <- err.Error() })
	wantTold(t, told, "more") // nothing has arrived before
	return st, c, p, told
}

func wantTold(t *testing.T, told <-chan string, want ...string) {
	t.Helper()
	var got []string
	for range want {
		got = append(got, await(t, told, "word"))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("told %q, want %q", got, want)
	}
}

// TestLull_AfterAllThatArrived: once for all that can be read without waiting, and idle if that was the last of it.
func TestLull_AfterAllThatArrived(t *testing.T) {
	_, _, p, told := lulled(t, func() {})
	p.data(1, false, slices.Concat(message([]byte("a")), message([]byte("b"))))
	wantTold(t, told, "a", "b", "idle")
	var both bytes.Buffer
	fr := http2.NewFramer(&both, nil)
	p.check(fr.WriteData(1, false, message([]byte("c"))))
	p.check(fr.WriteWindowUpdate(0, 1))
	p.bytes(both.Bytes())
	wantTold(t, told, "c", "more")
	p.ping()
	p.headers(1, true, "grpc-status", "0")
	wantTold(t, told, io.EOF.Error())
}

// TestLull_ALongOneIsReadBeside: what comes while the reader works is read by another, many times over, and once more when it is done.
func TestLull_ALongOneIsReadBeside(t *testing.T) {
	const rounds = 20
	working, goOn := make(chan struct{}, rounds), make(chan struct{})
	_, c, p, told := lulled(t, func() { working <- struct{}{}; <-goOn })
	for range rounds {
		p.data(1, false, message([]byte("a")))
		wantTold(t, told, "a", "idle")
		await(t, working, "work")
		p.ping() // is answered
	}
	close(goOn)
	p.ping()
	p.data(1, false, message([]byte("b")))
	wantTold(t, told, "b", "idle")
	p.ping()
	_ = p.nc.Close()
	await(t, c.Done(), "end")
	c.Wait()
}

// TestLull_ShortOnesAfterEachOther: the watch and the reader meet at any time, and no message is lost or read twice.
func TestLull_ShortOnesAfterEachOther(t *testing.T) {
	var n atomic.Int64
	_, _, p, told := lulled(t, func() {
		if at := n.Add(1); at%64 == 0 { // waits for about as long as the watch does
			for range at {
				runtime.Gosched()
			}
		}
	})
	for range 3000 {
		p.data(1, false, message([]byte("a")))
		wantTold(t, told, "a", "idle")
	}
	p.ping()
}

// TestLull_TheEndDoesNotWait: a connection ends while the reader works.
func TestLull_TheEndDoesNotWait(t *testing.T) {
	goOn := make(chan struct{})
	defer close(goOn)
	_, c, p, told := lulled(t, func() { <-goOn })
	p.data(1, false, message([]byte("a")))
	wantTold(t, told, "a", "idle")
	_ = c.Close()
	c.Wait()
	p.goodbye()
}

// TestLull_ToldBeforeTheEnd: also if the connection breaks right behind the message, in the same frame.
func TestLull_ToldBeforeTheEnd(t *testing.T) {
	_, c, p, told := lulled(t, func() {})
	p.bytes(append([]byte{0, 0, 200, 0, 0, 0, 0, 0, 1}, message([]byte("a"))...))
	_ = p.nc.Close()
	wantTold(t, told, "a", "more")
	await(t, c.Done(), "end")
}

// TestLull_OfTwoStreams: each is told of its own messages only, once they are whole.
func TestLull_OfTwoStreams(t *testing.T) {
	_, c, p, told := lulled(t, func() {})
	other := open(t, within(t), c, "chat").(*ClientStream)
	p.next(http2.FrameHeaders, 3)
	p.headers(3, false, ":status", "200", "content-type", "application/grpc")
	p.ping()
	other.Lull(func(idle bool) func() {
		told <- map[bool]string{true: "other idle", false: "other more"}[idle]
		return nil
	})
	other.Feed(func(msg []byte) { told <- "other " + string(msg[2:]) }, func(error) {})
	wantTold(t, told, "other more")
	var both bytes.Buffer
	fr := http2.NewFramer(&both, nil)
	p.check(fr.WriteData(1, false, message([]byte("a"))[:2]))
	p.check(fr.WriteData(1, false, message([]byte("a"))[2:]))
	p.check(fr.WriteData(3, false, message([]byte("b"))))
	p.bytes(both.Bytes())
	wantTold(t, told, "a", "more", "other b", "other idle")
}

// TestH6_ALullThatEndsItsGoroutine: another goroutine reads on.
func TestH6_ALullThatEndsItsGoroutine(t *testing.T) {
	_, c, p, told := lulled(t, runtime.Goexit)
	for range 10 {
		p.data(1, false, message([]byte("a")))
		wantTold(t, told, "a", "idle")
		p.ping()
	}
	_ = c.Close()
	c.Wait()
}

// TestH6_ALullThatPanics ends the connection.
func TestH6_ALullThatPanics(t *testing.T) {
	_, c, p, told := lulled(t, func() { panic("boo") })
	p.data(1, false, message([]byte("a")))
	wantTold(t, told, "a", "idle")
	await(t, c.Done(), "end")
	c.Wait()
}
