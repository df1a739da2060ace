package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// M4: 10,000 deltas to a plugin that takes none until the sender is blocked. Order and content are kept, the
// sender's memory is bounded, and deltas are joined, never dropped.
func TestM4_SlowPlugin(t *testing.T) {
	open, calls := accepting()
	limits := Limits{Window: 128 << 10}
	e := connect(t, Config{Limits: limits}, Config{Limits: limits}, open)
	c := mustOpen(t, e.host, &pb.Open{Streaming: true})
	p := <-calls
	var want bytes.Buffer
	sent := make(chan error, 1)
	passed := make(chan struct{})
	go func() { // ends with the last delta
		for i := range 10_000 {
			text := fmt.Sprintf("delta %06d é%s\n", i, strings.Repeat(".", 50))
			want.WriteString(text)
			if i == 5_000 {
				close(passed)
			}
			if err := c.Send(context.Background(), frameOf(0, &pb.InputDelta{Data: []byte(text)})); err != nil {
				sent <- err
				return
			}
		}
		sent <- c.Send(context.Background(), frameOf(0, &pb.Input{Input: []byte("{}")}))
	}()
	// What waits is at most one joined delta beside the window, and 5,000 deltas are 340 KB: the
	// sender must block before.
	waitBlocked(t, c, passed)
	if n := waitingBytes(c); n > wire.MaxDelta+limits.Window {
		t.Errorf("%d bytes wait in the sender", n)
	}
	var got bytes.Buffer
	frames := 0
	for {
		f, err := p.Recv(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if f.GetInput() != nil {
			break
		}
		frames++
		got.Write(f.GetInputDelta().GetData())
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Error("the text has changed on the way")
	}
	if frames >= 5_000 {
		t.Errorf("%d frames: deltas were not joined", frames)
	}
}

// waitBlocked returns when a Send of c waits for room, which must be before passed is closed. There
// is no signal for it, so it looks again and again.
func waitBlocked(t testing.TB, c *Call, passed <-chan struct{}) {
	t.Helper()
	ctx := within(t)
	for {
		c.s.mu.Lock()
		blocked := c.room != nil
		c.s.mu.Unlock()
		if blocked {
			return
		}
		select {
		case <-passed:
			t.Fatal("the sender was never blocked")
		case <-ctx.Done():
			t.Fatal(context.Cause(ctx))
		default:
			runtime.Gosched()
		}
	}
}

func waitingBytes(c *Call) int {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	n := 0
	for i := range c.lane.out.len() {
		n += c.lane.out.items[c.lane.out.head+i].size
	}
	return n
}

// A reader that takes nothing slows its own plugin call, by credit, and no other call.
func TestSlowReader(t *testing.T) {
	open, calls := accepting()
	e := connect(t, Config{}, Config{}, open)
	slow := mustOpen(t, e.host, &pb.Open{Run: true})
	p := <-calls
	wrote := make(chan error, 1)
	go func() { // ends with the outcome
		for i := range 200 {
			if err := p.Send(context.Background(), frameOf(0, &pb.Write{Data: fill(i, 8<<10)})); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- p.Send(context.Background(), outputFrame([]byte("done")))
	}()
	waitBlocked(t, p, nil)
	quick := mustOpen(t, e.host, &pb.Open{Run: true})
	go echo(<-calls, &pb.Open{Input: []byte("1")})
	mustRecv(t, quick, kOutput)
	for i := range 200 {
		data := mustRecv(t, slow, kWrite).GetWrite().GetData()
		if !bytes.Equal(data, fill(i, 8<<10)) {
			t.Fatalf("write %d has changed", i)
		}
	}
	mustRecv(t, slow, kOutput)
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	if v := e.host.Stats().Violations; v != 0 {
		t.Errorf("%d violations", v)
	}
}

// fill is n bytes that depend on i.
func fill(i, n int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("%08d", i)), n/8)
}

// A write larger than the window goes when everything before it was taken.
func TestWriteLargerThanWindow(t *testing.T) {
	open, calls := accepting()
	limits := Limits{Window: 1000}
	e := connect(t, Config{Limits: limits}, Config{Limits: limits}, open)
	c := mustOpen(t, e.host, &pb.Open{Run: true})
	p := <-calls
	sizes := []int{10, 300, 100_000, 1, 499, 5000, 100_000, 10}
	wrote := make(chan error, 1)
	go func() { // ends with the last write
		for i, n := range sizes {
			if err := p.Send(context.Background(), frameOf(0, &pb.Write{Data: bytes.Repeat([]byte{byte('a' + i)}, n)})); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	for i, n := range sizes {
		if data := mustRecv(t, c, kWrite).GetWrite().GetData(); len(data) != n || data[0] != byte('a'+i) {
			t.Fatalf("write %d: %d bytes", i, len(data))
		}
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
}

// A blocked Send ends with its context, with cancel, with the outcome, and with the session.
func TestBlockedSendReturns(t *testing.T) {
	limits := Limits{Window: 100}
	write := func(ctx context.Context, p *Call) <-chan error {
		done := make(chan error, 1)
		go func() { // ends when Send fails
			for {
				if err := p.Send(ctx, frameOf(0, &pb.Write{Data: []byte("0123456789")})); err != nil {
					done <- err
					return
				}
			}
		}()
		waitBlocked(t, p, nil)
		return done
	}
	cause := errors.New("enough")
	for _, tt := range []struct {
		name string
		end  func(e ends, c, p *Call, stop context.CancelCauseFunc)
		want error
	}{
		{"context", func(_ ends, _, _ *Call, stop context.CancelCauseFunc) { stop(cause) }, cause},
		{"cancel", func(_ ends, c, _ *Call, _ context.CancelCauseFunc) { c.Cancel(0, "") }, context.Canceled},
		{"close", func(_ ends, _, p *Call, _ context.CancelCauseFunc) { p.Close() }, ErrClosed},
		{"host ends", func(e ends, _, _ *Call, _ context.CancelCauseFunc) { e.host.Close() }, ErrEnded},
		{"plugin ends", func(e ends, _, _ *Call, _ context.CancelCauseFunc) { e.plugin.Close() }, ErrEnded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			open, calls := accepting()
			e := connect(t, Config{Limits: limits}, Config{Limits: limits}, open)
			c := mustOpen(t, e.host, &pb.Open{Run: true})
			p := <-calls
			ctx, stop := context.WithCancelCause(context.Background())
			defer stop(nil)
			done := write(ctx, p)
			tt.end(e, c, p, stop)
			if err := <-done; !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	t.Run("outcome", func(t *testing.T) {
		open, calls := accepting()
		e := connect(t, Config{Limits: limits}, Config{Limits: limits}, open)
		c := mustOpen(t, e.host, &pb.Open{Streaming: true})
		p := <-calls
		done := make(chan error, 1)
		go func() { done <- c.Send(context.Background(), frameOf(0, &pb.InputDelta{Data: fill(1, 1<<20)})) }() // ends with the outcome
		waitBlocked(t, c, nil)
		mustSend(t, p, &pb.Failed{})
		var state *StateError
		if err := <-done; !errors.As(err, &state) {
			t.Errorf("got %v", err)
		}
	})
}

// Progress: the latest wins, in the sender while it waits and in the receiver until it is taken.
func TestProgressLatestWins(t *testing.T) {
	open, calls := accepting()
	_, r := rawHost(t, Config{}, open)
	r.send(frameOf(1, &pb.Open{Run: true}))
	p := <-calls
	release := r.hold(p.s)
	mustSend(t, p, &pb.Write{Data: []byte("1")})
	for i := range 100 {
		mustSend(t, p, &pb.Progress{Progress: float64(i)})
	}
	mustSend(t, p, &pb.Write{Data: []byte("2")})
	release()
	r.expect(kLog)
	r.expect(kWrite)
	if got := r.expect(kProgress).GetProgress().GetProgress(); got != 99 {
		t.Errorf("progress %v was sent", got)
	}
	r.expect(kWrite)

	s, peer := rawPlugin(t, Config{})
	c := mustOpen(t, s, &pb.Open{Run: true})
	peer.expect(kOpen)
	for i := range 100 {
		peer.send(frameOf(c.ID(), &pb.Progress{Progress: float64(i)}))
	}
	peer.send(frameOf(c.ID(), &pb.Write{}), frameOf(c.ID(), &pb.Progress{Progress: 100}))
	peer.sync()
	if got := mustRecv(t, c, kProgress).GetProgress().GetProgress(); got != 100 {
		t.Errorf("progress %v was received", got)
	}
	mustRecv(t, c, kWrite)
}

// Small frames that are queued behind a 16 MiB body are sent while the body is under way, in both
// directions: at most two of its chunks go before each batch of them.
func TestHeadOfLine(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 16<<20)
	const small = 20
	check := func(t *testing.T, r *raw, big uint64) {
		chunks, others := 0, 0
		for last := false; !last; {
			batch, err := r.st.Recv()
			if err != nil {
				t.Fatal(err)
			}
			before := chunks
			for _, f := range batch {
				if f.GetCall() == big {
					chunks++
					last = f.GetChunk().GetLast()
					continue
				}
				others++
				if chunks > batchChunks {
					t.Errorf("small frame %d came after %d chunks", others, chunks)
				}
			}
			if n := chunks - before; n > batchChunks {
				t.Fatalf("%d chunks in a batch", n)
			}
		}
		if others != small+1 { // and the one that was held
			t.Errorf("%d small frames came before the end of the body", others)
		}
	}
	t.Run("host", func(t *testing.T) {
		s, r := rawPlugin(t, Config{})
		release := r.hold(s)
		big := mustOpen(t, s, &pb.Open{Input: body, Run: true})
		for range small {
			mustOpen(t, s, &pb.Open{Input: []byte("{}"), Run: true})
		}
		release()
		check(t, r, big.ID())
	})
	t.Run("plugin", func(t *testing.T) {
		open, calls := accepting()
		s, r := rawHost(t, Config{}, open)
		for id := range uint64(small + 1) {
			r.send(frameOf(id+1, &pb.Open{Run: true}))
		}
		big := <-calls
		release := r.hold(s)
		mustSend(t, big, &pb.Output{Output: body, Closed: true})
		for range small {
			mustSend(t, <-calls, &pb.Output{Closed: true})
		}
		release()
		check(t, r, big.ID())
	})
}

// While nothing else waits to be sent, the chunks of a large body fill their batches, which are never over MaxBatch.
func TestChunksFillTheBatch(t *testing.T) {
	const size = 4 << 20
	open, calls := accepting()
	s, r := rawHost(t, Config{}, open)
	r.send(frameOf(1, &pb.Open{Run: true}))
	c := <-calls
	release := r.hold(s)
	mustSend(t, c, &pb.Output{Output: make([]byte, size), Closed: true})
	release()
	batches := 0
	for last := false; !last; batches++ {
		batch, err := r.st.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if n := proto.Size(&pb.SessionResponse{Frames: batch}); n > MaxBatch {
			t.Errorf("a batch of %d bytes", n)
		}
		for _, f := range batch {
			last = last || f.GetChunk().GetLast()
		}
	}
	if most := size/(MaxBatch-1<<10) + 3; batches > most {
		t.Errorf("%d batches, want at most %d", batches, most)
	}
}

// A 16 MiB body in each direction at once arrives whole, beside small calls.
func TestLargeBodies(t *testing.T) {
	t.Run("grpc", func(t *testing.T) { testLargeBodies(t, dialRPC(t, Config{}, Config{}, echo)) })
	t.Run("direct", func(t *testing.T) { testLargeBodies(t, dialDirect(t, Config{}, Config{}, echo)) })
}

func testLargeBodies(t *testing.T, e ends) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<20)
	big := mustOpen(t, e.host, &pb.Open{Input: body, Run: true})
	for range 20 {
		if err := echoOnce(e.host, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	if f := mustRecv(t, big, kOutput); !bytes.Equal(f.GetOutput().GetOutput(), body) {
		t.Error("the body has changed on the way")
	}
}

// Log records of a call are sent before its outcome, which names the last of them (O4), and do not
// starve other calls.
func TestO4_LogBeforeOutcome(t *testing.T) {
	open, calls := accepting()
	s, r := rawHost(t, Config{}, open)
	r.send(frameOf(1, &pb.Open{Run: true}), frameOf(2, &pb.Open{Run: true}))
	loud, quiet := <-calls, <-calls
	release := r.hold(s)
	const records = 500
	for i := range records {
		s.Log(loud.ID(), &pb.Log{Message: fmt.Sprint(i) + strings.Repeat(".", 1000)})
	}
	mustSend(t, loud, &pb.Output{Closed: true})
	mustSend(t, quiet, &pb.Output{Closed: true})
	release()
	logs, quietAfter := 0, -1
	for {
		f := r.next()
		switch {
		case f.GetLog() != nil:
			logs++
			continue
		case f.GetCall() == quiet.ID():
			quietAfter = logs
			continue
		case f.GetCall() == loud.ID():
		default:
			t.Fatalf("got %v", f)
		}
		if want := uint64(records + 1); f.GetOutput().GetLastLog() != want || logs != records+1 {
			t.Errorf("outcome after %d records names record %d, want %d", logs, f.GetOutput().GetLastLog(), want)
		}
		break
	}
	if quietAfter < 0 || quietAfter > 100 {
		t.Errorf("the quiet call waited for %d records", quietAfter)
	}
}

// O3: the log queue is bounded; what does not fit is dropped and counted in the next record.
func TestO3_LogQueueIsBounded(t *testing.T) {
	s, r := rawHost(t, Config{}, func(*Call, *pb.Open) {})
	release := r.hold(s)
	accepted := 0
	for range wire.LogQueue + 50 {
		if s.Log(0, &pb.Log{Message: "m"}) != 0 {
			accepted++
		}
	}
	if accepted != wire.LogQueue {
		t.Errorf("%d records were accepted", accepted)
	}
	release()
	for range wire.LogQueue + 1 {
		r.expect(kLog)
	}
	if n := s.Log(0, &pb.Log{Message: "next"}); n != wire.LogQueue+2 {
		t.Errorf("record %d", n)
	}
	if rec := r.expect(kLog).GetLog(); rec.GetDropped() != 50 || rec.GetSeq() != wire.LogQueue+2 {
		t.Errorf("got %v", rec)
	}
	if n := s.Stats().LogsDropped; n != 50 {
		t.Errorf("%d dropped", n)
	}
}
