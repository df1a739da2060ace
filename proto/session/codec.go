package session

import (
	"bytes"
	"fmt"
	"sync"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// Codec encodes as gRPC's own codec does, at less cost. That one clears every buffer that it takes from its pool, which is a MiB for a
// batch of more than 32 KiB. Connect uses one; a plugin's server should ([grpc.ForceServerCodecV2]).
func Codec() encoding.CodecV2 { return &codec{} }

type codec struct {
	buffers bufferPool
	one     bool    // it is one stream's, which has done with a batch when it receives the next
	last    *[]byte // the batch that the stream's chunks are in
}

// Name implements encoding.CodecV2: what goes over the wire is protobuf.
func (c *codec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (c *codec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("session: %T is no protobuf message", v)
	}
	size := proto.Size(m)
	buf := c.buffers.Get(size)
	if _, err := (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend((*buf)[:0], m); err != nil {
		c.buffers.Put(buf)
		return nil, err
	}
	return mem.BufferSlice{mem.NewBuffer(buf, &c.buffers)}, nil
}

// Unmarshal implements encoding.CodecV2. The chunks of a batch share its memory: they are what is large.
func (c *codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return fmt.Errorf("session: %T is no protobuf message", v)
	}
	if data.Len() > chunkAt {
		return unmarshalBatch(c.join(data), m, sharedChunks)
	}
	buf := data.MaterializeToBuffer(&c.buffers)
	defer buf.Free()
	return unmarshalBatch(buf.ReadOnlyData(), m, sharedNone)
}

// join is the data in one piece, which is another's memory as soon as a codec of one stream decodes the next batch.
func (c *codec) join(data mem.BufferSlice) []byte {
	if !c.one {
		pieces := make([][]byte, len(data))
		for i, b := range data {
			pieces[i] = b.ReadOnlyData()
		}
		return bytes.Join(pieces, nil) // it does not clear what it makes
	}
	if c.last != nil {
		c.buffers.Put(c.last)
	}
	c.last = c.buffers.Get(data.Len())
	data.CopyTo(*c.last)
	return *c.last
}

// shared says which bytes of what is decoded may stay where they are, so that they are not copied.
type shared uint8

const (
	sharedNone   shared = iota
	sharedChunks        // the chunks', whose data are copied before the next batch is received
	sharedAll
)

// unmarshalBatch decodes a message of the stream.
func unmarshalBatch(data []byte, m proto.Message, keep shared) error {
	var frames *[]*pb.Frame
	switch m := m.(type) {
	case *pb.SessionRequest:
		frames = &m.Frames
	case *pb.SessionResponse:
		frames = &m.Frames
	default:
		return proto.Unmarshal(data, m)
	}
	n := countFrames(data)
	if n < 0 {
		return proto.Unmarshal(data, m) // also what says what is wrong with it
	}
	*frames = make([]*pb.Frame, 0, n)
	for len(data) > 0 {
		_, _, tag := protowire.ConsumeTag(data)
		text, n := protowire.ConsumeBytes(data[tag:])
		f, err := unmarshalFrame(text, keep)
		if err != nil {
			return err
		}
		*frames = append(*frames, f)
		data = data[tag+n:]
	}
	return nil
}

// countFrames is how many frames a batch has, or -1 if it has something else.
func countFrames(data []byte) (count int) {
	for len(data) > 0 {
		number, kind, tag := protowire.ConsumeTag(data)
		if number != 1 || kind != protowire.BytesType {
			return -1
		}
		_, n := protowire.ConsumeBytes(data[tag:])
		if n < 0 {
			return -1
		}
		data = data[tag+n:]
		count++
	}
	return count
}

// unmarshalFrame decodes a frame. Those that come often are one allocation with their bodies.
func unmarshalFrame(data []byte, keep shared) (*pb.Frame, error) {
	number, call, body := splitFrame(data)
	switch number {
	case 2:
		f := &struct {
			frame pb.Frame
			of    pb.Frame_Open
			body  pb.Open
		}{}
		f.frame.Call, f.frame.Body, f.of.Open = call, &f.of, &f.body
		if keep < sharedAll {
			return &f.frame, proto.Unmarshal(body, &f.body)
		}
		return &f.frame, unmarshal(body, &f.body, 4, &f.body.Input)
	case 3:
		f := &struct {
			frame pb.Frame
			of    pb.Frame_InputDelta
			body  pb.InputDelta
		}{}
		f.frame.Call, f.frame.Body, f.of.InputDelta = call, &f.of, &f.body
		return &f.frame, proto.Unmarshal(body, &f.body)
	case 6:
		f := &struct {
			frame pb.Frame
			of    pb.Frame_Output
			body  pb.Output
		}{}
		f.frame.Call, f.frame.Body, f.of.Output = call, &f.of, &f.body
		if keep < sharedAll {
			return &f.frame, proto.Unmarshal(body, &f.body)
		}
		return &f.frame, unmarshal(body, &f.body, 1, &f.body.Output)
	case 9:
		f := &struct {
			frame pb.Frame
			of    pb.Frame_Chunk
			body  pb.Chunk
		}{}
		f.frame.Call, f.frame.Body, f.of.Chunk = call, &f.of, &f.body
		if keep < sharedChunks {
			return &f.frame, proto.Unmarshal(body, &f.body)
		}
		return &f.frame, unmarshal(body, &f.body, 1, &f.body.Data)
	}
	f := &pb.Frame{}
	return f, proto.Unmarshal(data, f)
}

// splitFrame is the call and the one body of a frame, or 0 if the frame is anything but these two.
func splitFrame(data []byte) (number protowire.Number, call uint64, body []byte) {
	first, kind, tag := protowire.ConsumeTag(data)
	if first != 1 || kind != protowire.VarintType {
		return 0, 0, nil
	}
	call, n := protowire.ConsumeVarint(data[tag:])
	if n < 0 {
		return 0, 0, nil
	}
	data = data[tag+n:]
	if number, kind, tag = protowire.ConsumeTag(data); tag < 0 || kind != protowire.BytesType {
		return 0, 0, nil
	}
	if body, n = protowire.ConsumeBytes(data[tag:]); n < 0 || tag+n != len(data) {
		return 0, 0, nil
	}
	return number, call, body
}

// unmarshal decodes the body of a frame except the field of bytes with the number large: field is set to where it is in data.
func unmarshal(data []byte, m proto.Message, large protowire.Number, field *[]byte) error {
	var kept, rest []byte
	for at := data; len(at) > 0; {
		number, kind, n := protowire.ConsumeField(at)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if number == large && kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(at)
			kept, _ = protowire.ConsumeBytes(at[tag:])
			kept = kept[:len(kept):len(kept)]
		} else {
			rest = append(rest, at[:n]...)
		}
		at = at[n:]
	}
	err := proto.Unmarshal(rest, m) // which clears the field
	*field = kept
	return err
}

// bufferPool is a mem.BufferPool that does not clear.
type bufferPool struct{ tiers [len(tierSizes)]sync.Pool }

var tierSizes = [...]int{4 << 10, 40 << 10, MaxBatch + 4<<10}

// Get implements mem.BufferPool.
func (p *bufferPool) Get(n int) *[]byte {
	for i, size := range tierSizes {
		if n > size {
			continue
		}
		b, ok := p.tiers[i].Get().(*[]byte)
		if !ok {
			fresh := make([]byte, size)
			b = &fresh
		}
		*b = (*b)[:n]
		return b
	}
	b := make([]byte, n)
	return &b
}

// Put implements mem.BufferPool.
func (p *bufferPool) Put(b *[]byte) {
	for i, size := range tierSizes {
		if cap(*b) == size {
			p.tiers[i].Put(b)
			return // it is another's now
		}
	}
}
