// Package subject is the plugin of the soak: tools whose every answer can be checked by who asked, and a journal that
// tells afterwards which calls ran, and how often.
package subject

import (
	"hash/crc64"
	"strconv"
)

// Input is what every tool takes.
type Input struct {
	ID   uint64 `json:"id"`             // the call's number, unique in a soak
	Text string `json:"text,omitempty"` // the payload
	N    int    `json:"n,omitempty"`    // how much: milliseconds, pieces, bytes
}

// Output is what every tool answers.
type Output struct {
	ID      uint64 `json:"id"`
	Sum     string `json:"sum"`     // Sum of the id and the payload
	Version int    `json:"version"` // of the binary that answered
	Text    string `json:"text,omitempty"`
}

// Piece is one custom output of the tool stream.
type Piece struct {
	ID uint64 `json:"id"`
	I  int    `json:"i"`
}

// Sum is the checksum over a call's number and a text.
func Sum(id uint64, text string) string {
	var buf [64]byte
	sum := crc64.Update(0, table, strconv.AppendUint(buf[:0], id, 10))
	const block = 512
	var part [block]byte
	for len(text) > 0 {
		n := copy(part[:], text)
		sum = crc64.Update(sum, table, part[:n])
		text = text[n:]
	}
	return strconv.FormatUint(sum, 16)
}

var table = crc64.MakeTable(crc64.ECMA)

// Text is n bytes of plain text that depend on the call.
func Text(id uint64, n int) string {
	b := make([]byte, n)
	x := id*2862933555777941757 + 3037000493
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = letters[x%uint64(len(letters))]
	}
	return string(b)
}

const letters = "abcdefghijklmnopqrstuvwxyz012345"
