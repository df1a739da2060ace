package session

import (
	"bytes"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// FuzzCodec holds that the codec understands what protobuf does, and nothing else, whatever is shared.
func FuzzCodec(f *testing.F) {
	for _, b := range codecBatches() {
		data, err := proto.Marshal(&pb.SessionRequest{Frames: b})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(append(data, protowire.AppendVarint(protowire.AppendTag(nil, 9, protowire.VarintType), 1)...))
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var want pb.SessionRequest
		wantErr := proto.Unmarshal(data, &want)
		for _, keep := range []shared{sharedNone, sharedChunks, sharedAll} {
			var got pb.SessionRequest
			err := unmarshalBatch(bytes.Clone(data), &got, keep)
			if (err == nil) != (wantErr == nil) || err == nil && !proto.Equal(&got, &want) {
				t.Errorf("shared %d: %v, %v; protobuf: %v, %v", keep, &got, err, &want, wantErr)
			}
		}
	})
}

// The next batch of a stream may overwrite a chunk's data, and nothing else of the last one.
func TestCodecOfOneStream(t *testing.T) {
	c := &codec{one: true}
	read := func(frames []*pb.Frame) *pb.SessionResponse {
		data, err := proto.Marshal(&pb.SessionResponse{Frames: frames})
		if err != nil {
			t.Fatal(err)
		}
		got := &pb.SessionResponse{}
		if err := c.Unmarshal(mem.BufferSlice{mem.SliceBuffer(data[:len(data)/2]), mem.SliceBuffer(data[len(data)/2:])}, got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	other := bytes.Repeat([]byte{0xff}, MaxBatch-1<<10)
	for i, frames := range codecBatches() {
		got := read(frames)
		if want := (&pb.SessionResponse{Frames: frames}); !proto.Equal(got, want) {
			t.Errorf("batch %d is %v", i, got)
		}
		read([]*pb.Frame{frameOf(1, &pb.Chunk{Data: other})})
		for n, f := range got.Frames {
			if f.GetChunk() == nil && !proto.Equal(f, frames[n]) {
				t.Errorf("frame %d of batch %d came to be %v", n, i, f)
			}
		}
	}
}

func codecBatches() [][]*pb.Frame {
	large := bytes.Repeat([]byte("0123456789abcdef"), 20<<10/16)
	return [][]*pb.Frame{
		{},
		{frameOf(1, &pb.Open{Tool: "t", Input: []byte("{}"), Run: true, TimeoutNs: 1})},
		{frameOf(1, &pb.Output{Output: []byte{}, Closed: true}), frameOf(2, &pb.Output{Derived: &pb.Derived{Model: large}})},
		{deltaFrame([]byte("é")), frameOf(3, &pb.Chunk{Data: large, Size: 1 << 30, Last: true}), frameOf(3, &pb.Chunk{})},
		{frameOf(1<<40, &pb.Write{Data: large}), frameOf(0, &pb.Ping{Nonce: 7}), {}},
	}
}

// What the codec encodes is read back by it, in whatever pieces it arrives, and buffers that come back do not change it.
func TestCodecRoundTrip(t *testing.T) {
	c := Codec()
	for range 3 {
		for i, frames := range codecBatches() {
			want := &pb.SessionResponse{Frames: frames}
			data, err := c.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			text := data.Materialize()
			data.Free()
			var pieces mem.BufferSlice
			for at := 0; at < len(text); at += 1000 {
				pieces = append(pieces, mem.SliceBuffer(text[at:min(at+1000, len(text))]))
			}
			got := &pb.SessionResponse{}
			if err := c.Unmarshal(pieces, got); err != nil {
				t.Fatal(err)
			}
			other, err := c.Marshal(&pb.SessionResponse{Frames: []*pb.Frame{frameOf(9, &pb.Write{Data: bytes.Repeat([]byte{0xff}, len(text))})}})
			if err != nil {
				t.Fatal(err)
			}
			other.Free()
			if !proto.Equal(got, want) {
				t.Errorf("batch %d came back as %v", i, got)
			}
		}
	}
	if _, err := c.Marshal("text"); err == nil {
		t.Error("it encodes a string")
	}
}
