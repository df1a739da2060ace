package session

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// largeOutput is the size from which an output is not copied to be cut.
const largeOutput = 64 << 10

// encode measures f and encodes it if it must be cut. f.Call is not set yet if it
// is an open.
func encode(f *pb.Frame, k kind) (item, error) {
	it := item{frame: f, kind: k, size: proto.Size(f)}
	if it.size <= chunkAt {
		return it, nil
	}
	if out := f.GetOutput(); len(out.GetOutput()) > largeOutput {
		if data, err := encodeOutput(f.GetCall(), out); err != nil || total(data) == it.size {
			return item{data: data, kind: k, size: it.size}, err
		}
	}
	data, err := proto.Marshal(f)
	if err != nil {
		return item{}, err
	}
	return item{data: [][]byte{data}, kind: k, size: len(data)}, nil
}

// encodeOutput encodes the frame of an output in pieces, one of which is the output's own bytes. Unknown fields of a frame are
// not among them.
func encodeOutput(call uint64, out *pb.Output) ([][]byte, error) {
	body := out.Output
	out.Output = nil
	rest, err := proto.Marshal(out)
	out.Output = body
	if err != nil {
		return nil, err
	}
	inner := protowire.SizeTag(1) + protowire.SizeBytes(len(body)) + len(rest)
	head := protowire.AppendTag(nil, 1, protowire.VarintType)
	head = protowire.AppendVarint(head, call)
	head = protowire.AppendTag(head, 6, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(inner))
	head = protowire.AppendTag(head, 1, protowire.BytesType)
	head = protowire.AppendVarint(head, uint64(len(body)))
	data := [][]byte{head, body}
	if len(rest) > 0 {
		data = append(data, rest)
	}
	return data, nil
}

func total(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}
