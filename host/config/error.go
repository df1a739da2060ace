package config

import (
	"fmt"
	"strings"
)

// Error lists what is wrong with a file. It has at least one fault, in the order of the file.
type Error struct {
	File   string // as it was named
	Faults []Fault
	More   int // how many more there are, at least
}

// Fault is one thing that is wrong, and where.
type Fault struct {
	Line, Column int    // from 1; 0 if the place is not known
	Path         string // such as plugins.weather.path; empty for the document
	Message      string // what is wrong and what to do
}

// Error returns one line a fault: file:line:column: path: message.
func (e *Error) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
			if f.Column > 0 {
				fmt.Fprintf(&b, ":%d", f.Column)
			}
		}
		b.WriteString(": " + f.String())
	}
	if e.More > 0 {
		fmt.Fprintf(&b, "\n%s: and %d more", e.File, e.More)
	}
	return b.String()
}

// String returns path: message.
func (f Fault) String() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}
