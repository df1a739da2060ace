//go:build unix

package inherit

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"
)

// join returns both ends of a connection within this process. The ends are those of a child that says what it can, or of one that does not.
func join(t *testing.T, oneWay bool) (host, child net.Conn) {
	t.Helper()
	ends, files, err := Offer()
	if err != nil {
		t.Fatal(err)
	}
	defer ends.Close()
	take := ends.TwoWay
	if oneWay {
		take = ends.OneWay
	}
	if host, err = take(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	if oneWay {
		in, _ := syscall.Dup(int(files[0].Fd()))
		out, _ := syscall.Dup(int(files[1].Fd()))
		child, err = Open(in, out)
	} else {
		child, err = net.FileConn(files[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Close() })
	for _, f := range files {
		_ = f.Close()
	}
	return host, child
}

// TestBothWaysCarryMoreThanTheyHold: what is larger than the sockets' buffers arrives, in both directions at the same time.
func TestBothWaysCarryMoreThanTheyHold(t *testing.T) {
	for _, oneWay := range []bool{true, false} {
		host, child := join(t, oneWay)
		there, back := make([]byte, 8<<20), make([]byte, 8<<20)
		_, _ = rand.Read(there)
		_, _ = rand.Read(back)
		failed := make(chan error, 2)
		send := func(c net.Conn, b []byte) { _, err := c.Write(b); failed <- err }
		go send(host, there) // ends when all is written; joined below
		go send(child, back) // the same
		got := make(chan []byte, 1)
		go func() { // ends when all has come; joined below
			b := make([]byte, len(back))
			_, _ = io.ReadFull(host, b)
			got <- b
		}()
		b := make([]byte, len(there))
		if _, err := io.ReadFull(child, b); err != nil || !bytes.Equal(b, there) {
			t.Errorf("one way %t: to the child: %v", oneWay, err)
		}
		if !bytes.Equal(<-got, back) {
			t.Errorf("one way %t: from the child", oneWay)
		}
		for range 2 {
			if err := <-failed; err != nil {
				t.Errorf("one way %t: %v", oneWay, err)
			}
		}
	}
}

// TestCloseEndsAWriteThatWaits, and a read; a second Close says so.
func TestCloseEndsAWriteThatWaits(t *testing.T) {
	host, _ := join(t, true)
	wrote, read := make(chan error, 1), make(chan error, 1)
	go func() { _, err := host.Write(make([]byte, 64<<20)); wrote <- err }() // nobody reads; ends with Close
	go func() { _, err := host.Read(make([]byte, 1)); read <- err }()        // nobody writes; ends with Close
	time.Sleep(50 * time.Millisecond)                                        // so that it waits, most likely; it holds also if it does not
	if err := host.Close(); err != nil {
		t.Error(err)
	}
	for name, ch := range map[string]chan error{"write": wrote, "read": read} {
		select {
		case err := <-ch:
			if err == nil {
				t.Errorf("%s: no error", name)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s waits on", name)
		}
	}
	if err := host.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a second Close: %v", err)
	}
	if _, err := host.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a write after it: %v", err)
	}
}

// TestTheEndOfThePeerIsSeen by a reader as the end of the file, and by a writer as an error that is no signal.
func TestTheEndOfThePeerIsSeen(t *testing.T) {
	host, child := join(t, true)
	if err := child.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("read: %v", err)
	}
	var err error
	for range 3 {
		if _, err = host.Write([]byte("x")); err != nil {
			break
		}
	}
	if !errors.Is(err, syscall.EPIPE) {
		t.Errorf("write: %v", err)
	}
}

// TestReadsHaveDeadlines: gRPC gives one to the other end's first words.
func TestReadsHaveDeadlines(t *testing.T) {
	host, _ := join(t, true)
	if err := host.SetDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	var late net.Error
	if _, err := host.Read(make([]byte, 1)); !errors.As(err, &late) || !late.Timeout() {
		t.Errorf("read: %v", err)
	}
	if _, err := host.Write([]byte("x")); err != nil {
		t.Errorf("write: %v", err)
	}
}

// TestOpenRefusesWhatIsNotOpen says which.
func TestOpenRefusesWhatIsNotOpen(t *testing.T) {
	if c, err := Open(1000, 1001); err == nil {
		_ = c.Close()
		t.Error("no error")
	}
}
