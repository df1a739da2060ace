package rpc

import (
	"bytes"
	"context"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// scriptConn is a connection whose peer says first, and then, once it may, the rest. It takes what is written, or waits with it.
type scriptConn struct {
	net.Conn // of what is not used
	first    *bytes.Reader
	rest     *bytes.Reader
	may      chan struct{}
	deaf     bool
	once     sync.Once
	closed   chan struct{}
}

func script(first, rest []byte, deaf bool) *scriptConn {
	return &scriptConn{first: bytes.NewReader(first), rest: bytes.NewReader(rest), may: make(chan struct{}), deaf: deaf, closed: make(chan struct{})}
}

func (c *scriptConn) Read(b []byte) (int, error) {
	if n, _ := c.first.Read(b); n > 0 {
		return n, nil
	}
	select {
	case <-c.may:
		return c.rest.Read(b)
	case <-c.closed:
		return 0, net.ErrClosed
	}
}

func (c *scriptConn) Write(b []byte) (int, error) {
	if c.deaf {
		<-c.closed
		return 0, net.ErrClosed
	}
	return len(b), nil
}

func (c *scriptConn) TryWrite(b []byte) (int, error) {
	if c.deaf {
		return 0, nil
	}
	return len(b) - len(b)/3, nil // never all of what is large
}

func (c *scriptConn) Close() error                     { c.once.Do(func() { close(c.closed) }); return nil }
func (c *scriptConn) SetReadDeadline(time.Time) error  { return nil }
func (c *scriptConn) SetWriteDeadline(time.Time) error { return nil }

// record is what a raw peer would write.
func record(t testing.TB, do func(p *raw)) []byte {
	var b bytes.Buffer
	p := &raw{t: t, nc: bufferConn{&scriptConn{}, &b}, fr: http2.NewFramer(&b, nil)}
	p.fr.AllowIllegalWrites = true
	do(p)
	return b.Bytes()
}

type bufferConn struct {
	*scriptConn
	b *bytes.Buffer
}

func (c bufferConn) Write(b []byte) (int, error) { return c.b.Write(b) }

var greeting = appendSettings(nil)

// allocated runs f and fails if it does not end, or takes more memory than n bytes of input may cost.
func allocated(t *testing.T, n int, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan struct{})
	go func() { defer close(done); f() }() // ends, or the test fails
	select {
	case <-done:
	case <-time.After(time.Minute):
		panic("it hangs") // with the stacks
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20+200*uint64(n) {
		t.Errorf("%d bytes of input took %d of memory", n, used)
	}
}

// FuzzClient: whatever a server says after its greeting, each call ends with a status or in order, and nothing is left.
func FuzzClient(f *testing.F) {
	begin := func(p *raw) { p.headers(1, false, ":status", "200", "content-type", "application/grpc") }
	for _, b := range breaches {
		f.Add(record(f, func(p *raw) { begin(p); b.do(p) }), false)
	}
	f.Add(record(f, func(p *raw) {
		for id := uint32(1); id < 6; id += 2 {
			p.headers(id, false, ":status", "200", "content-type", "application/grpc")
			p.data(id, false, append(message([]byte("hello")), message(nil)...))
			p.headers(id, true, "grpc-status", "0", "grpc-message", "%E2")
		}
	}), true)
	f.Fuzz(func(t *testing.T, b []byte, deaf bool) {
		allocated(t, len(b), func() {
			nc := script(greeting, b, deaf)
			c, err := Dial(context.Background(), nc, limit)
			if err != nil {
				t.Error(err)
				return
			}
			st, err := c.NewStream(context.Background(), nil, "/test/chat")
			if err != nil {
				t.Error(err)
				return
			}
			fed, err := c.NewStream(context.Background(), nil, "/test/chat")
			if err != nil {
				t.Error(err)
				return
			}
			ended := make(chan error, 1)
			fed.(*ClientStream).Feed(func(msg []byte) {
				_, _ = fed.(*ClientStream).TrySend(badMessage{len(msg), func(b []byte) ([]byte, error) { return append(b, msg...), nil }})
			},
				func(err error) { ended <- err })
			var group sync.WaitGroup
			group.Go(func() { _, _ = do(context.Background(), c, "echo", filled(100_000)) })
			group.Go(func() {
				for st.(*ClientStream).Send(badMessage{50_000, func(b []byte) ([]byte, error) { return append(b, make([]byte, 50_000)...), nil }}) == nil {
				}
			})
			close(nc.may)
			for err == nil {
				_, err = st.(*ClientStream).next()
			}
			for _, err := range []error{err, <-ended} {
				if _, ok := status.FromError(err); err != io.EOF && !ok || status.Code(err) == codes.OK {
					t.Errorf("it ended with %v", err)
				}
			}
			group.Wait()
			_ = c.Close()
			c.Wait()
		})
	})
}

// FuzzServer: the same of whatever a client says after its greeting; handlers end.
func FuzzServer(f *testing.F) {
	for _, b := range breaches {
		f.Add(record(f, func(p *raw) {
			p.request(1, false, "hang")
			p.request(3, false, "chat")
			p.data(3, true, message(nil))
			b.do(p)
		}), false)
	}
	for _, method := range []string{"echo", "wait", "chat", "deaf", "hang", "pour", "nothing"} {
		f.Add(record(f, func(p *raw) {
			p.request(1, false, method, "grpc-timeout", "1S")
			p.data(1, true, append(message([]byte("fail ü")), message(nil)...))
			p.frame(http2.FrameWindowUpdate, 0, 1, word(100))
			p.frame(http2.FrameRSTStream, 0, 1, word(8))
		}), method == "pour")
	}
	f.Fuzz(func(t *testing.T, b []byte, deaf bool) {
		allocated(t, len(b), func() {
			nc := script(append([]byte(preface), greeting...), b, deaf)
			close(nc.may)
			s := Serve(nc, service(newImpl()))
			<-s.Done()
			s.Shutdown(context.Background()) // which waits for the handlers
		})
	})
}
