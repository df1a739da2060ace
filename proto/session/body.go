package session

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/toolhost/toolhost/proto/rpc"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
)

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
