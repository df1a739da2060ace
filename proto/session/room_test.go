package session

import (
	"bytes"
	"errors"
	"runtime"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// wantFree checks that nothing of the host's room is taken, in the eyes of either end.
func wantFree(t *testing.T, e ends) {
	t.Helper()
	settle(t, e)
	e.host.mu.Lock()
	defer e.host.mu.Unlock()
	e.plugin.mu.Lock()
	defer e.plugin.mu.Unlock()
	h, p := &e.host.room, &e.plugin.room
	if h.held != 0 || h.freed != p.used || len(p.parked) > 0 {
		t.Errorf("the host holds %d bytes and has to tell of %d, of which the plugin knows %d; %d calls wait", h.held, h.freed, p.used, len(p.parked))
	}
}

// heldAtMost checks that the host never has more than this.
func heldAtMost(t *testing.T, s *Session, most int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.room.held > most {
		t.Errorf("%d bytes are held, of at most %d", s.room.held, most)
	}
}

// H3: what all calls together have under way is bounded: a peer that begins a large frame on each of many calls finds room for some,
// and the others are told; nothing of their frames is stored. Room that is given back is there for the next one.
func TestH3_HeldIsOfAllCalls(t *testing.T) {
	const size, calls = 1 << 20, 64
	s, r := rawPlugin(t, Config{Limits: Limits{Message: size}, Held: 4 * size})
	var open []*Call
	for range calls {
		open = append(open, mustOpen(t, s, &pb.Open{Run: true}))
		r.expect(kOpen)
	}
	before := heap()
	hoard := func(c *Call) {
		for at := 0; at < size-1000; at += 16 << 10 {
			piece := &pb.Chunk{Data: make([]byte, 16<<10-1)}
			if at == 0 {
				piece.Size = size
			}
			r.send(&pb.Frame{Call: c.ID(), Body: &pb.Frame_Chunk{Chunk: piece}})
		}
	}
	for _, c := range open {
		hoard(c)
	}
	r.sync()
	if used := heap() - before; used > 5*size {
		t.Errorf("%d KiB are held", used>>10)
	}
	heldAtMost(t, s, 4*size)
	for i, c := range open[4:] {
		_, err := c.Recv(within(t))
		full, ok := errors.AsType[*FullError](err)
		if !ok || *full != (FullError{Limit: 4 * size, Held: 4 * size, Size: size}) {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	for _, c := range open {
		c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
	}
	c := mustOpen(t, s, &pb.Open{Run: true})
	out := sized(t, c.ID(), size, func(data []byte) any { return &pb.Output{Output: data} })
	r.cut(frameOf(c.ID(), out), 16<<10, size)
	mustRecv(t, c, kOutput)
	heldAtMost(t, s, size)
}

// M4: a peer that keeps to the room waits with what has none, call for call, and nothing is lost: not what is larger than half
// of the room, and not of calls that are cancelled meanwhile. Small frames and other calls never wait.
func TestM4_LargeFramesWaitForRoom(t *testing.T) {
	for _, size := range []int{17 << 10, 100_000, 700_000} {
		const held, calls = 1 << 20, 60
		open, opened := accepting()
		e := connect(t, Config{Held: held}, Config{}, open)
		var hosts, plugins []*Call
		for range calls {
			hosts = append(hosts, mustOpen(t, e.host, &pb.Open{Run: true}))
			plugins = append(plugins, <-opened)
		}
		for _, p := range plugins {
			mustSend(t, p, &pb.Write{Data: make([]byte, size)}, &pb.Progress{Progress: 1}, &pb.Output{Output: make([]byte, size), Closed: true})
		}
		settle(t, e)
		heldAtMost(t, e.host, held)
		small := mustOpen(t, e.host, &pb.Open{Run: true})
		mustSend(t, <-opened, &pb.Output{Output: []byte("1"), Closed: true})
		mustRecv(t, small, kOutput)
		var readers sync.WaitGroup
		for i, c := range hosts {
			if i%3 == 1 {
				c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
				plugins[i].Close()
				continue
			}
			readers.Go(func() { // ends with the call
				for _, k := range []kind{kWrite, kProgress, kOutput} {
					if f, err := c.Recv(within(t)); err != nil || kindOf(f) != k {
						t.Errorf("call %d: %v, %v for %v", i, kindOf(f), err, k)
						return
					}
					heldAtMost(t, e.host, held)
				}
				c.Close()
				c.Release()
			})
		}
		readers.Wait()
		wantFree(t, e)
		if v := e.host.Stats().Violations + e.plugin.Stats().Violations; v != 0 {
			t.Errorf("%d violations", v)
		}
	}
}

// The frame that was received last counts until its owner is through with it, also after Close.
func TestHeldUntilReleased(t *testing.T) {
	open, opened := accepting()
	e := connect(t, Config{Held: 100_000}, Config{}, open)
	c := mustOpen(t, e.host, &pb.Open{Run: true})
	mustSend(t, <-opened, &pb.Output{Output: make([]byte, 50_000), Closed: true})
	mustRecv(t, c, kOutput)
	c.Close()
	settle(t, e)
	e.host.mu.Lock()
	held := e.host.room.held
	e.host.mu.Unlock()
	if held != 50_000 {
		t.Errorf("%d bytes are held after Close", held)
	}
	c.Release()
	c.Release()
	wantFree(t, e)
}

// A frame that begins on a call that is over took room of the peer's, which it gets back.
func TestRoomOfStrayFrames(t *testing.T) {
	s, r := rawPlugin(t, Config{Held: 1000})
	c := mustOpen(t, s, &pb.Open{Run: true})
	r.expect(kOpen)
	c.Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
	r.expect(kCancel)
	r.send(&pb.Frame{Call: c.ID(), Body: &pb.Frame_Chunk{Chunk: &pb.Chunk{Size: 400, Data: make([]byte, 100)}}})
	if f := r.expect(kWindow); f.GetCall() != 0 || f.GetWindow().GetBytes() != 400 {
		t.Errorf("got %v", f)
	}
}

// Room that nobody took is not given.
func TestRoomThatWasNotTaken(t *testing.T) {
	open, _ := accepting()
	s, r := rawHost(t, Config{}, open)
	r.send(frameOf(0, &pb.Window{Bytes: 1}))
	r.sync()
	if st := s.Stats(); st.Violations != 1 {
		t.Errorf("%+v", st)
	}
}

// H3: what is small on the wire is small in memory: a frame is refused that consists of thousands of parts, in chunks before it is
// decoded, and what is too large to be whole leaves nothing that the limits do not see.
func TestH3_PartsOfAFrame(t *testing.T) {
	views := func(n int) []byte { // an Output with n empty views
		derived := bytes.Repeat([]byte{3<<3 | byte(protowire.BytesType), 0}, n)
		return protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), derived)
	}
	for _, tt := range []struct {
		views int
		cut   bool
		taken bool
	}{{maxViews, false, true}, {maxViews, true, true}, {maxViews + 1, false, false}, {maxViews + 1, true, false}, {60_000, false, false}, {4 << 20, true, false}} {
		s, r := rawPlugin(t, Config{})
		c := mustOpen(t, s, &pb.Open{Run: true})
		r.expect(kOpen)
		f := frameOf(c.ID(), &pb.Output{})
		f.GetOutput().ProtoReflect().SetUnknown(views(tt.views)) // encoded as what they are
		if tt.cut {
			chunks := cutFrames(f, 120<<10)
			before := allocated()
			r.send(chunks...)
			r.sync()
			if got := int(allocated() - before); got > 20*(2*tt.views+1<<20) { // of which the test itself is much
				t.Errorf("%d views: %d MiB were allocated", tt.views, got>>20)
			}
		} else {
			r.send(f)
		}
		got, err := c.Recv(within(t))
		if state := new(StateError); tt.taken != (err == nil) || !tt.taken && !errors.As(err, &state) {
			t.Errorf("%d views, cut %v: %v, %v", tt.views, tt.cut, kindOf(got), err)
		}
	}
}

func TestH3_UnknownFieldsOfWholeFramesAreNotKept(t *testing.T) {
	extra := protowire.AppendBytes(protowire.AppendTag(nil, 5000, protowire.BytesType), make([]byte, 50_000))
	f := frameOf(1, &pb.Output{Output: []byte("1"), Derived: &pb.Derived{Views: []*pb.DerivedView{{}}}})
	for _, m := range []proto.Message{f, f.GetOutput(), f.GetOutput().GetDerived(), f.GetOutput().GetDerived().GetViews()[0]} {
		m.ProtoReflect().SetUnknown(extra)
	}
	data, err := proto.Marshal(&pb.SessionRequest{Frames: []*pb.Frame{f}})
	if err != nil {
		t.Fatal(err)
	}
	frames, err := decodeBatch(data, sharedChunks)
	if err != nil || len(frames) != 1 || proto.Size(frames[0]) > 100 {
		t.Errorf("%d bytes, %v", proto.Size(frames[0]), err)
	}
}

// allocated is how much was allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
