package host

import (
	"sync"

	"github.com/toolhost/toolhost/internal/partialjson"
)

// maxPieces is how many bytes of an input's pieces wait while the call is behind.
const maxPieces = 16 << 10

// feed is the input of a call as it arrives. Pieces wait in it until the call takes them, all at once.
type feed struct {
	more  chan struct{} // holds one token when pieces wait
	room  chan struct{} // holds one token when there may be room for more
	ended chan struct{}
	once  sync.Once

	mu      sync.Mutex
	waiting pieces

	partialM sync.Mutex
	partial  partialjson.Reader // of what was shown
	shown    bool               // something was
}

// pieces are pieces of a text.
type pieces struct {
	text []byte
	ends []int // where in text each of them ends
}

func newFeed() *feed {
	return &feed{more: make(chan struct{}, 1), room: make(chan struct{}, 1), ended: make(chan struct{})}
}

// put adds a piece, a copy of text. It returns false if there is no room.
func (f *feed) put(text []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := &f.waiting
	if len(w.ends) > 0 && len(w.text)+len(text) > maxPieces {
		return false
	}
	w.text = append(w.text, text...)
	w.ends = append(w.ends, len(w.text))
	if len(w.ends) == 1 {
		token(f.more)
	}
	if len(w.text) < maxPieces {
		token(f.room) // for another one that waits
	}
	return true
}

// take returns the pieces that wait. last, whose memory is used again, is what it returned before.
func (f *feed) take(last pieces) pieces {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.waiting
	f.waiting = pieces{last.text[:0], last.ends[:0]}
	token(f.room)
	return taken
}

// end ends the input.
func (f *feed) end() { f.once.Do(func() { close(f.ended) }) }

// show notes a piece that the call's view shows.
func (f *feed) show(text string) {
	f.partialM.Lock()
	defer f.partialM.Unlock()
	f.shown = f.partial.Feed([]byte(text)) == nil
}
