//go:build linux

package host_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// locked is a file that goroutines write to, each whole frames.
type locked struct {
	mu sync.Mutex
	f  *os.File
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.f.Write(b)
}

// chaos is what a plugin does beside answering: anything, at any time. It never answers a call with what belongs to another one.
type chaos struct {
	p    *h2Plugin
	w    *locked
	mu   sync.Mutex
	r    *rand.Rand
	mild bool // nothing that breaks the connection
}

func newChaos(p *h2Plugin, w *locked, arg string) *chaos {
	seed, _ := strconv.Atoi(arg)
	return &chaos{p: p, w: w, r: rand.New(rand.NewPCG(uint64(seed), uint64(os.Getpid()))), mild: seed%2 == 0}
}

// n is a number below n.
func (c *chaos) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.r.IntN(n)
}

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

func (c *chaos) raw(b []byte) { _, _ = c.w.Write(b) }

// batch sends frames, in DATA of odd sizes.
func (c *chaos) batch(frames ...*pb.Frame) {
	body, err := proto.Marshal(&pb.SessionResponse{Frames: frames})
	if err != nil {
		panic(err)
	}
	c.message(body)
}

func (c *chaos) message(body []byte) {
	b := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	var out []byte
	for len(b) > 0 {
		n := min(len(b), 1+c.n(16<<10))
		out = append(out, frame(0, 0, c.p.session, b[:n])...)
		b = b[n:]
	}
	c.raw(out)
}

// callFrame is a frame of the session.
func callFrame(call uint64, body any) *pb.Frame {
	f := &pb.Frame{Call: call}
	switch b := body.(type) {
	case *pb.Output:
		f.Body = &pb.Frame_Output{Output: b}
	case *pb.Failed:
		f.Body = &pb.Frame_Failed{Failed: b}
	case *pb.Progress:
		f.Body = &pb.Frame_Progress{Progress: b}
	case *pb.Write:
		f.Body = &pb.Frame_Write{Write: b}
	case *pb.Question:
		f.Body = &pb.Frame_Question{Question: b}
	case *pb.Span:
		f.Body = &pb.Frame_Span{Span: b}
	case *pb.Log:
		f.Body = &pb.Frame_Log{Log: b}
	case *pb.Closed:
		f.Body = &pb.Frame_Closed{Closed: b}
	case *pb.Chunk:
		f.Body = &pb.Frame_Chunk{Chunk: b}
	case *pb.Window:
		f.Body = &pb.Frame_Window{Window: b}
	case *pb.Suspended:
		f.Body = &pb.Frame_Suspended{Suspended: b}
	case *pb.Asked:
		f.Body = &pb.Frame_Asked{Asked: b}
	case *pb.Derived:
		f.Body = &pb.Frame_Derived{Derived: b}
	case *pb.Pong:
		f.Body = &pb.Frame_Pong{Pong: b}
	case *pb.Ping:
		f.Body = &pb.Frame_Ping{Ping: b}
	case *pb.ToolsChanged:
		f.Body = &pb.Frame_ToolsChanged{ToolsChanged: b}
	case *pb.Cancel:
		f.Body = &pb.Frame_Cancel{Cancel: b}
	case *pb.Open:
		f.Body = &pb.Frame_Open{Open: b}
	case *pb.DeltaView:
		f.Body = &pb.Frame_DeltaView{DeltaView: b}
	}
	return f
}

// chunks cuts the output of a call.
func (c *chaos) chunks(call uint64, text string) {
	f := callFrame(call, &pb.Output{Output: []byte(text), Closed: true})
	data, err := proto.Marshal(f)
	if err != nil {
		panic(err)
	}
	for at, n := 0, 0; at < len(data); at += n {
		n = min(len(data)-at, 1+c.n(20<<10))
		piece := &pb.Chunk{Data: data[at : at+n], Last: at+n == len(data)}
		if at == 0 {
			piece.Size = uint64(len(data))
		}
		c.batch(callFrame(call, piece))
		if c.n(4) == 0 {
			c.noise(call)
		}
	}
}

// take is one call.
func (c *chaos) take(call uint64, input []byte) {
	var in struct{ Token string }
	_ = json.Unmarshal(input, &in)
	for range c.n(3) {
		c.noise(call)
	}
	answer := func(size int) string {
		return fmt.Sprintf(`{"token":%q,"pad":"%s"}`, in.Token, bytes.Repeat([]byte("p"), size))
	}
	switch c.n(12) {
	case 0:
		time.Sleep(time.Duration(c.n(30)) * time.Millisecond)
		c.batch(callFrame(call, &pb.Output{Output: []byte(answer(10)), Closed: true}))
	case 1:
		c.chunks(call, answer(c.n(200<<10)))
	case 2: // twice, and then some
		c.batch(callFrame(call, &pb.Output{Output: []byte(answer(1)), Closed: true}), callFrame(call, &pb.Output{Output: []byte(`"second"`), Closed: true}),
			callFrame(call, &pb.Progress{Message: "late"}), callFrame(call, &pb.Closed{}), callFrame(call, &pb.Write{Data: []byte("1")}))
	case 3:
		c.batch(callFrame(call, &pb.Failed{Message: "no", Closed: c.n(2) == 0}))
	case 4: // never
	case 5:
		c.batch(callFrame(call, &pb.Closed{}))
	case 6:
		c.batch(callFrame(call, &pb.Output{Output: []byte(answer(3))})) // not closed
	case 7:
		for range c.n(2000) {
			c.batch(callFrame(call, &pb.Progress{Progress: 1, Message: "x"}), callFrame(call, &pb.Write{Data: []byte(`"w"`)}), callFrame(0, &pb.Log{Message: "l"}))
		}
		c.batch(callFrame(call, &pb.Output{Output: []byte(answer(0)), Closed: true}))
	default:
		c.batch(callFrame(call, &pb.Output{Output: []byte(answer(c.n(100))), Closed: true}))
	}
	if !c.mild && c.n(300) == 0 {
		c.wild()
	}
}

// noise is what the host has to bear.
func (c *chaos) noise(call uint64) {
	other := call + uint64(c.n(20)) - 10
	if c.n(3) == 0 {
		other = uint64(c.n(1 << 30))
	}
	garbage := []byte(`"garbage"`)
	all := []func(){
		func() { c.batch(callFrame(other, &pb.Progress{Message: "whose?"})) },
		func() { c.batch(callFrame(other, &pb.Write{Data: garbage})) },
		func() { c.batch(callFrame(other, &pb.Chunk{Size: 1 << 40, Data: garbage})) },
		func() { c.batch(callFrame(other, &pb.Chunk{Size: 5, Data: garbage, Last: true})) },
		func() { c.batch(callFrame(other, &pb.Chunk{Size: 1 << 20, Data: garbage})) },
		func() { c.batch(callFrame(0, &pb.Chunk{Size: 100, Data: garbage, Last: c.n(2) == 0})) },
		func() { c.batch(callFrame(other, &pb.Question{Id: uint32(c.n(10)), Message: "?"})) },
		func() { c.batch(callFrame(other, &pb.Span{Name: "s"})) },
		func() { c.batch(callFrame(other, &pb.Window{Bytes: 1 << 62})) },
		func() { c.batch(callFrame(other, &pb.Asked{Needed: true})) },
		func() { c.batch(callFrame(other, &pb.Derived{})) },
		func() { c.batch(callFrame(other, &pb.DeltaView{Audience: 7, Text: garbage})) },
		func() { c.batch(callFrame(other, &pb.Cancel{})) },
		func() { c.batch(callFrame(other, &pb.Open{Tool: "do"})) },
		func() { c.batch(callFrame(0, &pb.Ping{Nonce: 7})) },
		func() { c.batch(callFrame(0, &pb.Pong{Nonce: uint64(c.n(3))})) },
		func() { c.batch(callFrame(0, &pb.Log{Message: "x", Attributes: garbage})) },
		func() { c.batch(&pb.Frame{Call: other}) },
		func() { c.batch() },
		func() { c.raw(frame(6, 0, 0, make([]byte, 8))) },                                                // ping
		func() { c.raw(frame(8, 0, 0, []byte{0, 0, 0, 1})) },                                             // window
		func() { c.raw(frame(8, 0, c.p.session, []byte{0, 0, 0, 1})) },                                   // window
		func() { c.raw(frame(4, 0, 0, []byte{0, 4, 0, byte(c.n(16)), byte(c.n(256)), byte(c.n(256))})) }, // first window
		func() { c.raw(frame(4, 0, 0, []byte{0, 5, 0, 0, 0x40, byte(c.n(2))})) },                         // frame size
		func() { c.raw(frame(4, 0, 0, []byte{0, 3, 0, 0, 0, byte(c.n(2))})) },                            // streams
		func() { c.raw(bytes.Repeat(frame(0, 0, c.p.session, nil), 1+c.n(1000))) },                       // empty data
		func() { c.raw(bytes.Repeat(frame(0x77, 0xff, 1<<31-1, make([]byte, 100)), 1+c.n(100))) },        // unknown
		func() { c.raw(bytes.Repeat(frame(2, 0, c.p.session, make([]byte, 5)), 1+c.n(100))) },            // priority
		func() { c.raw(frame(0, 8, c.p.session, append([]byte{byte(c.n(200))}, make([]byte, 200)...))) }, // padding
		func() { fmt.Fprintln(os.Stderr, "noise", other) },
		func() { fmt.Fprint(os.Stdout, "no end ") },
		func() { _, _ = os.Stdout.Write(bytes.Repeat([]byte("line\n"), c.n(1000))) },
		func() { time.Sleep(time.Millisecond) },
	}
	all[c.n(len(all))]()
}

// wild is what ends the process, soon or later.
func (c *chaos) wild() {
	all := []func(){
		func() { os.Exit(3) },
		func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) },
		func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) },
		func() { panic("wild") },
		func() { c.raw(frame(3, 0, c.p.session, []byte{0, 0, 0, byte(c.n(14))})) },
		func() { c.raw(frame(3, 0, 999, []byte{0, 0, 0, 1})) },
		func() { c.raw(frame(7, 0, 0, []byte{0, 0, 0, byte(c.n(5)), 0, 0, 0, byte(c.n(3)), 'b', 'y', 'e'})) },
		func() { c.raw(frame(8, 0, 0, []byte{0x7f, 0xff, 0xff, 0xff})) },
		func() { c.raw(frame(8, 0, c.p.session, []byte{0, 0, 0, 0})) },
		func() { c.raw(frame(0, 1, c.p.session, nil)) },
		func() { c.raw(frame(1, 4, c.p.session, []byte{0x3f, 0xff, 0xff, 0xff, 0xff})) },
		func() { c.raw(frame(1, 0, c.p.session, []byte{0x82})) },
		func() { c.raw(frame(9, 4, c.p.session, []byte{0x82})) },
		func() { c.raw(frame(5, 4, c.p.session, make([]byte, 8))) },
		func() { c.raw([]byte{0, 0, 8, 6, 0, 0}) }, // half a frame
		func() { c.message([]byte{0xff, 0xff, 0xff}) },
		func() {
			for range 5 {
				b := make([]byte, c.n(2000))
				for i := range b {
					b[i] = byte(c.n(256))
				}
				c.raw(b)
			}
		},
		func() { _ = c.p.in.Close() },
		func() { _ = c.w.f.Close() },
		func() { c.raw(frame(0, 0, c.p.session, []byte{0, 0xff, 0xff, 0xff, 0xff, 1})) },
		func() { c.raw(frame(0, 0, c.p.session, []byte{1, 0, 0, 0, 1, 1})) },
	}
	all[c.n(len(all))]()
}
