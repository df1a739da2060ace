package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// device is the terminal that the command was started on, whatever stdin and stdout are: stdin stays free for data.
type device struct {
	in, out *os.File
	screen  *terminal // writes to out; escapes always
	size    func() (columns, rows int)
	dead    time.Duration
	asking  sync.Mutex // held by who asks: one question at a time
}

// deadTime is for how long what is typed is not an answer yet: it was typed, or pasted, before the question
// was read (T14).
const deadTime = 300 * time.Millisecond

// errNobody is the error of a question that nobody is there to answer.
var errNobody = errors.New("nobody answers at the terminal")

// openDevice opens the terminal; nil if there is none, or if stderr is none: then nobody looks at it.
func (a *app) openDevice() *device {
	if !a.err.real {
		return nil
	}
	in, out, err := openTerminal()
	if err != nil {
		return nil
	}
	d := &device{in: in, out: out, dead: deadTime}
	d.size = func() (int, int) {
		columns, rows, err := 0, 0, error(nil)
		_ = withDescriptor(out, func(fd uintptr) { columns, rows, err = term.GetSize(int(fd)) })
		if err != nil || columns <= 0 || rows <= 0 {
			return 80, 24
		}
		return columns, rows
	}
	d.screen = &terminal{file: out, tty: true, real: true, width: func() int { c, _ := d.size(); return c }}
	return d
}

func (d *device) close() {
	d.out.Close()
	if d.in != d.out {
		d.in.Close()
	}
}

// line writes the text, and after the dead time the prompt, and returns the line that is typed then. The error is errNobody
// at the end of the terminal's input, or the context's cause.
func (d *device) line(ctx context.Context, text, prompt string) (string, error) {
	d.flush()
	if _, err := io.WriteString(d.screen, text); err != nil {
		return "", errNobody
	}
	select {
	case <-time.After(d.dead):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	d.flush()
	if _, err := io.WriteString(d.screen, prompt); err != nil {
		return "", errNobody
	}
	answer, err := d.read(ctx)
	if err != nil {
		_, _ = io.WriteString(d.screen, "\n") // the cursor still stands behind the prompt
	}
	return answer, err
}

// maxLine is the longest answer in bytes.
const maxLine = 1 << 20

func (d *device) read(ctx context.Context) (string, error) {
	type typed struct {
		text string
		err  error
	}
	lines := make(chan typed, 1)
	go func() { // ends with a line or with close; where a read of a terminal cannot be ended, with the process
		var all strings.Builder
		buf := make([]byte, 4096)
		for all.Len() < maxLine {
			n, err := d.in.Read(buf)
			all.Write(buf[:n])
			if line, _, found := strings.Cut(strings.ReplaceAll(all.String(), "\r", "\n"), "\n"); found {
				lines <- typed{text: line}
				return
			}
			if err != nil {
				break
			}
		}
		lines <- typed{err: errNobody}
	}()
	select {
	case got := <-lines:
		return got.text, got.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// flush throws away what was typed and not read.
func (d *device) flush() {
	_ = withDescriptor(d.in, func(fd uintptr) { flushInput(fd) }) // best effort: the dead time is the other half
}

// withDescriptor runs f with the file's descriptor, and leaves its mode as it is.
func withDescriptor(file *os.File, f func(uintptr)) error {
	c, err := file.SyscallConn()
	if err != nil {
		return err
	}
	return c.Control(f)
}

// alone runs f, which asks a person, while nothing else is written: writers to stdout wait, those to stderr do not and are
// shown later. So nothing scrolls the question away or passes for a part of it (T13).
func (j *job) alone(d *device, f func()) {
	d.asking.Lock()
	defer d.asking.Unlock()
	out, log := j.app.out, j.app.err
	if out.real {
		out.mu.Lock()
		defer out.mu.Unlock()
	}
	log.hold()
	defer log.release()
	f()
}
