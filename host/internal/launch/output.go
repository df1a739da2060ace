package launch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// queueLines is how many lines wait for Output before lines are dropped.
	queueLines = 1000
	// patience is how long in all the readers wait for room in a full queue, so
	// that a burst of lines reaches a sink that is merely slower than a pipe. It
	// grows back by a twentieth of the time that passes: a sink that is stuck
	// delays its plugin by this much once, a slow one by 5 %.
	patience = 300 * time.Millisecond
	// pipeBuffer is how much is read from a pipe at once.
	pipeBuffer = 32 << 10
)

// output takes a process's stdout and stderr to its sink. Two goroutines read,
// one delivers. One mutex covers all of it, the read system call included: see
// count and flush.
type output struct {
	sink    func(Line)
	streams [2]*stream
	readers sync.WaitGroup

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when something changed, if anybody waits
	waiting   int
	queue     []Line
	queued    int64 // lines ever queued
	delivered int64 // of these, delivered
	wakeAt    int64 // the least value of delivered that somebody awaits
	dropped   int   // not yet reported
	patience  time.Duration
	refilled  time.Time
	tail      tail
	silent    bool // nothing is delivered any more
}

// stream is one pipe.
type stream struct {
	name string
	file *os.File
	raw  syscall.RawConn
	host greeter    // until the handshake on stdout, then nil; belongs to the reader
	line lineCutter // belongs to the reader

	// Under output.mu:
	taken  int64 // bytes read
	parsed int64 // of these, bytes whose whole lines are queued
	goal   int64 // when the process ended, the bytes it had written
	ended  bool
}

// greeter waits for the handshake.
type greeter interface {
	// greet is called with the lines of stdout until it returns true. What it
	// returns of the line is noise, to be delivered like any other line.
	greet(text []byte) (noise []byte, done bool)
	// gone is called, if greet never returned true, when it will not be called
	// any more; atEnd is true if that is because stdout has ended.
	gone(why string, atEnd bool)
}

func newOutput(sink func(Line), stdout, stderr *os.File, host greeter) *output {
	o := &output{sink: sink, changed: make(chan struct{}), wakeAt: math.MaxInt64, patience: patience, refilled: time.Now(), silent: sink == nil}
	for i, f := range []*os.File{stdout, stderr} {
		raw, err := f.SyscallConn()
		if err != nil {
			panic(err) // only for a nil or closed file
		}
		o.streams[i] = &stream{name: []string{"stdout", "stderr"}[i], file: f, raw: raw}
	}
	o.streams[0].host = host
	o.readers.Add(len(o.streams))
	return o
}

// read reads a stream to its end.
func (o *output) read(s *stream) {
	buf := make([]byte, pipeBuffer)
	for {
		n, err := o.take(s, buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil || n == 0 {
			return
		}
		o.parse(s, buf[:n])
	}
	// The process has ended and somebody keeps the pipe. What the process itself
	// wrote is still read.
	for o.left(s) {
		n, err := o.takeNow(s, buf)
		if err != nil || n == 0 {
			return
		}
		o.parse(s, buf[:n])
	}
}

// parse cuts what was read into lines and queues them.
func (o *output) parse(s *stream, data []byte) {
	if s.name == "stderr" {
		o.mu.Lock()
		o.tail.write(data)
		o.mu.Unlock()
	}
	s.line.cut(data, func(text []byte, cut int) { o.line(s, text, cut) })
	o.mu.Lock()
	s.parsed += int64(len(data))
	printed := s.parsed
	o.wake()
	o.mu.Unlock()
	if s.host != nil && printed > noiseLimit {
		s.host.gone(fmt.Sprintf("%d KiB on stdout and no handshake", printed>>10), false)
		s.host = nil
	}
}

// line handles one whole line.
func (o *output) line(s *stream, text []byte, cut int) {
	if s.name == "stderr" {
		o.mu.Lock()
		o.tail.line(text)
		o.mu.Unlock()
	}
	if s.host != nil && cut == 0 {
		noise, done := s.host.greet(text)
		if done {
			s.host = nil
			if len(noise) == 0 {
				return
			}
		}
		text = noise
	}
	o.push(Line{Time: time.Now(), Stream: s.name, Text: text, Cut: cut})
}

// close ends a stream: its reader is done, or has panicked.
func (o *output) close(s *stream) {
	defer s.file.Close()
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		s.ended = true
		o.wake()
	}()
	s.line.end(func(text []byte, cut int) { o.line(s, text, cut) })
	if s.host != nil {
		s.host.gone("stdout ended without a handshake", true)
		s.host = nil
	}
}

// finish is called when the process has ended: it returns when both pipes were
// read to the end, or as far as the process itself had written and d is over.
func (o *output) finish(d time.Duration) {
	o.mu.Lock()
	for _, s := range o.streams {
		s.goal = s.taken
		if !s.ended {
			s.goal += s.pending()
			_ = s.file.SetReadDeadline(time.Now().Add(d))
		}
	}
	o.mu.Unlock()
	o.readers.Wait()
}

// left reports whether something is unread that the process itself wrote.
func (o *output) left(s *stream) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return s.taken < s.goal
}

// silence reports whether nothing was ever read.
func (o *output) silence() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.streams[0].taken == 0 && o.streams[1].taken == 0
}

// flush waits until all lines that are in the pipes or the queue were delivered
// or dropped, or ctx ends (O4). Every byte is in a pipe or counted as taken,
// since readers read under the mutex.
func (o *output) flush(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var goals [2]int64
	for i, s := range o.streams {
		if goals[i] = s.taken; !s.ended {
			goals[i] += s.pending()
		}
	}
	for i, s := range o.streams {
		for s.parsed < goals[i] && !s.ended {
			if !o.await(ctx.Done(), nil) {
				return
			}
		}
	}
	for last := o.queued; o.delivered < last && !o.silent; {
		o.wakeAt = min(o.wakeAt, last)
		if !o.await(ctx.Done(), nil) {
			return
		}
	}
}

// await waits, with o.mu held on entry and return, until something changed:
// bytes were parsed, the empty queue got a line, delivered reached wakeAt, or
// something ended. It returns false if one of the channels was first.
func (o *output) await(done <-chan struct{}, timer <-chan time.Time) bool {
	ch := o.changed
	o.waiting++
	o.mu.Unlock()
	ok := true
	select {
	case <-ch:
	case <-done:
		ok = false
	case <-timer:
		ok = false
	}
	o.mu.Lock()
	o.waiting--
	return ok
}

// wake tells those that await. o.mu is held.
func (o *output) wake() {
	o.wakeAt = math.MaxInt64
	if o.waiting > 0 {
		close(o.changed)
		o.changed = make(chan struct{})
	}
}

// evidence is the tail of stderr and the head of a panic.
func (o *output) evidence() (stderr []byte, panicHead string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tail.last(), o.tail.head.String()
}
