package session

import (
	"strings"
	"unsafe"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

// joiner joins the chunks of one frame.
type joiner struct {
	active bool
	skip   bool // the frame is lost: the rest is not stored
	size   int  // as announced
	total  int  // arrived
	body   *body
}

// joining is the state in a StateError about chunks.
const joining = "JOINING"

// add takes the next chunk. It returns where its data belong, or the error that loses the frame, once. An announced size is checked
// before anything is stored.
func (j *joiner) add(c *pb.Chunk, limit int) (*body, error) {
	if !j.active {
		j.active = true
		if c.GetSize() > uint64(limit) {
			size := int(min(c.GetSize(), 1<<62))
			return nil, j.lose(c, &TooLargeError{Limit: limit, Size: size, Direction: Receiving})
		}
		j.size = int(c.GetSize())
		j.body = &body{size: j.size, text: new(strings.Builder)}
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
	to := j.body
	if c.GetLast() {
		*j = joiner{}
	}
	return to, nil
}

// lose gives the frame up; chunks up to the last one are skipped.
func (j *joiner) lose(c *pb.Chunk, err error) error {
	*j = joiner{active: !c.GetLast(), skip: !c.GetLast()}
	return err
}

// body is what has arrived of a frame. It is written by the reader only, and without s.mu: what is large takes a while.
type body struct {
	size int              // of the whole
	text *strings.Builder // which clears no memory
}

// add appends the data of a chunk. Memory grows with what arrives (H3): by at most four times, and so that the last step has
// the size of the whole.
func (b *body) add(data []byte) {
	have := b.text.Len() + len(data)
	if have > b.text.Cap() {
		room := b.size
		for room/growth >= max(have, leastRoom) {
			room /= growth
		}
		grown := new(strings.Builder)
		grown.Grow(max(room, have))
		grown.WriteString(b.text.String())
		b.text = grown
	}
	b.text.Write(data)
}

const (
	growth    = 4
	leastRoom = 1 << 10
)

// frame decodes the whole.
func (b *body) frame() (f *pb.Frame, size int, err error) {
	text := b.text.String()
	f, err = unmarshalFrame(unsafe.Slice(unsafe.StringData(text), len(text)), sharedAll) // which is the frame's from here on
	if err != nil {
		return nil, 0, &StateError{Frame: kChunk.String(), State: joining, Reason: err.Error()}
	}
	return f, len(text), nil
}
