package session

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/toolhost/toolhost/proto/rpc"
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
		j.body = &body{size: j.size}
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
	size int // of the whole
	data []byte
	step *sync.Pool // where the memory of data goes when it is too small; nil: nowhere
}

// add appends the data of a chunk.
func (b *body) add(data []byte) {
	if have := len(b.data) + len(data); have > cap(b.data) {
		b.grow(have)
	}
	b.data = append(b.data, data...)
}

// grow makes room for what has arrived: at most four times of it, so that memory grows with what arrives (H3), and the whole as soon
// as that is not more.
func (b *body) grow(have int) {
	old, from := b.data, b.step
	b.data, b.step = nil, nil
	switch i := stepFor(have); {
	case growth*max(have, 1<<10) >= b.size:
		b.data = uncleared(max(b.size, have))
	case i < 0:
		b.data = uncleared(max(have, 1<<10) * (growth - 1)) // an allocation may be an eighth more
	default:
		b.step = &steps[i]
		if kept, ok := b.step.Get().(*[]byte); ok {
			b.data = *kept
		} else {
			b.data = uncleared(leastStep << (2 * i))
		}
	}
	b.data = append(b.data, old...)
	if from != nil {
		old = old[:0]
		from.Put(&old)
	}
}

const (
	growth    = 4
	leastStep = 64 << 10
)

// steps keep the memory that was too small, so that a large frame does not make garbage of a third of its size. The first has
// leastStep bytes, each other growth times the one before.
var steps [4]sync.Pool

// stepFor is the step that has room for so many bytes, and not too much; -1: none.
func stepFor(have int) int {
	if have <= leastStep/growth {
		return -1
	}
	for i := range steps {
		if have <= leastStep<<(2*i) {
			return i
		}
	}
	return -1
}

// uncleared is make([]byte, 0, n) without the clearing, which takes longer than the copying when n is large.
func uncleared(n int) []byte {
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)[:0]
}

var frameType = (*pb.Frame)(nil).ProtoReflect().Descriptor()

// frame decodes the whole.
func (b *body) frame() (f *pb.Frame, size int, err error) {
	if rpc.Parts(b.data, frameType, maxParts) > maxParts {
		return nil, 0, &StateError{Frame: kChunk.String(), State: joining, Reason: fmt.Sprintf("more than %d parts in one frame", maxParts)}
	}
	f, err = unmarshalFrame(b.data, sharedAll) // which is the frame's from here on
	if err != nil {
		return nil, 0, &StateError{Frame: kChunk.String(), State: joining, Reason: err.Error()}
	}
	return f, len(b.data), nil
}
