package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/runes"
)

// stdioLink carries messages over the standard streams of a process, one a line.
type stdioLink struct {
	proc  *process
	log   *slog.Logger
	queue chan *outLine
	junk  atomic.Int64  // lines on standard output that were no messages (R26)
	down  chan struct{} // closed when nothing more is written
	once  sync.Once
	wg    sync.WaitGroup
}

// outLine is a line to write. Who puts it may take it back as long as it is not begun, so it is known whether the server can have seen it.
type outLine struct {
	data  []byte
	begun atomic.Bool   // by the writer, or by who takes it back
	done  chan struct{} // closed when it is written, or cannot be
	err   error
}

// openStdio starts the server's process.
func openStdio(s settings, log *slog.Logger, hide func(string) string) (*stdioLink, error) {
	proc, err := startProcess(s, log, hide)
	if err != nil {
		return nil, err
	}
	return &stdioLink{proc: proc, log: log, queue: make(chan *outLine, 256), down: make(chan struct{})}, nil
}

// start reads and writes until the process ends or stop.
func (l *stdioLink) start(p *peer) {
	l.wg.Go(l.write)              // ends with down
	l.wg.Go(func() { l.read(p) }) // ends with the process's standard output
}

func (l *stdioLink) write() {
	for {
		select {
		case <-l.down:
			return
		case o := <-l.queue:
			if !o.begun.CompareAndSwap(false, true) {
				continue
			}
			_, o.err = l.proc.stdin.Write(append(o.data, '\n'))
			close(o.done)
		}
	}
}

// read gives every message to p. When the stream ends, the connection is lost.
func (l *stdioLink) read(p *peer) {
	in := rawjson.NewLines(l.proc.stdout, maxMessage)
	for {
		line, err := in.Next()
		if long, ok := errors.AsType[*rawjson.TooLong](err); ok {
			p.tooLong(long)
			continue
		}
		l.take(p, line)
		if err == nil {
			continue
		}
		l.once.Do(func() { close(l.down) })
		if err != io.EOF {
			l.log.Debug("standard output of the server", "error", err)
		}
		l.proc.stop() // it says nothing any more: if it lives, it is of no use
		p.lose(l.proc.ending())
		return
	}
}

// take reads a line. What is no message is counted, and some of it logged.
func (l *stdioLink) take(p *peer, line []byte) {
	list, err := decodeMessages(line)
	if err != nil {
		if blank(line) {
			return
		}
		if n := l.junk.Add(1); n <= 10 {
			l.log.Warn("the server wrote a line to its standard output that is no message of MCP: it is skipped",
				"line", runes.Cut(string(line), 200), "count", n)
		}
		return
	}
	for _, m := range list {
		p.receive(m, nil)
	}
}

func blank(line []byte) bool {
	for _, c := range line {
		if c > ' ' {
			return false
		}
	}
	return true
}

// send writes a message. sent is false if the server cannot have seen it.
func (l *stdioLink) send(ctx context.Context, out outgoing) (sent bool, err error) {
	o := &outLine{data: out.data, done: make(chan struct{})}
	select {
	case l.queue <- o:
	case <-l.down:
		return false, errLinkDown
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	select {
	case <-o.done:
		return true, o.err
	case <-l.down:
		err = errLinkDown
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return !o.begun.CompareAndSwap(false, true), err
}

var errLinkDown = errors.New("the connection is closed")

// settle has nothing to do: nothing of a session is sent beside the messages.
func (l *stdioLink) settle(context.Context, *peer, agreement) {}

// cancels is true: in both eras a message tells that an answer is not wanted any more.
func (l *stdioLink) cancels() bool { return true }

func (l *stdioLink) remarks() []string {
	if n := l.junk.Load(); n > 0 {
		return []string{fmt.Sprintf("%d lines on standard output were no messages of MCP and were skipped", n)}
	}
	return nil
}

// stop ends the process and returns when it is gone.
func (l *stdioLink) stop() {
	l.proc.stop()
	l.once.Do(func() { close(l.down) })
	l.wg.Wait()
}

// headersOf has nothing to say: headers are HTTP's.
func (l *stdioLink) headersOf(string, json.RawMessage) (warning string) { return "" }
