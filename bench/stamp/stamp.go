// Package stamp measures how long small messages take one way: each is the time when it was sent, and who gets it keeps the
// difference. Both ends are on one machine and read its clock. It links nothing, so that no peer pays for another.
package stamp

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// Size is the bytes of every message.
const Size = 16

// Open is a message of its own that makes what follows it, with Close at the end, a JSON object with one string.
const (
	Open  = `{       "text":"`
	Close = `"}`
)

// Append appends a message of this moment.
func Append(to []byte) []byte {
	return strconv.AppendInt(to, time.Now().UnixNano(), 16) // 16 digits since 2006
}

// Report is what the receiver says in the end.
type Report struct {
	N    int   `json:"n"`    // messages
	Last int64 `json:"last"` // when the last one came, as UnixNano
	P50  int64 `json:"p50"`  // nanoseconds from Append to Add
}

// Arrivals are the messages that came. The zero value has none.
type Arrivals struct {
	last time.Time
	each []int64
}

// Add takes one message, or several that were joined on their way.
func (a *Arrivals) Add(text string) {
	now := time.Now()
	for ; len(text) >= Size; text = text[Size:] {
		if sent, err := strconv.ParseInt(text[:Size], 16, 64); err == nil { // not Open
			a.last = now
			a.each = append(a.each, now.UnixNano()-sent)
		}
	}
}

// Report sums up, as JSON.
func (a *Arrivals) Report() []byte {
	r := Report{N: len(a.each)}
	if r.N > 0 {
		slices.Sort(a.each)
		r.Last, r.P50 = a.last.UnixNano(), a.each[r.N/2]
	}
	text, _ := json.Marshal(r) // of three numbers
	return text
}
