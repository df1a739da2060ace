package rpc

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
)

func word(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func oneSetting(id uint16, v uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, id), v)
}

// breaches are what ends a connection, whichever end does it. Streams 1 and 3 are open, 101 is not.
var breaches = []struct {
	name string
	do   func(p *raw)
	code http2.ErrCode
	text string
}{
	{"H3 a frame that is too large", func(p *raw) { p.bytes([]byte{4, 0, 1, 0, 0, 0, 0, 0, 1}) }, http2.ErrCodeFrameSize, "a frame of 262145 bytes"},
	{"H3 a frame that is too large and no data", func(p *raw) { p.bytes([]byte{1, 0, 1, 1, 4, 0, 0, 0, 1}) }, http2.ErrCodeEnhanceYourCalm, "of 65537 bytes"},
	{"data of the connection", func(p *raw) { p.data(0, false, nil) }, http2.ErrCodeProtocol, "data for stream 0"},
	{"data of no stream", func(p *raw) { p.data(101, false, nil) }, http2.ErrCodeProtocol, "data for stream 101"},
	{"data of an even stream", func(p *raw) { p.data(2, false, nil) }, http2.ErrCodeProtocol, "data for stream 2"},
	{"header of the connection", func(p *raw) { p.headers(0, false, ":status", "200") }, http2.ErrCodeProtocol, "a header for stream 0"},
	{"header of an even stream", func(p *raw) { p.headers(2, false, ":status", "200") }, http2.ErrCodeProtocol, "a header for stream 2"},
	{"padding longer than data", func(p *raw) { p.frame(http2.FrameData, http2.FlagDataPadded, 1, []byte{2, 0}) }, http2.ErrCodeProtocol, "padding"},
	{"padding of no data", func(p *raw) { p.frame(http2.FrameData, http2.FlagDataPadded, 1, nil) }, http2.ErrCodeFrameSize, "padded"},
	{"padding longer than a header", func(p *raw) {
		p.frame(http2.FrameHeaders, http2.FlagHeadersPadded|http2.FlagHeadersEndHeaders, 1, []byte{9, 0})
	}, http2.ErrCodeProtocol, "padding"},
	{"a header without its priority", func(p *raw) {
		p.frame(http2.FrameHeaders, http2.FlagHeadersPriority|http2.FlagHeadersEndHeaders, 1, []byte{1})
	}, http2.ErrCodeFrameSize, "priority"},
	{"a push", func(p *raw) { p.frame(http2.FramePushPromise, 4, 1, word(2)) }, http2.ErrCodeProtocol, "a push"},
	{"settings of a stream", func(p *raw) { p.frame(http2.FrameSettings, 0, 1, nil) }, http2.ErrCodeProtocol, "settings of stream 1"},
	{"half a setting", func(p *raw) { p.frame(http2.FrameSettings, 0, 0, []byte{1, 2, 3}) }, http2.ErrCodeFrameSize, "malformed settings"},
	{"an answer with settings", func(p *raw) { p.frame(http2.FrameSettings, 1, 0, oneSetting(4, 1)) }, http2.ErrCodeFrameSize, "malformed settings"},
	{"a first window too large", func(p *raw) { p.frame(http2.FrameSettings, 0, 0, oneSetting(4, 1<<31)) }, http2.ErrCodeFlowControl, "a window of 2147483648 bytes"},
	{"a frame size too small", func(p *raw) { p.frame(http2.FrameSettings, 0, 0, oneSetting(5, 16383)) }, http2.ErrCodeProtocol, "a frame size of 16383"},
	{"a frame size too large", func(p *raw) { p.frame(http2.FrameSettings, 0, 0, oneSetting(5, 1<<24)) }, http2.ErrCodeProtocol, "a frame size of 16777216"},
	{"a ping of a stream", func(p *raw) { p.frame(http2.FramePing, 0, 1, make([]byte, 8)) }, http2.ErrCodeProtocol, "a ping of stream 1"},
	{"half a ping", func(p *raw) { p.frame(http2.FramePing, 0, 0, make([]byte, 7)) }, http2.ErrCodeFrameSize, "malformed ping"},
	{"half a window", func(p *raw) { p.frame(http2.FrameWindowUpdate, 0, 1, make([]byte, 3)) }, http2.ErrCodeFrameSize, "malformed window"},
	{"a window that does not grow", func(p *raw) { p.frame(http2.FrameWindowUpdate, 0, 1, word(0)) }, http2.ErrCodeProtocol, "by nothing"},
	{"a window of no stream", func(p *raw) { p.frame(http2.FrameWindowUpdate, 0, 101, word(1)) }, http2.ErrCodeProtocol, "a window for stream 101"},
	{"a stream's window over the limit", func(p *raw) { p.frame(http2.FrameWindowUpdate, 0, 1, word(maxWindow)) }, http2.ErrCodeFlowControl, "over its limit"},
	{"the window over the limit", func(p *raw) { p.frame(http2.FrameWindowUpdate, 0, 0, word(maxWindow)) }, http2.ErrCodeFlowControl, "over its limit"},
	{"windows over the limit by settings", func(p *raw) {
		p.frame(http2.FrameWindowUpdate, 0, 1, word(maxWindow-firstWindow))
		p.frame(http2.FrameSettings, 0, 0, oneSetting(4, 1<<20))
	}, http2.ErrCodeFlowControl, "over its limit"},
	{"a reset of no stream", func(p *raw) { p.frame(http2.FrameRSTStream, 0, 101, word(8)) }, http2.ErrCodeProtocol, "a reset of stream 101"},
	{"half a reset", func(p *raw) { p.frame(http2.FrameRSTStream, 0, 1, []byte{8}) }, http2.ErrCodeFrameSize, "malformed reset"},
	{"half a goodbye", func(p *raw) { p.frame(http2.FrameGoAway, 0, 0, word(1)) }, http2.ErrCodeFrameSize, "malformed goodbye"},
	{"a rest without a header", func(p *raw) { p.frame(http2.FrameContinuation, 4, 1, nil) }, http2.ErrCodeProtocol, "the rest of a header"},
	{"data within a header", func(p *raw) {
		p.frame(http2.FrameHeaders, 0, 1, nil)
		p.data(1, false, nil)
	}, http2.ErrCodeProtocol, "not finished"},
	{"a header within another", func(p *raw) {
		p.frame(http2.FrameHeaders, 0, 1, nil)
		p.frame(http2.FrameContinuation, 4, 3, nil)
	}, http2.ErrCodeProtocol, "not finished"},
	{"an extension within a header", func(p *raw) {
		p.frame(http2.FrameHeaders, 0, 1, nil)
		p.frame(77, 0, 1, nil)
	}, http2.ErrCodeProtocol, "not finished"},
	{"H3 a header in ever more parts", func(p *raw) {
		p.frame(http2.FrameHeaders, 0, 1, nil)
		for range 5 {
			p.frame(http2.FrameContinuation, 0, 1, make([]byte, 16<<10))
		}
	}, http2.ErrCodeEnhanceYourCalm, "a header of more than 65536 bytes"},
	{"a header with empty parts", func(p *raw) {
		p.frame(http2.FrameHeaders, 0, 1, nil)
		p.frame(http2.FrameContinuation, 0, 1, nil)
	}, http2.ErrCodeEnhanceYourCalm, "empty parts"},
	{"a header that does not decode", func(p *raw) { p.frame(http2.FrameHeaders, 4, 1, []byte{0xff, 0xff, 0xff, 0xff, 0x7f}) }, http2.ErrCodeProtocol, "header: "},
	{"a header that is cut", func(p *raw) { p.frame(http2.FrameHeaders, 4, 1, []byte{0, 9, 'x'}) }, http2.ErrCodeProtocol, "header: "},
	{"a table too large", func(p *raw) { p.frame(http2.FrameHeaders, 4, 1, []byte{0x3f, 0xff, 0xff, 0x7f}) }, http2.ErrCodeProtocol, "header: "},
	{"H3 fields that are large when decoded", func(p *raw) {
		b := append([]byte{0x40, 1, 'x', 0x7f, 0x80 + (2000-127)%128, (2000 - 127) / 128}, bytes.Repeat([]byte{'v'}, 2000)...)
		p.frame(http2.FrameHeaders, 4, 1, append(b, bytes.Repeat([]byte{0x80 + 62}, 40)...))
	}, http2.ErrCodeEnhanceYourCalm, "a header of more than 65536 bytes"},
	{"more data than a stream's window", func(p *raw) {
		for range 5 { // nobody takes messages
			p.data(1, false, message(make([]byte, 250_000)))
		}
	}, http2.ErrCodeFlowControl, "more data on stream 1"},
}

// TestClient_Breaches: what a server does against the protocol ends the connection, and every call with a status that says what
// it was. The server is told too.
func TestClient_Breaches(t *testing.T) {
	more := append(breaches[:len(breaches):len(breaches)], struct {
		name string
		do   func(p *raw)
		code http2.ErrCode
		text string
	}{"a header of no stream", func(p *raw) { p.headers(101, false, ":status", "200") }, http2.ErrCodeProtocol, "a header for stream 101"})
	for _, tt := range more {
		t.Run(tt.name, func(t *testing.T) {
			a, b := join(t)
			k, p := startCalls(t, a, b, true)
			p.headers(1, false, ":status", "200", "content-type", "application/grpc")
			tt.do(p)
			await(t, k.c.Done(), "end of the connection")
			k.c.Wait()
			wantCode(t, await(t, k.unary, "end of the call"), codes.Unavailable, tt.text)
			wantCode(t, k.drain(), codes.Unavailable, tt.text)
			_, err := do(within(t), k.c, "echo", nil)
			wantCode(t, err, codes.Unavailable, tt.text)
			bye(t, p, tt.code, tt.text)
		})
	}
}

// bye checks that the peer is told why.
func bye(t *testing.T, p *raw, code http2.ErrCode, text string) {
	t.Helper()
	f, there := p.goodbye()
	if !there || f.code != code || !strings.Contains(string(f.data), text) {
		t.Errorf("goodbye: %v %q, want %v", f.code, f.data, code)
	}
}

// TestServer_Breaches: the same of a client. Handlers end with the connection.
func TestServer_Breaches(t *testing.T) {
	more := append(breaches[:len(breaches):len(breaches)], []struct {
		name string
		do   func(p *raw)
		code http2.ErrCode
		text string
	}{
		{"data after the end", func(p *raw) { p.data(3, false, nil) }, http2.ErrCodeProtocol, "data on stream 3 after its end"},
		{"a header after the end", func(p *raw) { p.headers(3, true, "x", "y") }, http2.ErrCodeProtocol, "a header on stream 3 after its end"},
		{"a second header", func(p *raw) { p.headers(1, false, "x", "y") }, http2.ErrCodeProtocol, "a second header on stream 1"},
	}...)
	for _, tt := range more {
		t.Run(tt.name, func(t *testing.T) {
			a, b := join(t)
			i := newImpl()
			s := serve(t, b, i)
			p := newRaw(t, a, true, true)
			p.request(1, false, "hang")
			p.request(3, false, "wait")
			p.data(3, true, message(nil))
			await(t, i.began, "handler")
			await(t, i.began, "handler")
			tt.do(p)
			await(t, s.Done(), "end of the connection")
			await(t, i.ended, "end of a handler")
			await(t, i.ended, "end of a handler")
			if err := s.c.cause(); err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("it ended with %v, want %q", err, tt.text)
			}
			s.Shutdown(within(t))
			bye(t, p, tt.code, tt.text)
		})
	}
}

// TestFirstWords: who does not speak HTTP/2 is not waited for.
func TestFirstWords(t *testing.T) {
	for name, tt := range map[string]struct{ words, text string }{
		"another protocol": {"HTTP/1.1 400 Bad Request\r\n\r\n", "does not begin with its settings"},
		"a ping":           {"\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", "does not begin with its settings"},
		"an answer":        {"\x00\x00\x00\x04\x01\x00\x00\x00\x00", "does not begin with its settings"},
		"nothing":          {"", "ended"},
	} {
		t.Run("client, "+name, func(t *testing.T) {
			a, b := join(t)
			_, err := b.Write([]byte(tt.words))
			if err != nil {
				t.Fatal(err)
			}
			if err := b.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			c, err := Dial(within(t), a, limit)
			if err == nil {
				_ = c.Close()
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %q", err, tt.text)
			}
		})
	}
	for name, tt := range map[string]struct{ words, text string }{
		"another protocol": {"GET / HTTP/1.1\r\n", "does not speak HTTP/2"},
		"a ping":           {preface + "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678", "does not begin with its settings"},
		"a part":           {preface[:10], ""},
	} {
		t.Run("server, "+name, func(t *testing.T) {
			a, b := join(t)
			s := serve(t, b, newImpl())
			if _, err := a.Write([]byte(tt.words)); err != nil {
				t.Fatal(err)
			}
			if tt.text == "" {
				_ = a.Close()
			}
			await(t, s.Done(), "end of the connection")
			if err := s.c.cause(); !strings.Contains(err.Error(), tt.text) {
				t.Errorf("got %v, want %q", err, tt.text)
			}
		})
	}
}
