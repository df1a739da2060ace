//go:build linux

package main

import (
	"fmt"
	"io"
)

// report is what one phase measured, and which limits it broke.
type report struct {
	out    io.Writer
	broken []string
}

// say prints a line of what was measured.
func (r *report) say(format string, args ...any) { fmt.Fprintf(r.out, "  "+format+"\n", args...) }

// hold notes that a limit is broken, with what, unless ok.
func (r *report) hold(ok bool, format string, args ...any) {
	if !ok {
		r.broken = append(r.broken, fmt.Sprintf(format, args...))
	}
}
