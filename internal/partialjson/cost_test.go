package partialjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// documents are 1 MB of what tools are given: one long string, many members, deep nesting, numbers.
func documents() map[string][]byte {
	const size = 1_000_000
	members := make([]string, 0, size/60)
	for i := range size / 60 {
		members = append(members, fmt.Sprintf(`"name_%06d":{"id":%8d,"ok":true,"text":"some words"}`, i, i))
	}
	return map[string][]byte{
		"one string":  []byte(`{"content":"` + strings.Repeat(`a line of text with \"quotes\" and ünïcode\n`, size/46) + `"}`),
		"members":     []byte(`{` + strings.Join(members, ",") + `}`),
		"deep":        []byte(strings.Repeat(`{"a":[`, 99) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat(`]}`, 99)),
		"numbers":     []byte(`[` + strings.Repeat(`-123.25e2,`, size/10-1) + `0]`),
		"white space": []byte(`[` + strings.Repeat("1 ,\n    ", size/8) + `0]`),
	}
}

// readAll reads in pieces of 16 bytes: the repair of each, the value whenever it is due.
func readAll(text []byte) error {
	var r Reader
	for rest := text; len(rest) > 0; rest = rest[min(16, len(rest)):] {
		if err := r.Feed(rest[:min(16, len(rest))]); err != nil {
			return err
		}
		r.Repair()
		if r.Due() {
			r.Value()
		}
	}
	return nil
}

// 1 MB in pieces of 16 bytes costs at most five times one plain decode. Both are measured side by side, the best of many.
func TestCost_AtMostFiveDecodes(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector does not slow both down alike")
	}
	for name, text := range documents() {
		t.Run(name, func(t *testing.T) {
			decode, read := time.Hour, time.Hour
			for try := 0; try < 40 && (try < 5 || read > 5*decode); try++ {
				start := time.Now()
				var v any
				if err := json.Unmarshal(text, &v); err != nil {
					t.Fatal(err)
				}
				decode = min(decode, time.Since(start))
				start = time.Now()
				if err := readAll(text); err != nil {
					t.Fatal(err)
				}
				read = min(read, time.Since(start))
			}
			if read > 5*decode {
				t.Errorf("read %v, decoded %v", read, decode)
			}

		})
	}
}

// Feeding byte by byte is linear too: four times the text takes about four times as long, not sixteen.
func TestCost_Linear(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own costs are not linear")
	}
	measure := func(n int) time.Duration {
		text := []byte(`["` + strings.Repeat(`\ud83d\ude00`, n) + `"]`)
		best := time.Hour
		for range 5 {
			start := time.Now()
			var r Reader
			for i := range text {
				if err := r.Feed(text[i : i+1]); err != nil {
					t.Fatal(err)
				}
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	if small, large := measure(20_000), measure(80_000); large > 10*small+20*time.Millisecond {
		t.Errorf("%v for 20,000, %v for 80,000", small, large)
	}
}

func BenchmarkReader(b *testing.B) {
	for name, text := range documents() {
		b.Run(name+"/decode", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var v any
				if err := json.Unmarshal(text, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/16 bytes", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := readAll(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
