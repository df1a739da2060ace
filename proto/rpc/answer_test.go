package rpc

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// TestClient_Answers: what a server may answer on a stream, and what it may not: then the call has its status and the connection lives.
func TestClient_Answers(t *testing.T) {
	ok := []string{":status", "200", "content-type", "application/grpc+proto"}
	begin := func(p *raw) { p.headers(1, false, ok...) }
	end := func(p *raw) { p.headers(1, true, "grpc-status", "0") }
	hello := message([]byte("hello"))
	for _, tt := range []struct {
		name string
		do   func(p *raw)
		got  []string // messages
		code codes.Code
		text string
	}{
		{name: "nothing", do: func(p *raw) { begin(p); end(p) }},
		{name: "trailers only", do: func(p *raw) {
			p.headers(1, true, append(ok, "grpc-status", "5", "grpc-message", "no %E2%98%83 %zz")...)
		},
			code: codes.NotFound, text: "no ☃ %zz"},
		{name: "trailers only without a content type", do: func(p *raw) { p.headers(1, true, ":status", "200", "grpc-status", "16") }, code: codes.Unauthenticated},
		{name: "a code that is unknown", do: func(p *raw) { begin(p); p.headers(1, true, "grpc-status", "77") }, code: 77},
		{name: "a status that is none", do: func(p *raw) { begin(p); p.headers(1, true, "grpc-status", "fine") }, code: codes.Internal, text: `"fine" is no number`},
		{name: "no status", do: func(p *raw) { begin(p); p.headers(1, true, "x", "y") }, code: codes.Internal, text: "without a status"},
		{name: "an end without trailers", do: func(p *raw) { begin(p); p.data(1, true, hello) }, got: []string{"hello"}, code: codes.Internal, text: "without a status"},
		{name: "an empty end without trailers", do: func(p *raw) { begin(p); p.data(1, true, nil) }, code: codes.Internal, text: "without a status"},
		{name: "another protocol", do: func(p *raw) { p.headers(1, false, ":status", "200", "content-type", "application/grpcx") }, code: codes.Unknown, text: "application/grpcx"},
		{name: "another status", do: func(p *raw) { p.headers(1, true, ":status", "404") }, code: codes.Unknown, text: "404"},
		{name: "a proxy's status", do: func(p *raw) { p.headers(1, false, ":status", "503") }, code: codes.Unavailable, text: "503"},
		{name: "another encoding", do: func(p *raw) { p.headers(1, false, append(ok, "grpc-encoding", "gzip")...) }, code: codes.Internal, text: "gzip"},
		{name: "more is to come", do: func(p *raw) { p.headers(1, false, ":status", "103"); begin(p); p.data(1, false, hello); end(p) }, got: []string{"hello"}},
		{name: "a second header", do: func(p *raw) { begin(p); begin(p) }, code: codes.Internal, text: "a second header"},
		{name: "a message before the header", do: func(p *raw) { p.data(1, false, hello) }, code: codes.Internal, text: "before the header"},
		{name: "a compressed message", do: func(p *raw) { begin(p); p.data(1, false, []byte{1, 0, 0, 0, 0}) }, code: codes.Internal, text: "compressed"},
		{name: "H3 M2 a message that is announced too large", do: func(p *raw) { begin(p); p.data(1, false, []byte{0, 0xff, 0xff, 0xff, 0xff}) },
			code: codes.ResourceExhausted, text: "4294967295 bytes received; 8388608 is the limit"},
		{name: "half a message", do: func(p *raw) { begin(p); p.data(1, false, hello[:7]); end(p) }, code: codes.Internal, text: "ended within a message"},
		{name: "half a prefix", do: func(p *raw) { begin(p); p.data(1, false, hello[:3]); end(p) }, code: codes.Internal, text: "ended within a message"},
		{name: "half a message and a status", do: func(p *raw) { begin(p); p.data(1, false, hello[:7]); p.headers(1, true, "grpc-status", "8") }, code: codes.ResourceExhausted},
		{name: "half a message and a reset", do: func(p *raw) { begin(p); p.data(1, false, hello[:7]); p.frame(http2.FrameRSTStream, 0, 1, word(8)) },
			code: codes.Canceled},
		{name: "refused", do: func(p *raw) { p.frame(http2.FrameRSTStream, 0, 1, word(7)) }, code: codes.Unavailable},
		{name: "calm", do: func(p *raw) { p.frame(http2.FrameRSTStream, 0, 1, word(11)) }, code: codes.ResourceExhausted},
		{name: "another reset", do: func(p *raw) { p.frame(http2.FrameRSTStream, 0, 1, word(2)) }, code: codes.Internal, text: "error 2"},
		{name: "H6 what is no protobuf", do: func(p *raw) { begin(p); p.data(1, false, []byte{0, 0, 0, 0, 1, 0xff}) }, code: codes.Internal},
		{name: "several messages in a frame", do: func(p *raw) { begin(p); p.data(1, false, bytes.Repeat(hello, 3)); end(p) }, got: []string{"hello", "hello", "hello"}},
		{name: "messages of nothing", do: func(p *raw) { begin(p); p.data(1, false, make([]byte, 15)); end(p) }, got: []string{"", "", ""}},
		{name: "one and a half, and a half", do: func(p *raw) {
			begin(p)
			p.data(1, false, append(bytes.Clone(hello), hello[:6]...))
			p.data(1, false, hello[6:])
			end(p)
		}, got: []string{"hello", "hello"}},
		{name: "padded frames", do: func(p *raw) {
			p.frame(http2.FrameHeaders, http2.FlagHeadersPadded|http2.FlagHeadersEndHeaders|http2.FlagHeadersPriority, 1,
				append(append([]byte{3, 0, 0, 0, 0, 9}, block(ok...)...), 0, 0, 0))
			p.frame(http2.FrameData, http2.FlagDataPadded, 1, append(append([]byte{200}, hello...), make([]byte, 200)...))
			p.frame(http2.FrameData, http2.FlagDataPadded, 1, append([]byte{200}, make([]byte, 200)...))
			p.frame(http2.FrameData, http2.FlagDataPadded, 1, []byte{0})
			end(p)
		}, got: []string{"hello"}},
		{name: "headers in parts", do: func(p *raw) {
			b := block(ok...)
			p.frame(http2.FrameHeaders, 0, 1, nil)
			for i := range b {
				p.frame(http2.FrameContinuation, 0, 1, b[i:i+1])
			}
			p.frame(http2.FrameContinuation, http2.FlagContinuationEndHeaders, 1, nil)
			end(p)
		}},
		{name: "a large header in one frame", do: func(p *raw) { p.headers(1, false, append(ok, "x", strings.Repeat("\x01", 20<<10))...); end(p) }},
		{name: "what is passed over", do: func(p *raw) {
			p.frame(http2.FramePriority, 0, 1, []byte{0, 0, 0, 3, 9})
			p.frame(0x77, 0xff, 1, make([]byte, 200_000))
			p.frame(http2.FrameSettings, 0, 0, oneSetting(0x99, 7))
			p.frame(http2.FramePing, http2.FlagPingAck, 0, make([]byte, 8))
			begin(p)
			end(p)
		}},
		{name: "a goodbye before the call", do: func(p *raw) { p.frame(http2.FrameGoAway, 0, 0, make([]byte, 8)) }, code: codes.Unavailable, text: "takes no more calls"},
		{name: "a goodbye after the call", do: func(p *raw) {
			p.frame(http2.FrameGoAway, 0, 0, append(word(1), word(0)...))
			begin(p)
			p.data(1, false, hello)
			end(p)
		}, got: []string{"hello"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := join(t)
			p := newRaw(t, b, false, true)
			c := dial(t, a)
			st := open(t, within(t), c, "chat")
			p.next(http2.FrameHeaders, 1)
			tt.do(p)
			var got []string
			var m wrapperspb.BytesValue
			err := st.RecvMsg(&m)
			for ; err == nil; err = st.RecvMsg(&m) {
				got = append(got, string(m.GetValue()))
			}
			if strings.Join(got, "|") != strings.Join(tt.got, "|") || len(got) != len(tt.got) {
				t.Errorf("got %q, want %q", got, tt.got)
			}
			if tt.code != codes.OK {
				wantCode(t, err, tt.code, tt.text)
			} else if err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
			if err := st.SendMsg(&m); err != io.EOF && !strings.Contains(tt.name, "H6") {
				t.Errorf("to a call that is over: %v", err)
			}
			if strings.HasPrefix(tt.name, "a goodbye") {
				await(t, c.Done(), "end of the connection")
				return
			}
			p.ping()
			// Late frames for a stream that is over are counted and passed over.
			p.data(1, false, make([]byte, 70_000))
			p.data(1, true, nil)
			p.headers(1, true, "grpc-status", "1")
			p.frame(http2.FrameWindowUpdate, 0, 1, word(1))
			p.frame(http2.FrameRSTStream, 0, 1, word(0))
			p.ping()
		})
	}
}

// TestMessagesAtEveryByte: a message arrives whichever way it is cut into frames, whoever takes it.
func TestMessagesAtEveryByte(t *testing.T) {
	a, b := join(t)
	p := newRaw(t, b, false, true)
	c := dial(t, a)
	body := append(message([]byte("one")), append(message(nil), message([]byte("three"))...)...)
	for fed := range 2 {
		for cut := range body {
			st := open(t, within(t), c, "chat").(*ClientStream)
			p.next(http2.FrameHeaders, st.id)
			p.headers(st.id, false, ":status", "200", "content-type", "application/grpc")
			var got []string
			ended := make(chan error, 1)
			if fed == 1 {
				st.Feed(func(msg []byte) { got = append(got, string(msg)) }, func(err error) { ended <- err })
			}
			p.data(st.id, false, body[:cut])
			p.data(st.id, false, body[cut:cut+1])
			p.data(st.id, false, body[cut+1:])
			p.headers(st.id, true, "grpc-status", "0")
			if fed == 0 {
				for {
					msg, err := st.next()
					if err != nil {
						ended <- err
						break
					}
					got = append(got, string(msg))
				}
			}
			if err := await(t, ended, "end"); err != io.EOF || strings.Join(got, "|") != "\n\x03one||\n\x05three" {
				t.Fatalf("fed %d, cut at %d: %q, %v", fed, cut, got, err)
			}
		}
	}
}

// TestClient_EndsTheStream: a server that answers before the request has ended is told that no more comes, so that no stream
// stays open with it.
func TestClient_EndsTheStream(t *testing.T) {
	a, b := join(t)
	p := newRaw(t, b, false, true)
	c := dial(t, a)
	st := open(t, within(t), c, "chat")
	p.next(http2.FrameHeaders, 1)
	p.headers(1, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "0")
	if f := p.next(http2.FrameRSTStream, 1); f.code != http2.ErrCodeNo {
		t.Errorf("reset with %v", f.code)
	}
	if err := st.RecvMsg(&wrapperspb.BytesValue{}); err != io.EOF {
		t.Error(err)
	}
}

// TestClient_DeadlineOfTheServer: a server that cancels at the deadline may be first; the status is the deadline's all the same.
func TestClient_DeadlineOfTheServer(t *testing.T) {
	s := &Stream{deadline: time.Now().Add(-time.Second)}
	wantCode(t, s.resetStatus(codeCancel), codes.DeadlineExceeded)
	s.deadline = time.Now().Add(time.Hour)
	wantCode(t, s.resetStatus(codeCancel), codes.Canceled)
}

// TestClient_WindowsThatShrink: settings may make a window negative; what is sent waits until it is positive again, and the rest
// of the window is used to the byte.
func TestClient_WindowsThatShrink(t *testing.T) {
	a, b := join(t)
	p := newRaw(t, b, false, true)
	c := dial(t, a)
	st := open(t, within(t), c, "chat").(*ClientStream)
	p.next(http2.FrameHeaders, 1)
	first := message(filled(40_000))
	if err := st.SendMsg(wrapperspb.Bytes(filled(40_000))); err != nil {
		t.Fatal(err)
	}
	got := p.take(1, len(first))
	p.frame(http2.FrameSettings, 0, 0, oneSetting(4, 10)) // the window is 10 - 40008 now
	p.ping()
	sent := make(chan error, 1)
	go func() { sent <- st.SendMsg(wrapperspb.Bytes(filled(100))) }() // ends when there is room; joined below
	p.frame(http2.FrameWindowUpdate, 0, 1, word(uint32(len(first)-10)))
	p.ping() // the window is 0
	if sent, err := st.TrySend(protoMessage{wrapperspb.Bytes(nil)}); sent || err != nil {
		t.Errorf("without room: %t, %v", sent, err)
	}
	select {
	case f := <-p.frames:
		t.Errorf("without room: %v", f.head)
	default:
	}
	p.frame(http2.FrameWindowUpdate, 0, 1, word(1))
	if f := p.next(http2.FrameData, 1); len(f.data) != 1 {
		t.Errorf("%d bytes, room was for 1", len(f.data))
	}
	p.frame(http2.FrameSettings, 0, 0, oneSetting(4, 1000))
	if err := await(t, sent, "end of the send"); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(got, first) {
		t.Error("the message is another one")
	}
}

// take is the next n bytes of a stream's data.
func (p *raw) take(stream uint32, n int) []byte {
	p.t.Helper()
	var b []byte
	for len(b) < n {
		b = append(b, p.next(http2.FrameData, stream).data...)
	}
	return b
}

// TestClient_FramesOfThePeersSize: no frame is larger than the peer takes, whatever the windows are.
func TestClient_FramesOfThePeersSize(t *testing.T) {
	a, b := join(t)
	p := newRaw(t, b, false, true)
	c := dial(t, a)
	p.frame(http2.FrameSettings, 0, 0, oneSetting(4, maxWindow))
	p.frame(http2.FrameWindowUpdate, 0, 0, word(1<<30))
	p.ping()
	for _, size := range []int{firstFrame, 20_000, 1<<24 - 1} {
		p.frame(http2.FrameSettings, 0, 0, oneSetting(5, uint32(size)))
		p.ping()
		st := open(t, within(t), c, "chat").(*ClientStream)
		sent := make(chan error, 1)
		go func() { sent <- st.SendMsg(wrapperspb.Bytes(filled(1 << 20))) }() // ends when it is read; joined below
		want := message(filled(1 << 20))
		for n := 0; n < len(want); {
			f := p.next(http2.FrameData, st.id)
			if len(f.data) > size {
				t.Errorf("a frame of %d bytes; %d was the limit", len(f.data), size)
			}
			if !bytes.Equal(f.data, want[n:n+len(f.data)]) {
				t.Fatalf("other bytes at %d", n)
			}
			n += len(f.data)
		}
		if err := await(t, sent, "end of the send"); err != nil {
			t.Error(err)
		}
	}
}

// TestClient_FewStreams: a client opens no more streams than the server takes; a call waits for its turn, or its context.
func TestClient_FewStreams(t *testing.T) {
	a, b := join(t)
	p := newRaw(t, b, false, true)
	c := dial(t, a)
	p.frame(http2.FrameSettings, 0, 0, oneSetting(3, 1))
	p.ping()
	st := open(t, within(t), c, "chat")
	short, cancel := context.WithTimeout(within(t), 20*time.Millisecond)
	defer cancel()
	_, err := do(short, c, "echo", nil)
	wantCode(t, err, codes.DeadlineExceeded)
	answered := make(chan error, 1)
	ctx := within(t)
	go func() { _, err := do(ctx, c, "echo", nil); answered <- err }() // ends when the server has answered; joined below
	p.next(http2.FrameHeaders, 1)
	p.ping()
	p.headers(1, true, ":status", "200", "grpc-status", "0")
	if err := st.RecvMsg(&wrapperspb.BytesValue{}); err != io.EOF {
		t.Error(err)
	}
	p.next(http2.FrameHeaders, 3)
	p.headers(3, false, ":status", "200", "content-type", "application/grpc")
	p.data(3, false, message(nil))
	p.headers(3, true, "grpc-status", "0")
	if err := await(t, answered, "answer"); err != nil {
		t.Error(err)
	}
}

// TestClient_CreditsWhatItThrowsAway: data of streams that are over, padding included, costs the connection no window.
func TestClient_CreditsWhatItThrowsAway(t *testing.T) {
	a, b := join(t)
	p := newRaw(t, b, false, true)
	c := dial(t, a)
	st := open(t, within(t), c, "chat").(*ClientStream)
	p.next(http2.FrameHeaders, 1)
	_ = st.Close()
	p.next(http2.FrameRSTStream, 1)
	window := connWindow
	for range 3 * connWindow / 100_000 {
		if window < 100_000 {
			window += int(p.next(http2.FrameWindowUpdate, 0).last)
		}
		window -= 100_000
		p.frame(http2.FrameData, http2.FlagDataPadded, 1, append([]byte{255}, make([]byte, 99_999)...))
	}
	p.ping()
}

// TestClient_CreditsPadding: padding counts as data does, and is given back as that is.
func TestClient_CreditsPadding(t *testing.T) {
	st, _, p := answering(t)
	st.Feed(func([]byte) { t.Error("a message") }, func(error) {})
	frame := append([]byte{255}, make([]byte, 255)...)
	stream := streamWindow
	for range connWindow / len(frame) {
		if stream < len(frame) {
			stream += int(p.next(http2.FrameWindowUpdate, 1).last)
		}
		stream -= len(frame)
		p.frame(http2.FrameData, http2.FlagDataPadded, 1, frame)
	}
	p.ping()
	st.c.mu.Lock()
	defer st.c.mu.Unlock()
	if left := st.c.left + int64(st.c.taken); left != connWindow {
		t.Errorf("the window is %d bytes, want %d", left, connWindow)
	}
	if left := st.left + int64(st.taken); left != streamWindow {
		t.Errorf("the stream's window is %d bytes, want %d", left, streamWindow)
	}
}

// TestClient_AWordOfFarewell: the error of a call says why the peer ended the connection, if it said so.
func TestClient_AWordOfFarewell(t *testing.T) {
	a, b := join(t)
	k, p := startCalls(t, a, b, true)
	p.frame(http2.FrameGoAway, 0, 0, append(append(word(3), word(11)...), "too many pings"...))
	p.ping()
	_ = p.nc.Close()
	wantCode(t, await(t, k.unary, "end of the call"), codes.Unavailable, "HTTP/2 error 11", "too many pings")
	wantCode(t, k.drain(), codes.Unavailable)
}

// TestClient_LeavesAfterAGoodbye: a client without calls ends the connection to a peer that takes no more, which waits for that.
func TestClient_LeavesAfterAGoodbye(t *testing.T) {
	t.Run("calls", func(t *testing.T) {
		a, b := join(t)
		k, p := startCalls(t, a, b, true)
		p.frame(http2.FrameGoAway, 0, 0, append(word(3), word(0)...))
		p.headers(1, true, "grpc-status", "10")
		wantCode(t, k.drain(), codes.Aborted)
		select {
		case <-k.c.Done():
			t.Error("the connection ended before its last call")
		default:
		}
		p.headers(3, true, "grpc-status", "10")
		wantCode(t, await(t, k.unary, "end of the call"), codes.Aborted)
		await(t, k.c.Done(), "end of the connection")
	})
	t.Run("none", func(t *testing.T) {
		a, b := join(t)
		p := newRaw(t, b, false, true)
		c := dial(t, a)
		p.frame(http2.FrameGoAway, 0, 0, append(word(0), word(0)...))
		await(t, c.Done(), "end of the connection")
		_, err := do(within(t), c, "echo", nil)
		wantCode(t, err, codes.Unavailable, "takes no more calls")
	})
}
