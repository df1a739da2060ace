package rpc

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// raw is a peer that writes frames as a test says.
type raw struct {
	t      testing.TB
	nc     net.Conn
	fr     *http2.Framer
	frames chan frameSeen // what it receives, and closed at the end
}

// frameSeen is a frame that arrived.
type frameSeen struct {
	head   http2.FrameHeader
	fields map[string]string
	data   []byte
	code   http2.ErrCode
	last   uint32
	pairs  map[http2.SettingID]uint32
}

// newRaw greets the other end of nc, and reads what it says if reads is true.
func newRaw(t testing.TB, nc net.Conn, client, reads bool) *raw {
	t.Helper()
	p := &raw{t: t, nc: nc, fr: http2.NewFramer(nc, nc), frames: make(chan frameSeen, 10_000)}
	p.fr.AllowIllegalWrites = true
	p.fr.SetMaxReadFrameSize(1 << 20)
	p.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if client {
		p.bytes([]byte(preface))
	}
	p.check(p.fr.WriteSettings())
	if reads {
		done := make(chan struct{})
		go func() { defer close(done); p.read(client) }() // ends with the connection; joined by the cleanup
		t.Cleanup(func() { _ = nc.Close(); <-done })
	}
	return p
}

func (p *raw) read(client bool) {
	defer close(p.frames)
	if !client {
		if _, err := io.ReadFull(p.nc, make([]byte, len(preface))); err != nil {
			return
		}
	}
	for {
		f, err := p.fr.ReadFrame()
		if err != nil {
			p.check(err) // what this end sends is in order
			return
		}
		seen := frameSeen{head: f.Header()}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			seen.fields = map[string]string{}
			for _, h := range f.Fields {
				seen.fields[h.Name] = h.Value
			}
		case *http2.DataFrame:
			seen.data = bytes.Clone(f.Data())
		case *http2.RSTStreamFrame:
			seen.code = f.ErrCode
		case *http2.GoAwayFrame:
			seen.code, seen.last = f.ErrCode, f.LastStreamID
			seen.data = bytes.Clone(f.DebugData())
		case *http2.PingFrame:
			seen.data = bytes.Clone(f.Data[:])
		case *http2.SettingsFrame:
			seen.pairs = map[http2.SettingID]uint32{}
			_ = f.ForeachSetting(func(s http2.Setting) error { seen.pairs[s.ID] = s.Val; return nil })
		case *http2.WindowUpdateFrame:
			seen.last = f.Increment
		}
		p.frames <- seen
	}
}

// check fails the test unless the error is that the other end is gone, which its own error tells more of.
func (p *raw) check(err error) {
	p.t.Helper()
	if err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "broken pipe") && !strings.Contains(err.Error(), "reset") &&
		!strings.Contains(err.Error(), "closed") && !strings.Contains(err.Error(), "forcibly") && !strings.Contains(err.Error(), "aborted") {
		p.t.Error(err)
	}
}

func (p *raw) bytes(b []byte) { _, err := p.nc.Write(b); p.check(err) }

// frame writes a frame of whatever kind.
func (p *raw) frame(kind http2.FrameType, flags http2.Flags, stream uint32, payload []byte) {
	p.check(p.fr.WriteRawFrame(kind, flags, stream, payload))
}

// headers writes a header with fields, in order.
func (p *raw) headers(stream uint32, last bool, pairs ...string) {
	flags := http2.FlagHeadersEndHeaders
	if last {
		flags |= http2.FlagHeadersEndStream
	}
	p.frame(http2.FrameHeaders, flags, stream, block(pairs...))
}

// request opens a stream.
func (p *raw) request(stream uint32, last bool, method string, more ...string) {
	p.headers(stream, last, append([]string{":method", "POST", ":scheme", "http", ":path", "/test/" + method, ":authority", "a",
		"te", "trailers", "content-type", "application/grpc"}, more...)...)
}

func block(pairs ...string) []byte {
	var b bytes.Buffer
	enc := hpack.NewEncoder(&b)
	for i := 0; i < len(pairs); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1], Sensitive: true})
	}
	return b.Bytes()
}

func (p *raw) data(stream uint32, last bool, b []byte) {
	var flags http2.Flags
	if last {
		flags = http2.FlagDataEndStream
	}
	p.frame(http2.FrameData, flags, stream, b)
}

// next is the next frame of a kind for a stream; others are passed over.
func (p *raw) next(kind http2.FrameType, stream uint32) frameSeen {
	p.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case f, ok := <-p.frames:
			if !ok {
				p.t.Fatalf("the connection ended before a %v of stream %d", kind, stream)
			}
			if f.head.Type == kind && f.head.StreamID == stream && !(kind == http2.FrameSettings && f.head.Flags.Has(http2.FlagSettingsAck)) {
				return f
			}
		case <-late:
			p.t.Fatalf("no %v of stream %d", kind, stream)
		}
	}
}

// goodbye reads to the end of the connection, and returns the GOAWAY before it. false: there was none.
func (p *raw) goodbye() (frameSeen, bool) {
	p.t.Helper()
	late := time.After(time.Minute)
	var bye frameSeen
	var there bool
	for {
		select {
		case f, ok := <-p.frames:
			if !ok {
				return bye, there
			}
			if f.head.Type == http2.FrameGoAway {
				bye, there = f, true
			}
		case <-late:
			p.t.Fatal("the connection did not end")
		}
	}
}

// ping shows that the other end has acted on all that was written to it, and is well.
func (p *raw) ping() {
	p.t.Helper()
	p.check(p.fr.WritePing(false, [8]byte{1, 2, 3}))
	if f := p.next(http2.FramePing, 0); !f.head.Flags.Has(http2.FlagPingAck) || f.data[2] != 3 {
		p.t.Errorf("a ping's answer: %v %v", f.head, f.data)
	}
}

// message is b in a BytesValue, with its prefix.
func message(b []byte) []byte {
	m, err := proto.Marshal(wrapperspb.Bytes(b))
	if err != nil {
		panic(err) // cannot be
	}
	return append(appendPrefix(nil, prefixSize+len(m)), m...)
}

// calls are a client's two calls, streams 1 and 3, on which a raw server has seen their headers.
type calls struct {
	c      *Client
	st     grpc.ClientStream
	unary  chan error
	stream chan error
}

// startCalls makes a client with two open calls and its raw server.
func startCalls(t testing.TB, a, b net.Conn, reads bool) (*calls, *raw) {
	t.Helper()
	p := newRaw(t, b, false, reads)
	k := &calls{c: dial(t, a), unary: make(chan error, 1), stream: make(chan error, 1)}
	k.st = open(t, within(t), k.c, "chat")
	if reads {
		p.next(http2.FrameHeaders, 1)
	}
	ctx := within(t)
	go func() { _, err := do(ctx, k.c, "wait", nil); k.unary <- err }() // ends with the connection; whoever wants to know receives
	if reads {
		p.next(http2.FrameHeaders, 3)
	}
	return k, p
}

// drain receives on the stream until it ends.
func (k *calls) drain() error {
	for {
		if err := k.st.RecvMsg(&wrapperspb.BytesValue{}); err != nil {
			return err
		}
	}
}
