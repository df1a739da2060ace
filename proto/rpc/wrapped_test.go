package rpc

import (
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// turned is a socket that turns the bits of all that passes it.
type turned struct{ *net.TCPConn }

func (c turned) Read(b []byte) (int, error) {
	n, err := c.TCPConn.Read(b)
	turn(b[:n])
	return n, err
}

func (c turned) Write(b []byte) (int, error) {
	b = append([]byte(nil), b...)
	turn(b)
	return c.TCPConn.Write(b)
}

func turn(b []byte) {
	for i := range b {
		b[i] = ^b[i]
	}
}

// TestTryWrite_NotPastAWrapper: what an embedder has put around a socket, such as a cipher, sees all that is written.
func TestTryWrite_NotPastAWrapper(t *testing.T) {
	a, b := join(t)
	ua, okA := a.(*net.TCPConn)
	ub, okB := b.(*net.TCPConn)
	if !okA || !okB {
		t.Fatalf("%T is no TCP socket", a)
	}
	serve(t, turned{ub}, newImpl())
	c := dial(t, turned{ua})
	got, err := do(within(t), c, "echo", []byte("hello"))
	if err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

// broken is a connection that cannot be written to any more once it is told so, and can be read for ever.
type broken struct {
	net.Conn
	told atomic.Bool
}

func (b *broken) Write(p []byte) (int, error) {
	if b.told.Load() {
		return 0, syscall.EPIPE
	}
	return b.Conn.Write(p)
}

// A peer that lives and does not listen loses the connection, also if it never stops to talk.
func TestWritesThatFailEndTheConnection(t *testing.T) {
	t.Parallel()
	a, b := join(t)
	nc := &broken{Conn: a}
	serve(t, b, newImpl())
	c := dial(t, nc)
	st := open(t, within(t), c, "hang")
	nc.told.Store(true)
	if _, err := do(within(t), c, "echo", []byte("x")); err == nil {
		t.Error("an answer to what was not sent")
	} else {
		wantCode(t, err, codes.Unavailable, "broken pipe")
	}
	wantCode(t, st.RecvMsg(&wrapperspb.BytesValue{}), codes.Unavailable, "broken pipe")
}
