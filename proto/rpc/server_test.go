package rpc

import (
	"bytes"
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
)

// TestServer_Requests: what a client may ask and send, and what it may not: then the call has its status and the connection lives.
func TestServer_Requests(t *testing.T) {
	hello := message([]byte("hello"))
	for _, tt := range []struct {
		name   string
		do     func(p *raw)
		got    []byte // data
		status string
		text   string
	}{
		{name: "a call", do: func(p *raw) { p.request(1, false, "echo"); p.data(1, true, hello) }, got: hello, status: "0"},
		{name: "a call whose end is an empty frame", do: func(p *raw) { p.request(1, false, "echo"); p.data(1, false, hello); p.data(1, true, nil) },
			got: hello, status: "0"},
		{name: "a call whose end is a header", do: func(p *raw) { p.request(1, false, "echo"); p.data(1, false, hello); p.headers(1, true, "x", "y") },
			got: hello, status: "0"},
		{name: "a call in bytes", do: func(p *raw) {
			p.request(1, false, "echo")
			for i := range hello {
				p.data(1, i == len(hello)-1, hello[i:i+1])
			}
		}, got: hello, status: "0"},
		{name: "a stream", do: func(p *raw) { p.request(1, false, "chat"); p.data(1, true, bytes.Repeat(hello, 3)) }, got: bytes.Repeat(hello, 3), status: "0"},
		{name: "no message", do: func(p *raw) { p.request(1, true, "echo") }, status: "13", text: "the request has no message"},
		{name: "half a message", do: func(p *raw) { p.request(1, false, "echo"); p.data(1, true, hello[:8]) }, status: "13", text: "rpc: the request ended within a message"},
		{name: "a compressed message", do: func(p *raw) { p.request(1, false, "echo"); p.data(1, true, append([]byte{1}, hello[1:]...)) },
			status: "13", text: "rpc: a compressed message, which was not offered"},
		{name: "M1 a message that is announced too large", do: func(p *raw) { p.request(1, false, "echo"); p.data(1, false, []byte{0, 0, 64, 0, 1, 7}) },
			status: "8", text: "rpc: a message of 4194305 bytes received; 4194304 is the limit"},
		{name: "more after it", do: func(p *raw) {
			p.request(1, false, "chat")
			p.data(1, false, append(bytes.Clone(hello), 0, 0, 64, 0, 1))
			p.data(1, false, hello)
		}, got: hello, status: "8", text: "rpc: a message of 4194305 bytes received; 4194304 is the limit"},
		{name: "no method", do: func(p *raw) { p.request(1, true, "x") }, status: "12", text: `no method "/test/x"`},
		{name: "no path", do: func(p *raw) { p.headers(1, true, ":method", "POST", "content-type", "application/grpc") }, status: "12", text: `no method ""`},
		{name: "a browser", do: func(p *raw) { p.headers(1, true, ":method", "GET", ":path", "/") }, status: "13",
			text: `this is gRPC: method "GET" and content type "" are not`},
		{name: "an encoding", do: func(p *raw) { p.request(1, true, "echo", "grpc-encoding", "gzip") }, status: "12", text: `encoding "gzip" is not offered`},
		{name: "a timeout that is none", do: func(p *raw) { p.request(1, true, "echo", "grpc-timeout", "1x") }, status: "13", text: `the timeout "1x" is none`},
		{name: "the longest timeout", do: func(p *raw) { p.request(1, false, "echo", "grpc-timeout", "99999999H"); p.data(1, true, hello) }, got: hello, status: "0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := join(t)
			s := serve(t, b, newImpl())
			p := newRaw(t, a, true, true)
			tt.do(p)
			if got := p.take(1, len(tt.got)); !bytes.Equal(got, tt.got) {
				t.Errorf("got %q, want %q", got, tt.got)
			}
			f := p.next(http2.FrameHeaders, 1)
			for f.fields["grpc-status"] == "" {
				f = p.next(http2.FrameHeaders, 1)
			}
			if f.fields["grpc-status"] != tt.status || f.fields["grpc-message"] != tt.text {
				t.Errorf("status: %v, want %s %q", f.fields, tt.status, tt.text)
			}
			// Late frames for a stream that is over, and an id that was passed over.
			p.headers(5, true, ":method", "POST")
			p.headers(3, true, ":method", "POST")
			if f.head.Flags.Has(http2.FlagHeadersEndStream) {
				p.frame(http2.FrameRSTStream, 0, 1, word(0))
			}
			p.ping()
			s.Shutdown(within(t))
			if f, there := p.goodbye(); !there || f.code != http2.ErrCodeNo || f.last != 5 {
				t.Errorf("goodbye: %t, %v, last %d", there, f.code, f.last)
			}
		})
	}
}

// TestServer_TooManyStreams: what is over the limit is refused, and the rest is served.
func TestServer_TooManyStreams(t *testing.T) {
	a, b := join(t)
	i := newImpl()
	serve(t, b, i)
	p := newRaw(t, a, true, true)
	if f := p.next(http2.FrameSettings, 0); f.pairs[http2.SettingMaxConcurrentStreams] != maxStreams {
		t.Errorf("settings: %v", f.pairs)
	}
	id := uint32(1)
	for range maxStreams {
		p.request(id, false, "hang")
		id += 2
	}
	p.request(id, true, "echo")
	if f := p.next(http2.FrameRSTStream, id); f.code != http2.ErrCodeRefusedStream {
		t.Errorf("reset with %v", f.code)
	}
	p.frame(http2.FrameRSTStream, 0, 1, word(8))
	id += 2
	p.request(id, false, "echo")
	p.data(id, true, message(nil))
	p.next(http2.FrameData, id)
}

// TestServer_RapidReset: handlers of calls that were reset count until they have returned, so a client cannot pile them up.
func TestServer_RapidReset(t *testing.T) {
	a, b := join(t)
	i := newImpl()
	hold := make(chan struct{})
	svc := service(i)
	began := make(chan struct{}, 10*maxRunning)
	svc.Desc.Streams[0].Handler = stubborn(began, hold)
	s := Serve(b, svc)
	p := newRaw(t, a, true, true)
	id := uint32(1)
	for range 3 * maxRunning {
		p.request(id, false, "chat")
		p.frame(http2.FrameRSTStream, 0, id, word(8))
		id += 2
	}
	p.ping()
	for range maxRunning {
		await(t, began, "handler")
	}
	select {
	case <-began:
		t.Errorf("more than %d handlers", maxRunning)
	default:
	}
	close(hold)
	for {
		p.request(id, false, "echo")
		p.data(id, true, message(nil))
		f := frameSeen{}
		for f.head.StreamID != id {
			f = await(t, p.frames, "answer")
		}
		if f.head.Type == http2.FrameHeaders { // served again, as soon as some have returned
			break
		}
		id += 2
	}
	s.Shutdown(within(t))
}

// TestServer_EndsTheStream: a client whose call has its status before the request has ended need not send the rest.
func TestServer_EndsTheStream(t *testing.T) {
	a, b := join(t)
	serve(t, b, newImpl())
	p := newRaw(t, a, true, true)
	p.request(1, false, "deaf")
	if f := p.next(http2.FrameHeaders, 1); !f.head.Flags.Has(http2.FlagHeadersEndStream) || f.fields["grpc-status"] != "10" {
		t.Errorf("%v %v", f.head, f.fields)
	}
	if f := p.next(http2.FrameRSTStream, 1); f.code != http2.ErrCodeNo {
		t.Errorf("reset with %v", f.code)
	}
	p.request(3, true, "deaf")
	p.next(http2.FrameHeaders, 3)
	p.check(p.fr.WritePing(false, [8]byte{}))
	if f := await(t, p.frames, "ping"); f.head.Type != http2.FramePing {
		t.Errorf("a call that has ended by itself: %v", f.head)
	}
}

// TestServer_Deadline: a handler that waits for a message learns of its call's deadline though the client says nothing.
func TestServer_Deadline(t *testing.T) {
	a, b := join(t)
	serve(t, b, newImpl())
	p := newRaw(t, a, true, true)
	p.request(1, false, "chat", "grpc-timeout", "20m")
	if f := p.next(http2.FrameRSTStream, 1); f.code != http2.ErrCodeCancel {
		t.Errorf("reset with %v", f.code)
	}
	p.ping()
}

// TestServer_SilentStrangers: who connects and says nothing is not kept.
func TestServer_SilentStrangers(t *testing.T) {
	for name, words := range map[string]string{"nothing": "", "a part": preface[:9], "no settings": preface} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := net.Pipe()
				defer a.Close()
				s := Serve(b, service(newImpl()))
				go func() { // ends with the connection
					for {
						if _, err := a.Read(make([]byte, 100)); err != nil {
							return
						}
					}
				}()
				if _, err := a.Write([]byte(words)); err != nil {
					t.Error(err)
				}
				start := time.Now()
				<-s.Done()
				if d := time.Since(start); d != patience {
					t.Errorf("it ended after %v, want %v", d, patience)
				}
				s.Shutdown(context.Background())
			})
		})
	}
}

// TestServer_ShutdownEndsHandlers: those that do not return in time have their contexts ended, and those that come then are refused.
func TestServer_ShutdownEndsHandlers(t *testing.T) {
	a, b := join(t)
	i := newImpl()
	s := serve(t, b, i)
	p := newRaw(t, a, true, true)
	p.request(1, true, "hang")
	await(t, i.began, "handler")
	ctx, cancel := context.WithCancel(within(t))
	over := make(chan struct{})
	go func() { s.Shutdown(ctx); close(over) }() // ends after cancel; joined below
	if f := p.next(http2.FrameGoAway, 0); f.last != 1 || f.code != http2.ErrCodeNo {
		t.Errorf("goodbye: %v, last %d", f.code, f.last)
	}
	p.request(3, true, "hang")
	if f := p.next(http2.FrameRSTStream, 3); f.code != http2.ErrCodeRefusedStream {
		t.Errorf("reset with %v", f.code)
	}
	cancel()
	await(t, over, "end of the server")
	if err := await(t, i.ended, "end of the handler"); !errors.Is(err, context.Canceled) {
		t.Errorf("the handler's context: %v", err)
	}
}
