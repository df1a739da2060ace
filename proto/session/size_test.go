package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// sized returns a body whose frame on call id is exactly size bytes.
func sized(t *testing.T, id uint64, size int, body func(data []byte) any) any {
	t.Helper()
	n := size
	for range 5 {
		b := body(bytes.Repeat([]byte("x"), n))
		got := proto.Size(frameOf(id, b))
		if got == size {
			return b
		}
		n += size - got
	}
	t.Fatalf("no frame of %d bytes", size)
	return nil
}

// M1: one limit, exact, in both directions, with a typed error that names limit, size and direction;
// the call goes on.
func TestM1_Limit(t *testing.T) {
	const limit = 100_000
	output := func(data []byte) any { return &pb.Output{Output: data, Closed: true} }
	input := func(data []byte) any { return &pb.Input{Input: data} }
	for _, size := range []int{limit - 1, limit, limit + 1} {
		t.Run(fmt.Sprint(size-limit), func(t *testing.T) {
			open, calls := accepting()
			// The smaller limit of both ends holds.
			e := connect(t, Config{Limits: Limits{Message: limit}}, Config{Limits: Limits{Message: 2 * limit}}, open)
			c := mustOpen(t, e.host, &pb.Open{})
			p := <-calls
			checkLimit(t, c, p, sized(t, 1, size, input), size, limit)
			if size <= limit {
				c.Close()
				c = mustOpen(t, e.host, &pb.Open{Run: true})
				p = <-calls
				checkLimit(t, p, c, sized(t, 2, size, output), size, limit)
				return
			}
			mustSend(t, c, &pb.Input{Run: true})
			mustRecv(t, p, kInput)
			checkLimit(t, p, c, sized(t, 1, size, output), size, limit)
			mustSend(t, p, &pb.Failed{Kind: pb.FailureKind_FAILURE_KIND_OUTPUT, Closed: true})
			mustRecv(t, c, kFailed)
		})
	}
	t.Run("open", func(t *testing.T) {
		open, _ := accepting()
		e := connect(t, Config{Limits: Limits{Message: limit}}, Config{}, open)
		var tooLarge *TooLargeError
		_, err := e.host.Open(&pb.Open{Input: make([]byte, limit)})
		if !errors.As(err, &tooLarge) || e.host.Active() != 0 {
			t.Errorf("got %v", err)
		}
	})
}

// A question may hold what a model is asked, so it is as large as 4 MiB, exactly, and never larger than a message;
// its parameters count.
func TestM1_LimitOfAQuestion(t *testing.T) {
	question := func(data []byte) any {
		return &pb.Question{Id: 1, Kind: pb.QuestionKind_QUESTION_KIND_SAMPLING, Params: data}
	}
	for _, message := range []int{0, 100_000} {
		open, calls := accepting()
		e := connect(t, Config{Limits: Limits{Message: message}}, Config{}, open)
		c := mustOpen(t, e.host, &pb.Open{Run: true})
		p := <-calls
		limit := 4 << 20
		if message > 0 {
			limit = message
		}
		for _, size := range []int{limit, limit + 1} {
			checkLimit(t, p, c, sized(t, 1, size, question), size, limit)
		}
		mustSend(t, c, &pb.Answer{Id: 1})
		mustRecv(t, p, kAnswer)
		mustSend(t, p, &pb.Output{Closed: true})
		mustRecv(t, c, kOutput)
	}
}

// checkLimit sends body from a to b, which must work exactly up to limit.
func checkLimit(t *testing.T, a, b *Call, body any, size, limit int) {
	t.Helper()
	err := a.Send(within(t), frameOf(0, body))
	if size <= limit {
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		f, err := b.Recv(within(t))
		if err != nil || proto.Size(f) != size {
			t.Fatalf("received %d bytes, %v", proto.Size(f), err)
		}
		return
	}
	var tooLarge *TooLargeError
	if !errors.As(err, &tooLarge) || *tooLarge != (TooLargeError{Limit: limit, Size: size, Direction: Sending}) {
		t.Fatalf("%d bytes: %v", size, err)
	}
}

// M1, M2, H3: a peer that announces more than the limit is refused before anything is stored, and memory
// grows with what arrives, not with what is announced.
func TestH3_PeerAnnouncesTooMuch(t *testing.T) {
	const limit = 8 << 20
	for _, tt := range []struct {
		name string
		size uint64
		bad  bool
	}{{"limit", limit, false}, {"limit+1", limit + 1, true}, {"1 GiB", 1 << 30, true}, {"huge", 1<<64 - 1, true}} {
		t.Run(tt.name, func(t *testing.T) {
			s, r := rawPlugin(t, Config{Limits: Limits{Message: limit}})
			c := mustOpen(t, s, &pb.Open{Run: true})
			r.expect(kOpen)
			before := heap()
			chunk := &pb.Chunk{Data: make([]byte, 1000), Size: tt.size}
			r.send(&pb.Frame{Call: c.ID(), Body: &pb.Frame_Chunk{Chunk: chunk}})
			r.sync()
			if used := heap() - before; used > 1<<20 {
				t.Errorf("%d bytes for a chunk of 1000", used)
			}
			if !tt.bad {
				return
			}
			var tooLarge *TooLargeError
			_, err := c.Recv(within(t))
			if !errors.As(err, &tooLarge) || tooLarge.Limit != limit || tooLarge.Direction != Receiving {
				t.Errorf("got %v", err)
			}
			// The rest of the frame, 1 GiB of chunks if the peer likes, is skipped.
			for range 1000 {
				r.send(&pb.Frame{Call: c.ID(), Body: &pb.Frame_Chunk{Chunk: &pb.Chunk{Data: make([]byte, 16<<10)}}})
			}
			r.sync()
			if used := heap() - before; used > 1<<20 {
				t.Errorf("%d bytes after 16 MB of a refused frame", used)
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The memory for a frame follows what has arrived, however small its chunks are (H3).
func TestH3_JoinerGrowsWithWhatArrives(t *testing.T) {
	const size = 1 << 20
	for _, step := range []int{1, 1000, 16 << 10, 100_000} {
		j, joins := joiner{}, 0
		for at := 0; at < size; at += step {
			n := min(step, size-at)
			piece := &pb.Chunk{Data: bytes.Repeat([]byte{byte(at / step)}, n), Last: at+n == size}
			if at == 0 {
				piece.Size = size
			}
			to, err := j.add(piece, size)
			if err != nil {
				t.Fatal(err)
			}
			to.add(piece.Data)
			if have, held := at+n, cap(to.data); held > max(4<<10, 4*have) {
				t.Fatalf("%d bytes allocated for %d in chunks of %d", held, have, step)
			}
			if piece.Last {
				joins++
				for i, b := range to.data {
					if b != byte(i/step) {
						t.Fatalf("byte %d is wrong in chunks of %d", i, step)
					}
				}
			}
		}
		if joins != 1 || j.active {
			t.Errorf("joined %d times in chunks of %d", joins, step)
		}
	}
}

// Frames that arrive at once do not get into each other's memory, nor into that of frames that arrived before.
func TestJoinersAreApart(t *testing.T) {
	var sizes, chunks = []int{20_000, 70_000, 300_000, 1_100_000, 5 << 20}, []int{999, 16 << 10, 120_000}
	type frame struct {
		to   *body
		fill byte
	}
	var whole []frame
	for round := range 3 {
		var under []frame
		for i, size := range sizes {
			under = append(under, frame{&body{size: size}, byte(1 + round*len(sizes) + i)})
		}
		for n := 0; len(under) > 0; n = (n + 1) % max(1, len(under)) {
			f := under[n%len(under)]
			left := f.to.size - len(f.to.data)
			f.to.add(bytes.Repeat([]byte{f.fill}, min(left, chunks[round])))
			if len(f.to.data) == f.to.size {
				whole = append(whole, f)
				under = slices.DeleteFunc(under, func(u frame) bool { return u == f })
			}
		}
	}
	for _, f := range whole {
		if n := bytes.Count(f.to.data, []byte{f.fill}); n != f.to.size {
			t.Errorf("%d of %d bytes are the frame's", n, f.to.size)
		}
	}
}

// A large output is cut without a copy of it, and arrives with all that belongs to it.
func TestLargeOutputInPieces(t *testing.T) {
	for _, size := range []int{largeOutput, largeOutput + 1, 1 << 20} {
		want := &pb.Output{Output: bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size], LastLog: 0, Closed: true,
			Derived: &pb.Derived{Model: []byte(`"model"`), ModelError: "none"}}
		open, calls := accepting()
		e := connect(t, Config{}, Config{}, open)
		c := mustOpen(t, e.host, &pb.Open{Run: true})
		p := <-calls
		mustSend(t, p, proto.Clone(want).(*pb.Output))
		if got := mustRecv(t, c, kOutput).GetOutput(); !proto.Equal(got, want) {
			t.Errorf("%d bytes: it arrived with %d bytes, %v", size, len(got.GetOutput()), got.GetDerived())
		}
	}
}

// Chunks that do not add up lose the frame: the call says so, other calls go on.
func TestChunksThatDoNotAddUp(t *testing.T) {
	body := func(id uint64) *pb.Frame { return frameOf(id, &pb.Output{Output: make([]byte, 50_000)}) }
	size := proto.Size(body(1))
	for name, announced := range map[string]int{"more": size - 1, "less": size + 1, "nothing": 0} {
		t.Run(name, func(t *testing.T) {
			s, r := rawPlugin(t, Config{})
			c := mustOpen(t, s, &pb.Open{Run: true})
			other := mustOpen(t, s, &pb.Open{Run: true})
			r.cut(body(c.ID()), 16<<10, announced)
			r.send(frameOf(other.ID(), &pb.Output{Closed: true}))
			mustRecv(t, other, kOutput)
			var state *StateError
			if f, err := c.Recv(within(t)); !errors.As(err, &state) {
				t.Errorf("got %v, %v", f, err)
			}
		})
	}
	t.Run("exactly", func(t *testing.T) {
		s, r := rawPlugin(t, Config{})
		c := mustOpen(t, s, &pb.Open{Run: true})
		r.cut(body(c.ID()), 999, size)
		mustRecv(t, c, kOutput)
	})
}

// Deltas never end within a rune, wherever the caller cuts them.
func TestSplitRunes(t *testing.T) {
	const text = `{"a":"é€😀` + "\u0301" + `ü"}`
	open, calls := accepting()
	e := connect(t, Config{}, Config{}, open)
	for n := 1; n <= 5; n++ {
		c := mustOpen(t, e.host, &pb.Open{Streaming: true})
		p := <-calls
		for at := 0; at < len(text); at += n {
			mustSend(t, c, &pb.InputDelta{Data: []byte(text[at:min(at+n, len(text))])})
		}
		mustSend(t, c, &pb.Input{Input: []byte(text)})
		var got strings.Builder
		for {
			f, err := p.Recv(within(t))
			if err != nil {
				t.Fatal(err)
			}
			if f.GetInput() != nil {
				break
			}
			data := f.GetInputDelta().GetData()
			if !utf8.Valid(data) {
				t.Errorf("cut at %d: delta %q", n, data)
			}
			got.Write(data)
		}
		if got.String() != text {
			t.Errorf("cut at %d: got %q", n, got.String())
		}
	}
	if st := e.plugin.Stats(); st.Violations > 0 {
		t.Errorf("%+v", st)
	}
}

// A delta over wire.MaxDelta is cut at a rune.
func TestLongDelta(t *testing.T) {
	open, calls := accepting()
	e := connect(t, Config{}, Config{}, open)
	c := mustOpen(t, e.host, &pb.Open{Streaming: true})
	p := <-calls
	text := "x" + strings.Repeat("€", 100_000)
	sent := make(chan error, 1)
	go func() { // ends with the input
		if err := c.Send(context.Background(), frameOf(0, &pb.InputDelta{Data: []byte(text)})); err != nil {
			sent <- err
			return
		}
		sent <- c.Send(context.Background(), frameOf(0, &pb.Input{}))
	}()
	var got strings.Builder
	for {
		f, err := p.Recv(within(t))
		if err != nil {
			t.Fatal(err)
		}
		if f.GetInput() != nil {
			break
		}
		got.Write(f.GetInputDelta().GetData())
	}
	if err := <-sent; err != nil || got.String() != text {
		t.Errorf("%d bytes of %d, %v", got.Len(), len(text), err)
	}
}

// Deltas that are not UTF-8 are a typed error, and so is an input after half a rune.
func TestBrokenRunes(t *testing.T) {
	s, _ := rawPlugin(t, Config{})
	c := mustOpen(t, s, &pb.Open{Streaming: true})
	if err := c.Send(within(t), frameOf(0, &pb.InputDelta{Data: []byte("a\xffb")})); !errors.Is(err, ErrUTF8) {
		t.Errorf("got %v", err)
	}
	mustSend(t, c, &pb.InputDelta{Data: []byte("a\xe2\x82")})
	if err := c.Send(within(t), frameOf(0, &pb.Input{})); !errors.Is(err, ErrUTF8) {
		t.Errorf("got %v", err)
	}
	mustSend(t, c, &pb.InputDelta{Data: []byte("\xac")}, &pb.Input{})
}

// Text that is not UTF-8 does not end the session: it is sent repaired.
func TestBrokenTextIsRepaired(t *testing.T) {
	open, calls := accepting()
	e := connect(t, Config{}, Config{}, open)
	for _, text := range []string{"a\xffb", "a\xffb" + strings.Repeat("x", 100_000)} {
		c := mustOpen(t, e.host, &pb.Open{Run: true})
		p := <-calls
		mustSend(t, p, &pb.Failed{Message: text, Closed: true, Views: []*pb.DerivedView{{Error: text}}})
		f := mustRecv(t, c, kFailed).GetFailed()
		if want := strings.ToValidUTF8(text, "\uFFFD"); f.GetMessage() != want || f.GetViews()[0].GetError() != want {
			t.Errorf("got %.20q", f.GetMessage())
		}
	}
}

// A log record over its limit is cut and marked, and one over a chunk arrives whole.
func TestLongLog(t *testing.T) {
	got := make(chan *pb.Log, 10)
	onLog := func(_ uint64, rec *pb.Log) { got <- rec }
	e := connect(t, Config{OnLog: onLog}, Config{Limits: Limits{Log: 40_000}}, func(*Call, *pb.Open) {})
	e.plugin.Log(7, &pb.Log{Message: strings.Repeat("é", 15_000), Attributes: []byte(`{"a":1}`)})
	e.plugin.Log(7, &pb.Log{Message: strings.Repeat("é", 30_000), Attributes: []byte(`{"a":1}`)})
	if rec := <-got; rec.GetMessage() != strings.Repeat("é", 15_000) || string(rec.GetAttributes()) != `{"a":1}` {
		t.Errorf("%d bytes", len(rec.GetMessage()))
	}
	rec := <-got
	if m := rec.GetMessage(); len(m) > 40_000 || !strings.HasSuffix(m, fmt.Sprintf(logCut, 60_000+len(`{"a":1}`)-strings.LastIndex(m, " ["))) || !utf8.ValidString(m) || rec.GetSeq() != 2 {
		t.Errorf("%d bytes: %q", len(m), m[len(m)-20:])
	}
}

// Settings over a chunk travel in the hello, and a large welcome comes back.
func TestLargeHello(t *testing.T) {
	a, b := memPair()
	settings := bytes.Repeat([]byte("s"), 1<<20)
	hash := bytes.Repeat([]byte("h"), 100_000)
	plugin := New(b, Config{Side: Plugin, OnOpen: func(*Call, *pb.Open) {}, OnHello: func(h *pb.Hello) *pb.Welcome {
		if !bytes.Equal(h.GetSettings(), settings) {
			return &pb.Welcome{Refusal: "the settings have changed on the way"}
		}
		return &pb.Welcome{Version: 1, ManifestHash: hash}
	}})
	host := New(a, Config{Side: Host})
	w, err := host.Hello(within(t), &pb.Hello{Settings: settings})
	if err != nil || w.GetRefusal() != "" || !bytes.Equal(w.GetManifestHash(), hash) {
		t.Errorf("got %v, %v", w.GetRefusal(), err)
	}
	for _, s := range []*Session{host, plugin} {
		s.Close()
		s.Wait()
	}
	if _, err := a.Recv(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}
