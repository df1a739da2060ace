package session

import (
	"bytes"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// joiner joins the chunks of one frame.
type joiner struct {
	active bool
	skip   bool // the frame is lost: the rest is not stored
	size   int  // as announced
	total  int  // arrived
	pieces [][]byte
}

// joining is the state in a StateError about chunks.
const joining = "JOINING"

// add takes the next chunk. It returns the pieces of the encoded frame after the last one, or the error that
// loses the frame, once. An announced size is checked before anything is stored, and memory
// grows with what arrives (H3): the chunks wait as they are, since clearing and copying large memory is what a large frame costs.
func (j *joiner) add(c *pb.Chunk, limit int) ([][]byte, error) {
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
	total := j.total + len(c.GetData())
	if total > j.size || c.GetLast() && total != j.size || j.size == 0 {
		return nil, j.lose(c, &StateError{Frame: kChunk.String(), State: joining, Reason: "the chunks do not add up to the announced size"})
	}
	j.total = total
	if n := len(j.pieces) - 1; n >= 0 && len(j.pieces[n]) < wire.ChunkSize { // a chunk may be as small as a byte
		j.pieces[n] = append(j.pieces[n], c.GetData()...)
	} else {
		j.pieces = append(j.pieces, c.GetData())
	}
	if !c.GetLast() {
		return nil, nil
	}
	pieces := j.pieces
	*j = joiner{}
	return pieces, nil
}

// joined decodes what add returned. It is called without s.mu: it may take a while.
func joined(pieces [][]byte) (f *pb.Frame, size int, err error) {
	data := bytes.Join(pieces, nil) // it does not clear what it makes
	f, err = unmarshalFrame(data, sharedAll)
	if err != nil {
		return nil, 0, &StateError{Frame: kChunk.String(), State: joining, Reason: err.Error()}
	}
	return f, len(data), nil
}

// lose gives the frame up; chunks up to the last one are skipped.
func (j *joiner) lose(c *pb.Chunk, err error) error {
	*j = joiner{active: !c.GetLast(), skip: !c.GetLast()}
	return err
}
