package host

import (
	"bytes"
	"fmt"
	"testing"
)

// Pieces come out as they went in, each whole, however far behind the taker is, and never more wait than there is room for.
func TestFeed_KeepsPiecesAndOrder(t *testing.T) {
	f := newFeed()
	large := bytes.Repeat([]byte("x"), 2*maxPieces)
	const n = 5000
	go func() { // ends when the last piece was put: the loop below takes all
		for i := range n {
			piece := fmt.Appendf(nil, "%d ", i)
			if i == n/2 {
				piece = large
			}
			for !f.put(piece) {
				<-f.room
			}
		}
		f.end()
	}()
	var taken pieces
	next := 0
	take := func() {
		taken = f.take(taken)
		if len(taken.ends) > 1 && len(taken.text) > maxPieces {
			t.Fatalf("%d bytes waited", len(taken.text))
		}
		at := 0
		for _, end := range taken.ends {
			want := fmt.Appendf(nil, "%d ", next)
			if next == n/2 {
				want = large
			}
			if got := taken.text[at:end]; !bytes.Equal(got, want) {
				t.Fatalf("piece %d is %.40q", next, got)
			}
			at = end
			next++
		}
	}
	for ended := false; !ended; {
		select {
		case <-f.more:
			take()
		case <-f.ended:
			ended = true
		}
	}
	take()
	if next != n {
		t.Errorf("%d of %d pieces came", next, n)
	}
}
