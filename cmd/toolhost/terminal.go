package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// terminal is the only way in which bytes reach stdout or stderr. If the file is a terminal, unsafe
// characters become visible escapes (T10); else everything passes byte for byte. A Write must hold whole
// characters: half of one is escaped as bytes. Its methods may be called concurrently.
type terminal struct {
	file   io.Writer
	tty    bool // escape, and limit the width
	real   bool // it is a terminal, whether or not it is trusted
	width  func() int
	mu     sync.Mutex
	sticky sticky // what stays on the last line; nil if nothing does
	held   bool   // what is written waits in kept
	kept   []byte
	lost   int // bytes for which kept had no room
}

// maxKept is how many bytes wait while a person is asked.
const maxKept = 1 << 20

// sticky is a line that is taken away before something is written and drawn again after it.
type sticky interface {
	hide()
	show()
}

// newTerminal returns the writer for f. Nothing is escaped if trusted.
func newTerminal(f *os.File, trusted bool) *terminal {
	fd := int(f.Fd())
	real := term.IsTerminal(fd)
	t := &terminal{file: f, tty: real && !trusted, real: real}
	t.width = func() int {
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			return w
		}
		return 80
	}
	return t
}

// Write writes text.
func (t *terminal) Write(text []byte) (int, error) { return t.write(text, textNotation) }

// JSON writes a JSON text. On a terminal it stays the same JSON value.
func (t *terminal) JSON(text []byte) error {
	_, err := t.write(text, jsonNotation)
	return err
}

// columns is how wide a line may be; 0 means any width.
func (t *terminal) columns() int {
	if !t.tty {
		return 0
	}
	return t.width()
}

// stick puts s on the last line, or takes it away if s is nil.
func (t *terminal) stick(s sticky) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sticky != nil && !t.held {
		t.sticky.hide()
	}
	t.sticky = s
}

// redraw changes the sticky line by change, which runs alone. While the terminal is held, nothing is drawn.
func (t *terminal) redraw(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.held {
		change()
	}
}

// hold keeps the terminal as it is until release: what is written meanwhile is kept, up to a bound, and never makes
// its writer wait.
func (t *terminal) hold() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sticky != nil && !t.held {
		t.sticky.hide()
	}
	t.held = true
}

// release writes what was kept.
func (t *terminal) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.held {
		return
	}
	kept := t.kept
	if t.lost > 0 {
		kept = fmt.Appendf(kept, "toolhost: %d bytes were left out meanwhile\n", t.lost)
	}
	t.held, t.kept, t.lost = false, nil, 0
	if len(kept) > 0 {
		_, _ = t.file.Write(kept) // there is nowhere left to say that it is gone
	}
	if t.sticky != nil {
		t.sticky.show()
	}
}

func (t *terminal) write(text []byte, as notation) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	safe := text
	if t.tty {
		safe = escape(text, as)
	}
	if t.held {
		if len(t.kept)+len(safe) > maxKept {
			t.lost += len(safe)
		} else {
			t.kept = append(t.kept, safe...)
		}
		return len(text), nil
	}
	if t.sticky != nil {
		t.sticky.hide()
		defer t.sticky.show()
	}
	if _, err := t.file.Write(safe); err != nil {
		return 0, err
	}
	return len(text), nil
}
