package session

import (
	"context"
	"encoding/binary"
	"errors"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// batches cuts fuzz data into encoded batches, each after two bytes of its length.
func batches(data []byte) [][]byte {
	var all [][]byte
	for len(data) > 2 {
		n := min(int(binary.LittleEndian.Uint16(data)), len(data)-2)
		all = append(all, data[2:2+n])
		data = data[2+n:]
	}
	return all
}

// packed is the reverse of batches.
func packed(all ...[]*pb.Frame) []byte {
	var data []byte
	for _, frames := range all {
		enc, err := proto.Marshal(&pb.SessionRequest{Frames: frames})
		if err != nil {
			return nil
		}
		data = binary.LittleEndian.AppendUint16(data, uint16(len(enc)))
		data = append(data, enc...)
	}
	return data
}

// cutFrames are the chunks of f, n bytes each.
func cutFrames(f *pb.Frame, n int) []*pb.Frame {
	data, err := proto.Marshal(f)
	if err != nil {
		return nil
	}
	var chunks []*pb.Frame
	for at := 0; at < len(data); at += n {
		piece := &pb.Chunk{Data: data[at:min(at+n, len(data))], Last: at+n >= len(data)}
		if at == 0 {
			piece.Size = uint64(len(data))
		}
		chunks = append(chunks, &pb.Frame{Call: f.Call, Body: &pb.Frame_Chunk{Chunk: piece}})
	}
	return chunks
}

// feed plays data as the peer of a session: everything that the session sends is read and
// dropped, and at the end the stream is closed.
func feed(t *testing.T, s *Session, st *memStream, data []byte) {
	var group sync.WaitGroup
	group.Go(func() { // ends with the link
		for {
			select {
			case <-st.in.batches:
			case <-st.in.closed:
				return
			}
		}
	})
	for _, b := range batches(data) {
		select {
		case st.out.batches <- b:
		case <-s.Done(): // a batch that cannot be decoded has ended it
		case <-within(t).Done():
			t.Error("the reader is stuck")
		}
	}
	st.out.close()
	t.Cleanup(func() { _ = st.Close(); group.Wait() })
}

// FuzzHost plays arbitrary batches of a plugin to a host with calls in several states: no panic, no
// deadlock, never two outcomes.
func FuzzHost(f *testing.F) {
	f.Add(packed([]*pb.Frame{frameOf(2, &pb.Output{Output: []byte("1"), Closed: true}), frameOf(2, &pb.Failed{})}))
	f.Add(packed(cutFrames(frameOf(3, &pb.Output{Output: make([]byte, 100)}), 10), []*pb.Frame{frameOf(3, &pb.Closed{})}))
	f.Add(packed([]*pb.Frame{frameOf(4, &pb.Asked{}), frameOf(2, &pb.Question{Id: 1}), frameOf(2, &pb.Write{Data: []byte("1")})}))
	f.Add(packed(cutFrames(frameOf(0, &pb.Log{Message: "m"}), 3), []*pb.Frame{frameOf(1, &pb.Window{Bytes: 10})}))
	f.Add(packed([]*pb.Frame{frameOf(5, &pb.Output{}), frameOf(5, &pb.Derived{}), frameOf(1, &pb.Span{Name: "s"})}))
	f.Add(packed([]*pb.Frame{frameOf(1, &pb.DeltaView{Audience: 1, Text: []byte("x")}), frameOf(7, &pb.Asked{}), frameOf(1, &pb.DeltaView{Audience: -1})}))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := memPair()
		s := New(a, Config{Side: Host, Limits: Limits{Message: 1 << 20, Window: 500}, Held: fuzzHeld, OnLog: func(uint64, *pb.Log) {}})
		s.mu.Lock() // in place of a hello, which the peer would have to answer
		s.phase = phServing
		s.mu.Unlock()
		opens := []*pb.Open{
			{Streaming: true, Views: bothViews()}, {Run: true}, {Run: true, Confirm: true}, {Input: []byte("1"), Ask: true},
			{Run: true, Confirm: true}, {Input: []byte("1"), Views: bothViews()}, {Run: true},
		}
		var calls []*Call
		for _, o := range opens {
			calls = append(calls, mustOpen(t, s, o))
		}
		calls[len(calls)-1].Cancel(pb.CancelReason_CANCEL_REASON_CALLER, "")
		_ = calls[0].Send(done, deltaFrame([]byte("delta")))
		feed(t, s, b, data)
		s.Wait()
		if held := s.room.held; held < 0 || held > fuzzHeld {
			t.Errorf("%d bytes are held", held)
		}
		for _, c := range calls {
			outcomes(t, c)
		}
		s.Close()
	})
}

const fuzzHeld = 3000

// outcomes receives all of a call whose session has ended.
func outcomes(t *testing.T, c *Call) {
	n := 0
	for {
		f, err := c.Recv(within(t))
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("call %d: stuck", c.ID())
			}
			break
		}
		if kindOf(f).outcome() {
			n++
		}
	}
	if n > 1 {
		t.Errorf("call %d: %d outcomes", c.ID(), n)
	}
}

// FuzzPlugin plays arbitrary batches of a host to a plugin that answers every call twice: no panic, no
// deadlock, no call opened twice, never two outcomes sent.
func FuzzPlugin(f *testing.F) {
	hello := frameOf(0, &pb.Frame_Hello{Hello: &pb.Hello{Limits: &pb.Limits{Window: 300}}})
	f.Add(packed([]*pb.Frame{hello, frameOf(1, &pb.Open{Run: true}), frameOf(1, &pb.Open{Run: true}), frameOf(1, &pb.Cancel{})}))
	f.Add(packed([]*pb.Frame{hello}, cutFrames(frameOf(7, &pb.Open{Input: make([]byte, 100)}), 9), []*pb.Frame{frameOf(7, &pb.Run{})}))
	f.Add(packed([]*pb.Frame{hello, frameOf(1, &pb.Open{Streaming: true}), frameOf(1, &pb.InputDelta{Data: []byte("é")}), frameOf(1, &pb.Input{Run: true})}))
	f.Add(packed([]*pb.Frame{hello, frameOf(2, &pb.Open{Run: true, Confirm: true}), frameOf(2, &pb.Derive{}), frameOf(2, &pb.Accepted{})}))
	f.Add(packed([]*pb.Frame{hello, frameOf(3, &pb.Open{Streaming: true, Views: []pb.Audience{1, 2, 7}, Resume: &pb.Resume{}}), frameOf(3, &pb.InputDelta{Data: []byte("1")}), frameOf(3, &pb.Input{})}))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, b := memPair()
		var calls []*Call
		opened := map[uint64]bool{}
		s := New(a, Config{
			Side: Plugin, Limits: Limits{Message: 1 << 20}, OnHello: acceptHello, OnDrain: func(time.Duration) {},
			OnOpen: func(c *Call, _ *pb.Open) {
				if opened[c.ID()] {
					t.Errorf("call %d was opened twice", c.ID())
				}
				opened[c.ID()] = true
				calls = append(calls, c)
				sent := 0
				_ = c.Send(done, frameOf(0, &pb.DeltaView{Audience: 1}))
				_ = c.Send(done, frameOf(0, &pb.Asked{}))
				for _, body := range []any{&pb.Output{}, &pb.Failed{}, &pb.Suspended{}, &pb.Output{Closed: true}} {
					if c.Send(done, frameOf(0, body)) == nil {
						sent++
					}
				}
				if sent > 1 {
					t.Errorf("call %d: %d outcomes were sent", c.ID(), sent)
				}
			},
		})
		feed(t, s, b, data)
		s.Wait()
		for _, c := range calls {
			outcomes(t, c)
			if c.Context().Err() == nil {
				t.Errorf("call %d: its context lives after the end", c.ID())
			}
		}
		s.Close()
	})
}
