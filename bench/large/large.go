// Package large has what is not small: text of any size, and a schema with a document. It links nothing, so that no peer pays
// for another.
package large

import (
	"strings"
	"sync"
)

// Texts are texts by their size. The zero value is ready.
type Texts struct{ made sync.Map }

// Get returns n bytes of text in lines, as a file that a tool has read, made once.
func (t *Texts) Get(n int) string {
	if text, ok := t.made.Load(n); ok {
		return text.(string)
	}
	const line = "The quick brown fox jumps over the lazy dog, as ever, and again\n"
	text := strings.Repeat(line, n/len(line)+1)[:n]
	t.made.Store(n, text)
	return text
}
