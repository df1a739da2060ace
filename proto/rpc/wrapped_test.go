package rpc

import (
	"net"
	"testing"
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
