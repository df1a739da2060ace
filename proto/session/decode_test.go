package session

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// FuzzDecode holds that decodeBatch understands what protobuf does, and nothing else, whatever is shared.
func FuzzDecode(f *testing.F) {
	for _, b := range someBatches() {
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
		want.ProtoReflect().SetUnknown(nil) // a later version's: of no frame
		for _, keep := range []shared{sharedNone, sharedChunks, sharedAll} {
			frames, err := decodeBatch(bytes.Clone(data), keep)
			got := &pb.SessionRequest{Frames: frames}
			if (err == nil) != (wantErr == nil) || err == nil && !proto.Equal(got, &want) {
				t.Errorf("shared %d: %v, %v; protobuf: %v, %v", keep, got, err, &want, wantErr)
			}
		}
	})
}

func someBatches() [][]*pb.Frame {
	large := bytes.Repeat([]byte("0123456789abcdef"), 20<<10/16)
	return [][]*pb.Frame{
		{},
		{frameOf(1, &pb.Open{Tool: "t", Input: []byte("{}"), Run: true, TimeoutNs: 1})},
		{frameOf(1, &pb.Output{Output: []byte{}, Closed: true}), frameOf(2, &pb.Output{Derived: &pb.Derived{Model: large}})},
		{deltaFrame([]byte("é")), frameOf(3, &pb.Chunk{Data: large, Size: 1 << 30, Last: true}), frameOf(3, &pb.Chunk{})},
		{frameOf(1<<40, &pb.Write{Data: large}), frameOf(0, &pb.Ping{Nonce: 7}), {}},
	}
}
