//go:build unix

package main

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/rivo/uniseg"
)

// session is the command on two terminals, one for stdout and one for stderr.
type session struct {
	cmd      *exec.Cmd
	out, err *screenText
}

// screenText collects what a terminal or a pipe got.
type screenText struct {
	mu    sync.Mutex
	text  []byte
	more  chan struct{} // one token whenever text grew
	ended chan struct{}
}

const columns = 90

// onTerminal starts the command. Plugins are those in dir; HOME is empty.
func onTerminal(t *testing.T, dir string, args ...string) *session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{cmd: exec.Command(self), out: newScreenText(), err: newScreenText()}
	s.cmd.Args = append([]string{"toolhost", "--plugins", dir}, args...)
	s.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "TOOLHOST_STATE=", raceOptions)
	var files []*os.File
	for _, screen := range []*screenText{s.out, s.err} {
		master, slave, err := pty.Open()
		if err != nil {
			t.Skip("no terminal to be had:", err)
		}
		if err := pty.Setsize(slave, &pty.Winsize{Rows: 24, Cols: columns}); err != nil {
			t.Fatal(err)
		}
		files = append(files, slave)
		go screen.collect(master) // ends when the command has ended and its terminal is closed
	}
	s.cmd.Stdout, s.cmd.Stderr = files[0], files[1]
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	for _, f := range files {
		f.Close()
	}
	return s
}

// wait returns the exit code, when both terminals were read to the end.
func (s *session) wait(t *testing.T) int {
	t.Helper()
	err := s.cmd.Wait()
	<-s.out.ended
	<-s.err.ended
	if err != nil && s.cmd.ProcessState.ExitCode() < 0 {
		t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

func newScreenText() *screenText {
	return &screenText{more: make(chan struct{}, 1), ended: make(chan struct{})}
}

func (s *screenText) collect(f *os.File) {
	defer close(s.ended)
	defer f.Close()
	buf := make([]byte, 4096)
	for {
		n, err := f.Read(buf)
		s.mu.Lock()
		s.text = append(s.text, buf[:n]...)
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
		if err != nil { // EIO: nobody has the terminal open any more
			return
		}
	}
}

func (s *screenText) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}

// await returns when the terminal shows text.
func (s *screenText) await(t *testing.T, text string) {
	t.Helper()
	for {
		if strings.Contains(s.String(), text) {
			return
		}
		select {
		case <-s.more:
		case <-s.ended:
			if !strings.Contains(s.String(), text) {
				t.Fatalf("it ended with %q, without %q", s, text)
			}
			return
		case <-t.Context().Done():
			t.Fatalf("%q without %q", s, text)
		}
	}
}

func pluginsDir(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := placeBinary(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestT10_NothingHostileReachesATerminal(t *testing.T) {
	dir := pluginsDir(t, "toolplugin-hostile")
	nasty := strings.ReplaceAll(hostileText(), "\x00", "")
	if err := os.WriteFile(filepath.Join(dir, "toolplugin-\x1b[2Jx\u202e"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args []string
		code int
	}{
		{"list", []string{"list"}, 0},
		{"list json", []string{"list", "--json"}, 0},
		{"list debug", []string{"list", "--log-level", "debug"}, 0},
		{"describe", []string{"describe", "speak"}, 0},
		{"describe json", []string{"describe", "speak", "--json"}, 0},
		{"describe refused", []string{"describe", "shout"}, 3},
		{"describe unknown", []string{"describe", nasty}, 3},
		{"status", []string{"status"}, 0},
		{"status json", []string{"status", "--json"}, 0},
		{"doctor", []string{"doctor"}, 8},
		{"doctor json", []string{"doctor", "--json"}, 8},
		{"call", []string{"call", "speak", "--log-level", "debug"}, 0},
		{"call events", []string{"call", "speak", "--events"}, 0},
		{"call json log", []string{"call", "speak", "--json", "--log-level", "debug"}, 0},
		{"call fails", []string{"call", "fail"}, 7},
		{"call fails json", []string{"call", "fail", "--json"}, 7},
		{"call unknown", []string{"call", nasty}, 3},
		{"call with nasty input", []string{"call", "speak", nasty}, 4},
		{"usage", []string{nasty}, 2},
		{"unknown flag", []string{"--" + nasty}, 2},
		{"unknown configuration", []string{"--config", nasty[:200], "list"}, 2},
		{"new", []string{"new", nasty}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := onTerminal(t, dir, tt.args...)
			if code := s.wait(t); code != tt.code {
				t.Errorf("exit code %d, want %d; stderr %s", code, tt.code, lastPart(s.err.String()))
			}
			if d := dangerous(s.out.String()); d != "" {
				t.Errorf("stdout has %s", d)
			}
			if d := dangerous(stripBar(s.err.String())); d != "" {
				t.Errorf("stderr has %s", d)
			}
			if len(s.out.String())+len(s.err.String()) == 0 {
				t.Error("nothing was written")
			}
		})
	}
}

func TestT10_JSONOnATerminalIsTheSameValue(t *testing.T) {
	dir := pluginsDir(t, "toolplugin-hostile")
	want := hostileText()
	s := onTerminal(t, dir, "call", "speak")
	if code := s.wait(t); code != 0 {
		t.Fatalf("exit code %d: %.300q", code, s.err)
	}
	var got string
	if err := json.Unmarshal([]byte(s.out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestT10_UnsafeTerminalIsByteExact(t *testing.T) {
	s := onTerminal(t, pluginsDir(t, "toolplugin-hostile"), "--unsafe-terminal", "call", "speak")
	if code := s.wait(t); code != 0 {
		t.Fatalf("exit code %d: %.300q", code, s.err)
	}
	if want := rawString(hostileText()) + "\r\n"; s.out.String() != want {
		t.Errorf("got %q, want %q", s.out, want)
	}
}

func TestT11_ListFitsTheTerminal(t *testing.T) {
	s := onTerminal(t, pluginsDir(t, "toolplugin-hostile", "toolplugin-fake"), "list")
	if code := s.wait(t); code != 0 {
		t.Fatalf("exit code %d: %.300q", code, s.err)
	}
	for line := range strings.Lines(s.out.String()) {
		line = strings.TrimRight(line, "\r\n")
		if w := uniseg.StringWidth(line); w > columns {
			t.Errorf("%d columns: %q", w, line)
		}
	}
	if !strings.Contains(s.out.String(), "…(+") {
		t.Errorf("nothing was cut: %q", s.out)
	}
}

func TestProgressBarOnATerminal(t *testing.T) {
	dir := pluginsDir(t, "toolplugin-fake")
	s := onTerminal(t, dir, "call", "wait")
	s.err.await(t, "wait: waiting")
	s.err.await(t, "25%")
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != exitCanceled {
		t.Errorf("exit code %d, want %d", code, exitCanceled)
	}
	_, after, cleared := strings.Cut(s.err.String(), "\r\x1b[2K")
	if !cleared || strings.Contains(after, "25%") || !strings.Contains(after, "toolhost: call wait: canceled") {
		t.Errorf("stderr %q, want the bar taken away before the error", s.err)
	}
	if s.out.String() != "" {
		t.Errorf("stdout %q", s.out)
	}

	quiet := onTerminal(t, dir, "--json", "call", "wait", "--timeout", "2s")
	quiet.wait(t)
	if !json.Valid([]byte(quiet.err.String())) {
		t.Errorf("with --json stderr is %q, want the error object only", quiet.err)
	}
}

// piped starts the command with pipes for stdin, stdout and stderr.
func piped(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, stdin io.WriteCloser, stdout io.Reader, stderr *screenText) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), self)
	cmd.Args = append([]string{"toolhost", "--plugins", dir}, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "TOOLHOST_STATE=", raceOptions)
	stderr = newScreenText()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	cmd.Stderr = w
	go stderr.collect(r) // ends when the command and its plugins have ended
	if stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, stdin, stdout, stderr
}

// lastPart is the end of a text, where the reason stands.
func lastPart(text string) string { return text[max(0, len(text)-4000):] }
