package plain

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// slow is End as it is meant.
func slow(text []byte, i int) (end int, ascii bool) {
	ascii = true
	for ; i < len(text); i++ {
		c := text[i]
		if c == '"' || c == '\\' || c < ' ' {
			break
		}
		ascii = ascii && c < 0x80
	}
	return i, ascii
}

func check(t *testing.T, text []byte, i int) {
	t.Helper()
	end, ascii := End(text, i)
	want, wantASCII := slow(text, i)
	if end != want || ascii && !wantASCII {
		t.Fatalf("from %d in %q: %d, ASCII %v, want %d, %v", i, text, end, ascii, want, wantASCII)
	}
	if !ascii && wantASCII && !hasWide(text[i:min(len(text), end+32)]) {
		t.Fatalf("from %d in %q: no ASCII", i, text)
	}
	var skip int
	skip, ascii = Skip(text, i)
	for want, wantASCII = slow(text, i); want+1 < len(text) && text[want] == '\\' && strings.IndexByte(`"\/bfnrt`, text[want+1]) >= 0; {
		next, nextASCII := slow(text, want+2)
		want, wantASCII = next, wantASCII && nextASCII
	}
	if skip != want || ascii && !wantASCII || !ascii && wantASCII && !hasWide(text[i:min(len(text), want+34)]) {
		t.Fatalf("from %d in %q: skips to %d, ASCII %v, want %d, %v", i, text, skip, ascii, want, wantASCII)
	}
}

func hasWide(text []byte) bool {
	return slices.ContainsFunc(text, func(c byte) bool { return c >= 0x80 })
}

// Every byte at every place within a text, beside others that are one off.
func TestEnd_EveryByteEverywhere(t *testing.T) {
	for _, fill := range []byte{'a', ' ', '!', '#', '[', ']', 0x7f, 0x80, 0xdc, 0xa2, 0xff} {
		for _, size := range []int{1, 7, 8, 9, 16, 31, 33, 34, 35, 48, 66, 71} {
			for at := range size {
				text := bytes.Repeat([]byte{fill}, size)
				for c := range 256 {
					text[at] = byte(c)
					check(t, text, 0)
				}
			}
		}
	}
}

func TestEnd_Random(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		text := make([]byte, r.IntN(100))
		for i := range text {
			switch r.IntN(40) {
			case 0:
				text[i] = byte(r.IntN(256))
			case 2:
				text[i] = '\\'
			case 3:
				text[i] = "bfnrtu/\\"[r.IntN(8)]
			case 1:
				text[i] = "\"\\\x1f\x00"[r.IntN(4)]
			default:
				text[i] = byte(' ' + r.IntN(0x60))
			}
		}
		for i := range len(text) + 1 {
			check(t, text, i)
		}
	}
}

func FuzzEnd(f *testing.F) {
	f.Add([]byte(`abc"`), 0)
	f.Fuzz(func(t *testing.T, text []byte, i int) {
		if i < 0 || i > len(text) {
			i = 0
		}
		check(t, text, i)
	})
}

func BenchmarkSkip(b *testing.B) {
	text := []byte(strings.Repeat(`The quick brown fox jumps over the lazy dog, as ever, and again\n`, 16<<20/64) + `"`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if end, ascii := Skip(text, 0); end != len(text)-1 || !ascii {
			b.Fatal(end)
		}
	}
}
