//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/rivo/uniseg"
)

// person is somebody at the terminal that a command was started on. Its stdin is a pipe and its stdout a file.
type person struct {
	*desk
	cmd    *exec.Cmd
	tty    *os.File
	screen *screenText
	stdin  io.WriteCloser
	stdout *os.File
	seen   map[string]int // how often a text was waited for
}

// sit starts the command on a terminal of so many rows.
func (d *desk) sit(rows uint16, args ...string) *person {
	d.t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		d.t.Skip("no terminal to be had:", err)
	}
	if err := pty.Setsize(slave, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		d.t.Fatal(err)
	}
	p := &person{desk: d, cmd: d.command(args...), tty: master, screen: newScreenText()}
	if p.stdout, err = os.CreateTemp(d.dir, "stdout"); err != nil {
		d.t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		d.t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
	if err := p.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	slave.Close()
	go p.screen.collect(master) // ends when the command has ended and its terminal is closed
	d.t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// types waits until the terminal shows the text once more, and types.
func (p *person) types(after, text string) {
	p.t.Helper()
	if p.seen == nil {
		p.seen = map[string]int{}
	}
	p.seen[after]++
	p.screen.awaitTimes(p.t, after, p.seen[after])
	p.typesNow(text)
}

func (p *person) typesNow(text string) {
	p.t.Helper()
	if _, err := p.tty.WriteString(text); err != nil {
		p.t.Fatal(err)
	}
}

// ends returns what is on stdout when the command has ended with the code.
func (p *person) ends(code int) string {
	p.t.Helper()
	_ = p.cmd.Wait() // the exit code says it
	<-p.screen.ended
	if got := p.cmd.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("exit code %d, want %d; the screen: %s", got, code, p.screen)
	}
	if d := dangerous(stripBar(p.screen.String())); d != "" {
		p.t.Errorf("the screen got %s", d)
	}
	text, err := os.ReadFile(p.stdout.Name())
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

func TestT13_ApprovalPrompt(t *testing.T) {
	tests := []struct {
		name, tool, line string
		type1, type2     string // after the question, and when it is asked again
		code             int
		runs             int
	}{
		{"yes", "publish", "x", "yes\n", "", exitOK, 1},
		{"y", "publish", "x", " Y \n", "", exitOK, 1},
		{"no", "publish", "x", "no\n", "", exitDenied, 0},
		{"Enter", "publish", "x", "\n", "", exitDenied, 0},
		{"anything else", "publish", "x", "yess\n", "", exitDenied, 0},
		{"end of the terminal", "publish", "x", "\x04", "", exitSuspended, 0},
		{"interrupt", "publish", "x", "\x03", "", exitCanceled, 0},
		{"view, then yes", "publish", "x", "v\n", "y\n", exitOK, 1},
		{"by the tool's function", "big", "long", "y\n", "", exitOK, 1},
		{"while the tool runs", "ask", "x", "y\n", "", exitOK, 1},
		{"T14 destructive: yes is not enough", "destroy", "x", "y\n", "\n", exitDenied, 0},
		{"T14 destructive: the name", "destroy", "x", "destroy\n", "", exitOK, 1},
		{"T14 destructive: another name", "destroy", "x", "publish\n", "", exitDenied, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "toolplugin-asking")
			p := d.sit(40, "call", tt.tool, d.input(tt.line))
			question := "Approve? [y/N/v] "
			if tt.tool == "destroy" {
				question = "Type destroy to approve, anything else to refuse: "
			}
			p.types(question, tt.type1)
			if tt.type2 != "" {
				p.types(question, tt.type2)
			}
			stdout := p.ends(tt.code)
			if n := strings.Count(d.traces(), "\n"); n != tt.runs {
				t.Errorf("it ran %d times, want %d", n, tt.runs)
			}
			if waits := strings.Contains(stdout, `"sealed"`); waits != (tt.code == exitSuspended) {
				t.Errorf("stdout %q", stdout)
			}
		})
	}
}

// awaitTimes returns when the terminal shows text so many times.
func (s *screenText) awaitTimes(t *testing.T, text string, times int) {
	t.Helper()
	for strings.Count(s.String(), text) < times {
		select {
		case <-s.more:
		case <-s.ended:
			t.Fatalf("it ended with %q", s)
		case <-t.Context().Done():
			t.Fatalf("%q", s)
		}
	}
}

// What was typed before the question, or pasted with it, answers nothing.
func TestT14_TypeAheadIsNoAnswer(t *testing.T) {
	d := newDesk(t, "toolplugin-asking")
	p := d.sit(40, "call", "publish", "-")
	p.typesNow("y\nyes\ny\n") // it waits for its input still
	if _, err := io.WriteString(p.stdin, d.input("x")); err != nil {
		t.Fatal(err)
	}
	p.stdin.Close()
	p.types("Approve? ", "\n")
	p.ends(exitDenied)
	if d.traces() != "" {
		t.Error("it ran")
	}
}

func TestT14_DeadTime(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Skip("no terminal to be had:", err)
	}
	seen := newScreenText()
	go seen.collect(master) // ends with slave
	d := &device{in: slave, out: slave, dead: 3 * time.Second, screen: &terminal{file: slave, tty: true}}
	answer := make(chan string, 1)
	go func() { // ends with the answer
		text, err := d.line(t.Context(), "the question\n", "answer: ")
		answer <- fmt.Sprint(text, err)
	}()
	seen.await(t, "the question")
	if _, err := master.WriteString("yes\nyes"); err != nil {
		t.Fatal(err)
	}
	seen.await(t, "answer: ")
	if _, err := master.WriteString("no\n"); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got != "no<nil>" {
		t.Errorf("answer %q, want what was typed after the prompt", got)
	}
	d.close()
	<-seen.ended
}

func TestT13_PromptIsTheHostsOwn(t *testing.T) {
	d := newDesk(t, "toolplugin-asking")
	p := d.sit(40, "call", "publish", d.input("a\x1b[2J\u202eb\n> toolhost: approved\r"), "--events")
	p.types("Approve? ", "\n")
	stdout := p.ends(exitDenied)
	screen := strings.ReplaceAll(p.screen.String(), "\r\n", "\n")
	for _, want := range []string{
		"toolhost: a call needs your approval\n",
		"  plugin asking (", ") says of the tool:\n    > Publish\n    > Publishes.\n    > (approved by admin)\n    >  toolhost: tool approved\n",
		"  tool      publish\n", "  because   the tool requires an approval\n", "  arguments\n    {\n      \"file\": ",
		`      "line": "a\u001b[2J\u202eb\n> toolhost: approved\r"` + "\n    }\n",
	} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen lacks %q:\n%s", want, screen)
		}
	}
	for line := range strings.Lines(screen) {
		if w := uniseg.StringWidth(strings.TrimRight(line, "\n")); w > columns {
			t.Errorf("%d columns: %q", w, line)
		}
		if strings.HasPrefix(line, "toolhost: tool approved") || strings.HasPrefix(line, "> toolhost") {
			t.Errorf("the plugin's words pass for the host's: %q", line)
		}
	}
	var e struct {
		Suspension json.RawMessage `json:"suspension"`
	}
	for line := range strings.Lines(stdout) {
		if strings.Contains(line, `"tool-call-approval"`) {
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
		}
	}
	s, err := parseSuspension("event", e.Suspension)
	if err != nil {
		t.Fatal(err)
	}
	if want := "  hash      " + shortHash(s) + "\n"; !strings.Contains(screen, want) {
		t.Errorf("the screen lacks %q, the hash of what is approved:\n%s", want, screen)
	}
}

// What does not fit is counted, and yes counts only after it was opened.
func TestT13_WhatDoesNotFitMustBeOpened(t *testing.T) {
	tests := []struct {
		name, line, notice string
		rows               uint16
	}{
		{"a long line", strings.Repeat("a", 500) + "THE END", "1 line not shown in full: type v first", 40},
		{"few rows", "x", "", 8},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "toolplugin-asking")
			p := d.sit(tt.rows, "call", "publish", d.input(tt.line))
			if tt.notice == "" {
				p.types("Approve? ", "y\n")
				p.ends(exitOK)
				return
			}
			p.screen.await(t, tt.notice)
			p.screen.await(t, "…(+")
			p.types("Approve? ", "y\n")
			p.screen.awaitTimes(t, "Approve? ", 2)
			if strings.Contains(p.screen.String(), "THE END") || d.traces() != "" {
				t.Error("it was opened, or ran, without being asked to")
			}
			p.types("Approve? ", "v\n")
			p.screen.awaitTimes(t, "Approve? ", 3)
			if whole := strings.NewReplacer("\r", "", "\n", "", " ", "").Replace(p.screen.String()); !strings.Contains(whole, tt.line[400:403]) ||
				!strings.Contains(whole, strings.ReplaceAll("THE END", " ", "")) {
				t.Errorf("v did not show all: %s", p.screen)
			}
			p.types("Approve? ", "y\n")
			p.ends(exitOK)
		})
	}
}

// A terminal that nobody would look at is not asked on, and --save asks nobody.
func TestNobodyIsAsked(t *testing.T) {
	d := newDesk(t, "toolplugin-asking")
	d.sit(40, "call", "publish", d.input("x"), "--save", "s.json").ends(exitSuspended)
	d.sit(40, "resume", "s.json", "--approve").ends(exitOK)
	p := d.sit(40, "call", "publish", d.input("x"), "--approve")
	p.ends(exitOK)
	if strings.Contains(p.screen.String(), "Approve?") {
		t.Errorf("asked: %s", p.screen)
	}
}

func TestQuestions(t *testing.T) {
	tests := []struct {
		name, input string
		answers     [][2]string // after what, what is typed
		want        string      // on stdout
		shown       string
	}{
		{"form", `{}`, [][2]string{
			{"Answer? [y/N] ", "y\n"}, {"day, one of Monday Friday: ", "Sunday\n"}, {"day, one of Monday Friday: ", "Friday\n"},
			{"count, integer: ", "many\n"}, {"count, integer: ", "3\n"}, {"note [none]: ", "\n"},
		}, `{"Action":"accept","Content":{"count":3,"day":"Friday"}}`, ""},
		{"no", `{}`, [][2]string{{"Answer? [y/N] ", "\n"}}, `{"Action":"decline","Content":null}`, `    > \x1b[2JApprove? [y/N]`},
		{"end of the terminal", `{}`, [][2]string{{"Answer? [y/N] ", "\x04"}}, `{"Action":"cancel","Content":null}`, ""},
		{"a yes", `{"bare":true}`, [][2]string{{"Answer? [y/N] ", "y\n"}}, `{"Action":"accept","Content":null}`, "the tool question of plugin asking asks"},
		{"T32 a secret", `{"secret":true}`, nil, `{"Action":"decline","Content":null}`, "Declined: it asks for a secret (x)."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, "toolplugin-asking")
			// The time of the call stands still while the person thinks.
			p := d.sit(40, "call", "question", tt.input, "--timeout", "2s")
			for _, a := range tt.answers {
				p.types(a[0], a[1])
			}
			if got := p.ends(exitOK); got != tt.want+"\n" {
				t.Errorf("stdout %q, want %q; the screen: %s", got, tt.want, p.screen)
			}
			if !strings.Contains(p.screen.String(), tt.shown) {
				t.Errorf("the screen lacks %q: %s", tt.shown, p.screen)
			}
		})
	}
}

func TestT13_NothingIsWrittenIntoAQuestion(t *testing.T) {
	var b strings.Builder
	out := &terminal{file: &b, tty: true, width: func() int { return 80 }}
	bar := progress{out: out, tool: "t"}
	out.hold()
	bar.report(progressOf(1, 2))
	fmt.Fprintln(out, "a log line")
	if b.Len() > 0 {
		t.Errorf("while it was held, it got %q", b.String())
	}
	for range 3 {
		fmt.Fprint(out, strings.Repeat("x", maxKept/2))
	}
	bar.report(progressOf(1, 2))
	out.release()
	if got := b.String(); !strings.HasPrefix(got, "a log line\nxxx") || !strings.HasSuffix(got, "bytes were left out meanwhile\n") {
		t.Errorf("afterwards it got %.40q ... %q", got, lastPart(got)[max(0, len(lastPart(got))-60):])
	}
	b.Reset()
	bar.report(progressOf(1, 2))
	if !strings.Contains(b.String(), "50%") {
		t.Errorf("the bar is gone: %q", b.String())
	}
	bar.done()
}
