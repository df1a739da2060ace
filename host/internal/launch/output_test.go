//go:build linux

package launch

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestO1_TenMebibytesWithoutNewline(t *testing.T) {
	t.Parallel()
	const n = 10 << 20
	s := &sink{}
	p := start(t, newLauncher(t), self(s, shake, "serve", "stdin"))
	do(t, p, fmt.Sprint("block:", n))
	do(t, p, "print:\n")
	do(t, p, "eprint:\n")
	p.Flush(context.Background())
	got := s.all()
	if len(got) != 2 {
		t.Fatalf("%d lines", len(got))
	}
	for _, l := range got {
		if len(l.Text) != 64<<10 || l.Cut != n-64<<10 || l.Dropped != 0 {
			t.Errorf("%s: %d bytes, cut %d, dropped %d", l.Stream, len(l.Text), l.Cut, l.Dropped)
		}
	}
	if e := p.Exit(); e.Exited || len(e.Stderr) != 64<<10 {
		t.Errorf("exited %v, %d bytes of stderr kept", e.Exited, len(e.Stderr))
	}
	p.Kill()
}

// O3: a sink that is stuck stalls neither the plugin nor Stop (K3), and what it
// missed is counted.
func TestO3_K3_StuckSink(t *testing.T) {
	t.Parallel()
	const lines = 50000
	gate := make(chan struct{})
	var seen, dropped atomic.Int64
	finished := make(chan struct{})
	spec := self(nil, "ignore:15", shake, "serve", "stdin", "exit:0")
	spec.Output = func(l Line) {
		<-gate
		seen.Add(1)
		if dropped.Add(int64(l.Dropped)); seen.Load()+dropped.Load() >= lines+1 { // and "stdin ended"
			close(finished)
		}
	}
	p := start(t, newLauncher(t), spec)
	begin := time.Now()
	do(t, p, fmt.Sprintf("lines:stdout,%d,100", lines))
	if took := time.Since(begin); took > soon {
		t.Errorf("the call took %v", took)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	begin = time.Now()
	p.Flush(ctx)
	if took := time.Since(begin); took < 50*time.Millisecond || took > soon {
		t.Errorf("Flush took %v of 50ms", took)
	}
	cancel()
	begin = time.Now()
	p.Stop(2*soon, time.Second)
	if took := time.Since(begin); took > soon {
		t.Errorf("Stop took %v", took)
	}
	if e := ended(t, p); e.Status != 0 {
		t.Errorf("%v", e)
	}
	close(gate)
	select { // a line that carries the rest of the count ends the test
	case <-finished:
	case <-time.After(soon):
		t.Fatalf("%d lines seen and %d dropped of %d", seen.Load(), dropped.Load(), lines+1)
	}
	if got := seen.Load(); got < queueLines || got > lines/2 {
		t.Errorf("%d lines seen, %d dropped", got, dropped.Load())
	}
}

// O4: 1 MiB is printed and then the call is answered; all of it is there when
// Flush returns.
func TestO4_OutputBeforeTheReply(t *testing.T) {
	t.Parallel()
	s := &sink{}
	p := start(t, newLauncher(t), self(s, shake, "serve", "stdin"))
	defer p.Kill()
	const lines, length = 16384, 64
	for round := 1; round <= 3; round++ {
		for i, stream := range []string{"stdout", "stderr"} {
			do(t, p, fmt.Sprintf("lines:%s,%d,%d", stream, lines, length))
			p.Flush(context.Background())
			if got := s.count(); got != lines*(2*(round-1)+i+1) { // some are dropped where the sink's goroutine does not get to run
				want := lines * (2*(round-1) + i + 1)
				t.Fatalf("round %d, %s: %d lines, want %d", round, stream, got, want)
			}
		}
	}
	for i := range 300 { // short answers race with the readers
		do(t, p, fmt.Sprintf("eprint:last %d\n", i))
		p.Flush(context.Background())
		if got := s.last(); got != fmt.Sprint("last ", i) {
			t.Fatalf("%d: last line %q", i, got)
		}
	}
	do(t, p, "print:unfinished")
	p.Flush(context.Background()) // returns: an unfinished line is held back
}

func TestO4_OutputBeforeTheExit(t *testing.T) {
	t.Parallel()
	s := &sink{}
	e := refuse(t, newLauncher(t), self(s, "eprint:one\n", "lines:stderr,16384,64", "lines:stdout,8000,64", "print:no newline", "exit:7"))
	if e.Exit.Status != 7 {
		t.Errorf("%v", e)
	}
	const lines = 1 + 16384 + 8000 + 1
	eventually(t, "all lines", func() bool { return s.count() >= lines }) // Start waits a while for a sink, no longer
	if n, last := s.count(), s.last(); n != lines || last != "no newline" && last != "16383 "+strings.Repeat("y", 57) {
		t.Errorf("%d lines, the last is %q", n, last)
	}
}

// K2, O4: when somebody keeps the pipe and the reader was held up past the
// deadline by a stuck sink, what the process itself wrote is still read.
func TestK2_LastWordsBehindAStuckSink(t *testing.T) {
	t.Parallel()
	mark := fmt.Sprintf("words-%d", os.Getpid())
	gate := make(chan struct{})
	defer close(gate)
	// Two reads fill the queue, the rest stays in the pipe.
	spec := self(nil, "setsid:"+mark, "lines:stderr,2000,60", "exit:6")
	spec.Sandbox = Sandbox{}
	spec.Output = func(Line) { <-gate }
	defer func() {
		for _, pid := range marked(mark) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	if e := refuse(t, newLauncher(t), spec).Exit; e.Status != 6 || !strings.HasSuffix(string(e.Stderr), "\n1999 "+strings.Repeat("y", 54)+"\n") {
		t.Errorf("status %d, last words %.80q", e.Status, e.Stderr[max(0, len(e.Stderr)-70):])
	}
}

// L15: a process that prints a line and exits has printed a line.
func TestL15_OneLineAndGone(t *testing.T) {
	t.Parallel()
	runs := 1000
	if testing.Short() {
		runs = 100
	}
	l := newLauncher(t)
	for i := range runs {
		s := &sink{}
		spec := Spec{Path: "/bin/sh", Args: []string{"-c", "echo out; echo err >&2; exit 5"}, Output: s.add}
		if i%2 == 0 {
			spec.Sandbox = Sandbox{}
		}
		e := refuse(t, l, spec)
		if e.Cause != CauseExited || e.Exit.Status != 5 || string(e.Exit.Stderr) != "err\n" {
			t.Fatalf("run %d: %v %+v", i, e, e.Exit)
		}
		eventually(t, "both lines", func() bool { return s.count() >= 2 })
		if got := s.text(); got != "stdout: out\nstderr: err\n" && got != "stderr: err\nstdout: out\n" {
			t.Fatalf("run %d: %q", i, got)
		}
	}
}

func TestFlush_IsNearlyFree(t *testing.T) {
	p := start(t, newLauncher(t), self(&sink{}, conforming...))
	defer p.Kill()
	ctx := context.Background()
	p.Flush(ctx)
	r := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			p.Flush(ctx)
		}
	})
	t.Logf("Flush with nothing pending: %v, %d allocations", time.Duration(r.NsPerOp()), r.AllocsPerOp())
	if r.NsPerOp() > 200_000 {
		t.Errorf("%v", r)
	}
}

func TestLineCutter(t *testing.T) {
	var got []string
	var c lineCutter
	add := func(text []byte, cut int) { got = append(got, fmt.Sprintf("%d+%d", len(text), cut)) }
	x := strings.Repeat("x", lineLimit)
	for _, piece := range []string{"a", "bc\n\n", "d\ne\nf", x, x + "\n", x + "\n" + x + "y\n", "end"} {
		c.cut([]byte(piece), add)
	}
	c.end(add)
	c.end(add)
	want := []string{"3+0", "0+0", "1+0", "1+0", "65536+65537", "65536+0", "65536+1", "3+0"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTail(t *testing.T) {
	var tl tail
	for i := range 5 {
		tl.write([]byte(strings.Repeat(fmt.Sprint(i), 60<<10)))
	}
	if got := tl.last(); len(got) != tailLimit || got[0] != '3' || got[len(got)-1] != '4' {
		t.Errorf("%d bytes from %q to %q", len(got), got[0], got[len(got)-1])
	}
	for _, line := range []string{"x", "panic: first", "more", "panic: second", "", "goroutine 1 [running]:", strings.Repeat("z", headLimit), "never"} {
		tl.line([]byte(line))
	}
	if got := tl.head.String(); !strings.HasPrefix(got, "panic: second\n\ngoroutine 1 [running]:\nzzz") || len(got) != headLimit {
		t.Errorf("%d bytes: %.60q", len(got), got)
	}
}
