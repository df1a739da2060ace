package session

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// joiner joins the chunks of one frame.
type joiner struct {
	active bool
	skip   bool // the frame is lost: the rest is not stored
	size   int  // as announced
	data   []byte
}

// joining is the state in a StateError about chunks.
const joining = "JOINING"

// firstPiece is the most that a joiner allocates on the word of a first chunk (H3).
const firstPiece = 64 << 10

// add takes the next chunk. It returns the encoded frame after the last one, or the error that
// loses the frame, once. An announced size is checked before anything is stored, and memory grows with what arrives.
func (j *joiner) add(c *pb.Chunk, limit int) ([]byte, error) {
	if !j.active {
		j.active = true
		if c.GetSize() > uint64(limit) {
			size := int(min(c.GetSize(), 1<<62))
			return nil, j.lose(c, &TooLargeError{Limit: limit, Size: size, Direction: Receiving})
		}
		j.size = int(c.GetSize())
	}
	if j.skip {
		if c.GetLast() {
			*j = joiner{}
		}
		return nil, nil
	}
	total := len(j.data) + len(c.GetData())
	if total > j.size || c.GetLast() && total != j.size || j.size == 0 {
		return nil, j.lose(c, &StateError{Frame: kChunk.String(), State: joining, Reason: "the chunks do not add up to the announced size"})
	}
	j.grow(total)
	j.data = append(j.data, c.GetData()...)
	if !c.GetLast() {
		return nil, nil
	}
	data := j.data
	*j = joiner{}
	return data, nil
}

// joined decodes what add returned. It is called without s.mu: it may take a while.
func joined(data []byte) (*pb.Frame, error) {
	f := &pb.Frame{}
	if err := proto.Unmarshal(data, f); err != nil {
		return nil, &StateError{Frame: kChunk.String(), State: joining, Reason: err.Error()}
	}
	return f, nil
}

// lose gives the frame up; chunks up to the last one are skipped.
func (j *joiner) lose(c *pb.Chunk, err error) error {
	*j = joiner{active: !c.GetLast(), skip: !c.GetLast()}
	return err
}

// grow makes room for total bytes: four times what has arrived, since clearing and copying large
// memory is what a large frame costs, and never beyond the announced size.
func (j *joiner) grow(total int) {
	if total <= cap(j.data) {
		return
	}
	grown := make([]byte, len(j.data), min(j.size, max(total, 4*len(j.data), firstPiece)))
	copy(grown, j.data)
	j.data = grown
}
