package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host"
)

func TestT10_PipedIsByteExact(t *testing.T) {
	for _, text := range hostileTexts() {
		var b bytes.Buffer
		out := &terminal{file: &b}
		if _, err := out.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := out.JSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if b.String() != text+text {
			t.Errorf("wrote %q, want %q twice", b.String(), text)
		}
	}
}

func TestT10_ProgressDescriptionIsSafe(t *testing.T) {
	for _, text := range hostileTexts() {
		var b bytes.Buffer
		p := progress{out: screen(&b), tool: "t"}
		p.report(host.Progress{Progress: 1, Total: 4, Message: text})
		p.done()
		if d := dangerous(stripBar(b.String())); d != "" {
			t.Errorf("%q: drew %q with %s", text, b.String(), d)
		}
	}
}

// stripBar takes away what the bar itself writes: return, erase line, erase to the end of the line.
func stripBar(s string) string {
	return strings.NewReplacer("\r", "", "\x1b[2K", "", "\x1b[0K", "").Replace(s)
}

func screen(b *bytes.Buffer) *terminal {
	return &terminal{file: b, tty: true, width: func() int { return 80 }}
}

func TestProgressIsClearedAndStaysBelowTheLog(t *testing.T) {
	var b bytes.Buffer
	out := screen(&b)
	p := progress{out: out, tool: "fetch"}
	p.report(host.Progress{Progress: 1, Total: 2, Message: "reading"})
	if got := b.String(); !strings.Contains(got, "fetch: reading") || !strings.Contains(got, "50%") {
		t.Errorf("drew %q", got)
	}
	b.Reset()
	if _, err := out.Write([]byte("a log line\n")); err != nil {
		t.Fatal(err)
	}
	if rest, ok := strings.CutPrefix(b.String(), "\r\x1b[2Ka log line\n"); !ok || !strings.Contains(rest, "fetch: reading") {
		t.Errorf("a log line drew %q, want the bar taken away before it and drawn again after it", b.String())
	}
	b.Reset()
	p.report(host.Progress{Progress: 2, Total: 2, Message: "all read"})
	p.report(host.Progress{Progress: 7, Message: "no total any more"})
	p.report(host.Progress{Progress: 3, Total: 2, Message: "beyond"})
	p.report(host.Progress{Progress: -1, Total: 2, Message: "before"})
	for _, want := range []string{"100%", "no total any more", "beyond", "before"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("drew %q without %q", b.String(), want)
		}
	}
	b.Reset()
	p.done()
	p.done()
	if got := b.String(); got != "\r\x1b[2K" {
		t.Errorf("at the end drew %q, want the line erased once", got)
	}
	if _, err := out.Write([]byte("after\n")); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); !strings.HasSuffix(got, "after\n") {
		t.Errorf("after the end drew %q", got)
	}
}

func TestProgressDrawsNothingIntoAPipe(t *testing.T) {
	var b bytes.Buffer
	p := progress{out: &terminal{file: &b}, tool: "t"}
	p.report(host.Progress{Progress: 1, Total: 2})
	p.done()
	if b.Len() > 0 {
		t.Errorf("drew %q", b.String())
	}
}

func TestTerminalIsConcurrent(t *testing.T) {
	var b bytes.Buffer
	out := screen(&b)
	p := progress{out: out, tool: "t"}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 50 {
				_, _ = out.Write([]byte("line\n"))
			}
		})
	}
	for i := range 50 {
		p.report(host.Progress{Progress: float64(i), Total: 50})
	}
	wait.Wait()
	p.done()
	if n := strings.Count(b.String(), "line\n"); n != 200 {
		t.Errorf("%d lines, want 200", n)
	}
}

func progressOf(done, total float64) host.Progress {
	return host.Progress{Progress: done, Total: total}
}
