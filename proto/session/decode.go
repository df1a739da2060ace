package session

import (
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// shared says which bytes of what is decoded may stay where they are, so that they are not copied.
type shared uint8

const (
	sharedNone   shared = iota
	sharedChunks        // the chunks', whose data are copied before the next batch is received
	sharedAll
)

// decodeBatch decodes a message of the stream, of either direction: they are encoded alike.
func decodeBatch(data []byte, keep shared) ([]*pb.Frame, error) {
	n := countFrames(data)
	if n < 0 {
		var m pb.SessionRequest
		err := proto.Unmarshal(data, &m) // also what says what is wrong with it
		return m.Frames, err
	}
	frames := make([]*pb.Frame, 0, n)
	for len(data) > 0 {
		_, _, tag := protowire.ConsumeTag(data)
		text, n := protowire.ConsumeBytes(data[tag:])
		f, err := unmarshalFrame(text, keep)
		if err != nil {
			return nil, err
		}
		if len(text) > chunkAt && f.GetChunk() == nil { // too large to be whole, which the limits may not see
			forgetAll(f.ProtoReflect())
		}
		frames = append(frames, f)
		data = data[tag+n:]
	}
	return frames, nil
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
