//go:build unix

package rpc

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/toolhost/toolhost/proto/inherit"
)

// joinTiny returns both ends of an inherited connection whose sockets hold very little, and the sockets that each end reads from.
func joinTiny(t testing.TB) (a, b net.Conn) {
	t.Helper()
	var pairs [2][2]int
	for i := range pairs {
		p, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range p {
			_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, 4<<10) // as small as the system makes it
			_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10)
		}
		pairs[i] = p
	}
	var err error
	if a, err = inherit.Open(pairs[0][0], pairs[1][0]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if b, err = inherit.Open(pairs[1][1], pairs[0][1]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return a, b
}

// wide lets the client send as much as it likes.
func (p *raw) wide() {
	p.frame(http2.FrameSettings, 0, 0, oneSetting(4, maxWindow))
	p.frame(http2.FrameWindowUpdate, 0, 0, word(1<<30))
}

// filledUp sends on st until there is no more room, and returns how many messages.
func filledUp(t *testing.T, st *ClientStream) int {
	t.Helper()
	for n := range 10_000 {
		switch sent, err := st.TrySend(protoMessage{wrapperspb.Bytes(filled(3000 + n))}); {
		case err != nil:
			t.Fatal(err)
		case !sent:
			return n
		}
	}
	t.Fatal("there is room without end")
	return 0
}

// untilWide waits until c has seen what wide said, so that only the sockets are in the way.
func untilWide(c *Client) {
	c.c.mu.Lock()
	defer c.c.mu.Unlock()
	for c.c.window < 1<<30 {
		c.c.room.Wait()
	}
}

// TestTrySend_PartsFindTheirWay: what found no room is written before anything else, and no byte is lost or sent twice.
func TestTrySend_PartsFindTheirWay(t *testing.T) {
	a, b := joinTiny(t)
	k, p := startCalls(t, a, b, false)
	p.wide()
	untilWide(k.c)
	st := k.st.(*ClientStream)
	n := filledUp(t, st)
	k.c.c.mu.Lock()
	busy, left := k.c.c.busy, len(k.c.c.rest)
	k.c.c.mu.Unlock()
	if !busy && left == 0 {
		t.Error("nothing is left over")
	}
	sent := make(chan error, 1)
	go func() { sent <- st.SendMsg(wrapperspb.Bytes(filled(100_000))) }() // ends when it is read; joined below
	go p.read(false)                                                      // ends with the connection
	for i := range n {
		want := message(filled(3000 + i))
		if got := p.take(1, len(want)); !bytes.Equal(got, want) {
			t.Fatalf("message %d: %d bytes, want %d", i, len(got), len(want))
		}
	}
	if want := message(filled(100_000)); !bytes.Equal(p.take(1, len(want)), want) {
		t.Error("the last message is another one")
	}
	if err := await(t, sent, "end of the send"); err != nil {
		t.Error(err)
	}
	for {
		sent, err := st.TrySend(protoMessage{wrapperspb.Bytes(nil)})
		if err != nil {
			t.Fatal(err)
		}
		if sent { // again, as soon as the flusher has written the rest
			break
		}
	}
	k.c.Close()
	k.c.Wait()
	<-k.unary
	p.goodbye()
}

// TestBlocked: nothing that a call does waits for a peer that does not read, once the call, its context or the connection is over.
func TestBlocked(t *testing.T) {
	for name, end := range map[string]func(k *calls, p *raw){
		"the call is closed":        func(k *calls, _ *raw) { _ = k.st.(*ClientStream).Close() },
		"the connection is closed":  func(k *calls, _ *raw) { _ = k.c.Close() },
		"the peer is gone":          func(_ *calls, p *raw) { _ = p.nc.Close() },
		"the peer breaks the rules": func(_ *calls, p *raw) { p.data(101, false, nil) },
		"the peer ends the call":    func(_ *calls, p *raw) { p.headers(1, true, ":status", "200", "grpc-status", "0") },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := joinTiny(t)
			k, p := startCalls(t, a, b, false)
			p.wide()
			untilWide(k.c)
			filledUp(t, k.st.(*ClientStream))
			sent := make(chan error, 1)
			go func() { sent <- k.st.SendMsg(wrapperspb.Bytes(filled(1 << 20))) }() // ends with the call; joined below
			ctx, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
			defer cancel()
			_, err := do(ctx, k.c, "echo", filled(1<<20)) // another call, of which nothing is written
			wantCode(t, err, codes.DeadlineExceeded)
			other, err := k.c.NewStream(within(t), nil, "/test/chat")
			if err != nil {
				t.Fatal(err)
			}
			if err := other.CloseSend(); err != nil {
				t.Error(err)
			}
			select {
			case err := <-sent:
				t.Errorf("the send ended: %v", err)
			default:
			}
			end(k, p)
			if err := await(t, sent, "end of the send"); err != io.EOF {
				t.Errorf("the send: %v", err)
			}
			_ = k.c.Close()
			k.c.Wait()
			<-k.unary
		})
	}
}

// TestBlocked_Handlers: the same of a server's handlers when it is shut down.
func TestBlocked_Handlers(t *testing.T) {
	a, b := joinTiny(t)
	s := Serve(b, service(newImpl()))
	p := newRaw(t, a, true, false)
	p.wide()
	for id := uint32(1); id < 20; id += 2 {
		p.request(id, true, "pour")
	}
	ctx, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	s.Shutdown(ctx)
	returned := make(chan struct{})
	go func() { s.c.drain(); close(returned) }() // ends with the handlers; joined here
	await(t, returned, "end of the handlers")
}

// TestReadToTheEnd: when this end cannot write any more it goes on reading what the peer has sent before.
func TestReadToTheEnd(t *testing.T) {
	var pairs [2][2]int
	for i := range pairs {
		p, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		pairs[i] = p
	}
	a, err := inherit.Open(pairs[0][0], pairs[1][0])
	if err != nil {
		t.Fatal(err)
	}
	b, err := inherit.Open(pairs[1][1], pairs[0][1])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	k, p := startCalls(t, a, b, false)
	if err := syscall.Shutdown(pairs[1][0], syscall.SHUT_RDWR); err != nil { // its writes fail from now on
		t.Fatal(err)
	}
	if err := k.st.SendMsg(wrapperspb.Bytes(nil)); err != io.EOF {
		t.Errorf("a send: %v", err)
	}
	for range 3 * maxQueued / 17 { // what it owes now it cannot pay
		p.check(p.fr.WritePing(false, [8]byte{}))
	}
	p.headers(1, false, ":status", "200", "content-type", "application/grpc")
	p.data(1, false, message([]byte("the last words")))
	_ = b.Close()
	var m wrapperspb.BytesValue
	if err := k.st.RecvMsg(&m); err != nil || string(m.GetValue()) != "the last words" {
		t.Errorf("got %q, %v", m.GetValue(), err)
	}
	wantCode(t, k.st.RecvMsg(&m), codes.Unavailable, "ended")
	wantCode(t, await(t, k.unary, "end of the call"), codes.Unavailable)
}

// TestFloods: a peer that asks for ever more and does not read is cut off, and what waits for it is bounded.
func TestFloods(t *testing.T) {
	id := uint32(1)
	for name, ask := range map[string]func(p *raw){
		"pings":    func(p *raw) { p.frame(http2.FramePing, 0, 0, make([]byte, 8)) },
		"settings": func(p *raw) { p.frame(http2.FrameSettings, 0, 0, nil) },
		"streams":  func(p *raw) { p.request(id, false, "hang"); id += 2 },
		"rapid resets of calls that are answered": func(p *raw) {
			p.request(id, true, "nothing")
			p.frame(http2.FrameRSTStream, 0, id, word(8))
			id += 2
		},
		"data": func(p *raw) { // the room for it
			if id == 1 {
				p.request(id, false, "echo")
				p.frame(http2.FrameRSTStream, 0, id, word(8))
				id += 2
			}
			p.data(1, false, make([]byte, 250_000))
		},
	} {
		if name == "data" && testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			id = 1
			a, b := joinTiny(t)
			s := Serve(b, service(newImpl()))
			p := newRaw(t, a, true, false)
			var most int
			for n := 0; ; n++ {
				select {
				case <-s.Done():
				default:
					s.c.mu.Lock()
					most = max(most, len(s.c.control))
					s.c.mu.Unlock()
					if name == "data" && n > 2000 || strings.HasPrefix(name, "rapid") && n > 20_000 { // it may be patient, if nothing grows
						p.nc.Close()
					}
					ask(p)
					continue
				}
				break
			}
			if err := s.c.cause(); most > maxQueued+64<<10 ||
				!strings.HasPrefix(name, "data") && !strings.HasPrefix(name, "rapid") && !strings.Contains(err.Error(), "asks and does not read") {
				t.Errorf("it ended with %v, %d bytes were queued", err, most)
			}
			s.Shutdown(within(t))
		})
	}
}

// TestManyBlocked: every sender of a connection whose peer does not read ends with it.
func TestManyBlocked(t *testing.T) {
	a, b := joinTiny(t)
	k, p := startCalls(t, a, b, false)
	p.wide()
	untilWide(k.c)
	filledUp(t, k.st.(*ClientStream))
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			st, err := k.c.NewStream(context.Background(), nil, "/test/chat")
			if err != nil {
				return // it is over already
			}
			for {
				if err := st.SendMsg(wrapperspb.Bytes(filled(5000))); err != nil {
					break
				}
			}
			wantCode(t, st.RecvMsg(&wrapperspb.BytesValue{}), codes.Canceled)
		})
	}
	_ = k.c.Close()
	group.Wait()
	k.c.Wait()
	<-k.unary
}
