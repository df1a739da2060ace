//go:build linux

package host_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"github.com/toolhost/toolhost/host"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// h2Plugin speaks HTTP/2 frame by frame, for what no gRPC server does. It goes wrong where the word after "h2:" in TEST_PLUGIN says.
type h2Plugin struct {
	wirePlugin
	in, out *os.File
	frames  *http2.Framer
	enc     bytes.Buffer
	paths   map[uint32]string
	bodies  map[uint32][]byte
	session uint32
	opens   int
	chaos   *chaos
}

// h2 is this test binary as such a plugin.
func h2(name, evil string) host.Plugin { return self(name, "h2:"+evil) }

// serveH2 serves the inherited descriptors until one breaks.
func serveH2(kind string) {
	p := &h2Plugin{in: os.NewFile(wire.ConnFD, "in"), out: os.NewFile(wire.ConnOutFD, "out"), paths: map[uint32]string{}, bodies: map[uint32][]byte{}}
	p.evil, p.arg, _ = strings.Cut(kind, ":")
	go p.linger() // ends the process with the lifeline
	os.Stdout.WriteString("1|1|unix|" + wire.OneWay + "|grpc\n")
	if _, err := io.ReadFull(p.in, make([]byte, len(http2.ClientPreface))); err != nil {
		os.Exit(1)
	}
	w := &locked{f: p.out}
	p.frames = http2.NewFramer(w, p.in)
	if p.evil == "chaos" {
		p.chaos = newChaos(p, w, p.arg)
	}
	p.frames.SetMaxReadFrameSize(1<<24 - 1)
	p.frames.AllowIllegalWrites = true
	settings := []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1}}
	_ = p.frames.WriteSettings(settings...)
	if p.evil != "no connection window" {
		_ = p.frames.WriteWindowUpdate(0, 1<<30)
	}
	for {
		f, err := p.frames.ReadFrame()
		if err != nil {
			os.Exit(0)
		}
		p.take(f)
	}
}

// deaf makes the host write until it finds no room, and never reads. Few pings at a time, so that all their answers may wait in the host,
// until no further one arrives.
func (p *h2Plugin) deaf() {
	unread := func() int {
		n, err := unix.IoctlGetInt(int(p.in.Fd()), unix.TIOCINQ)
		if err != nil {
			panic(err)
		}
		return n
	}
	burst := bytes.Repeat([]byte("\x00\x00\x08\x06\x00\x00\x00\x00\x00evilping"), 500)
	for still := 0; still < 300; {
		before := unread()
		if still < 6 {
			_, _ = p.out.Write(burst)
		}
		time.Sleep(100 * time.Microsecond)
		if still++; unread() > before {
			still = 0
		}
	}
}

func (p *h2Plugin) take(f http2.Frame) {
	switch f := f.(type) {
	case *http2.SettingsFrame:
		if !f.IsAck() {
			_ = p.frames.WriteSettingsAck()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = p.frames.WritePing(true, f.Data)
		}
	case *http2.HeadersFrame:
		dec := hpack.NewDecoder(4096, func(h hpack.HeaderField) {
			if h.Name == ":path" {
				p.paths[f.StreamID] = h.Value
			}
		})
		_, _ = dec.Write(f.HeaderBlockFragment())
		if strings.HasSuffix(p.paths[f.StreamID], "/Session") {
			p.session = f.StreamID
			p.headers(f.StreamID, false, ":status", "200", "content-type", "application/grpc")
		}
	case *http2.DataFrame:
		n := len(f.Data())
		if f.StreamID == p.session && n > 0 && p.evil != "window later" {
			_ = p.frames.WriteWindowUpdate(p.session, uint32(n))
		}
		p.data(f)
	}
}

func (p *h2Plugin) data(f *http2.DataFrame) {
	b := append(p.bodies[f.StreamID], f.Data()...)
	for len(b) >= 5 && len(b) >= 5+int(binary.BigEndian.Uint32(b[1:])) {
		n := 5 + int(binary.BigEndian.Uint32(b[1:]))
		p.message(f.StreamID, b[5:n])
		b = b[n:]
	}
	p.bodies[f.StreamID] = b
}

func (p *h2Plugin) message(stream uint32, msg []byte) {
	if stream != p.session {
		if p.evil == "deaf when described" {
			p.deaf()
		}
		if p.evil == "no more streams" {
			_ = p.frames.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 0})
		}
		p.headers(stream, false, ":status", "200", "content-type", "application/grpc")
		p.send(stream, &pb.DescribeResponse{Manifest: p.manifest()})
		p.headers(stream, true, "grpc-status", "0")
		if p.evil == "deaf when described" {
			select {}
		}
		if p.evil == "data after the end" {
			for range 100 {
				p.send(stream, &pb.DescribeResponse{})
			}
		}
		return
	}
	var req pb.SessionRequest
	if err := proto.Unmarshal(msg, &req); err != nil {
		panic(err)
	}
	for _, f := range req.GetFrames() {
		if f.GetOpen() != nil || f.GetChunk().GetLast() {
			if p.evil == "parrot" {
				var in struct{ Out []byte }
				_ = json.Unmarshal(f.GetOpen().GetInput(), &in)
				p.batch(f.GetCall(), &pb.Frame{Body: &pb.Frame_Output{Output: &pb.Output{Output: in.Out, Closed: true}}})
				continue
			}
			if p.chaos != nil {
				go p.chaos.take(f.GetCall(), f.GetOpen().GetInput()) // ends with the process at the latest
				continue
			}
			p.open(f.GetCall())
			continue
		}
		_ = p.answer(f, func(call uint64, frames ...*pb.Frame) error {
			p.batch(call, frames...)
			return nil
		})
	}
}

func (p *h2Plugin) headers(stream uint32, last bool, pairs ...string) {
	p.enc.Reset()
	enc := hpack.NewEncoder(&p.enc)
	for i := 0; i < len(pairs); i += 2 {
		_ = enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1], Sensitive: true})
	}
	_ = p.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: p.enc.Bytes(), EndHeaders: true, EndStream: last})
}

// send sends a message in frames of 16 KiB.
func (p *h2Plugin) send(stream uint32, m proto.Message) {
	body, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	b := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	for len(b) > 0 {
		n := min(len(b), 16<<10)
		_ = p.frames.WriteData(stream, false, b[:n])
		b = b[n:]
	}
}

func (p *h2Plugin) batch(call uint64, frames ...*pb.Frame) {
	for _, f := range frames {
		f.Call = call
	}
	p.send(p.session, &pb.SessionResponse{Frames: frames})
}

func (p *h2Plugin) output(call uint64, text string) {
	p.batch(call, &pb.Frame{Body: &pb.Frame_Output{Output: &pb.Output{Output: []byte(text), Closed: true}}})
}

// open is one call.
func (p *h2Plugin) open(call uint64) {
	p.opens++
	switch p.evil {
	case "deaf when called":
		p.deaf()
		select {}
	case "unread": // reads nothing any more
		select {}
	case "talks": // and reads nothing any more
		for ; ; time.Sleep(10 * time.Millisecond) {
			p.batch(0, &pb.Frame{Body: &pb.Frame_Log{Log: &pb.Log{Message: "I live"}}})
		}
	case "slow": // a byte a second
		for b := make([]byte, 1); ; time.Sleep(time.Second) {
			_, _ = p.in.Read(b)
		}
	case "window later":
		if p.opens == 1 {
			_ = p.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
			p.output(call, `"first"`)
			time.AfterFunc(500*time.Millisecond, func() {
				_ = p.frames.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
			})
			return
		}
	case "window over": // the largest there is, and one more
		_ = p.frames.WriteWindowUpdate(p.session, 1<<31-1)
		_ = p.frames.WriteWindowUpdate(p.session, 1<<31-1)
	case "large frame":
		_ = p.frames.WriteData(p.session, false, make([]byte, 1<<24-1))
	case "continuation":
		_ = p.frames.WriteHeaders(http2.HeadersFrameParam{StreamID: p.session, BlockFragment: make([]byte, 1)})
		for {
			if p.frames.WriteContinuation(p.session, false, make([]byte, 1000)) != nil {
				os.Exit(0)
			}
		}
	case "pings": // and answers
		for range 20 {
			for i := range 1000 {
				_ = p.frames.WritePing(false, [8]byte{byte(i)})
			}
			for answers := 0; answers < 1000; { // what else comes is none of its business
				f, err := p.frames.ReadFrame()
				if err != nil {
					os.Exit(0)
				}
				if f.Header().Type == http2.FramePing {
					answers++
				}
			}
		}
	case "announces":
		p.batch(call, &pb.Frame{Body: &pb.Frame_Chunk{Chunk: &pb.Chunk{Size: 32 << 20, Data: make([]byte, 17<<10)}}})
		return
	case "settings":
		for {
			if p.frames.WriteSettings() != nil {
				os.Exit(0)
			}
		}
	}
	p.output(call, `"answered"`)
}
