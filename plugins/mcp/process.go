package main

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/rawjson"
	"github.com/toolhost/toolhost/internal/runes"
)

// process is the program of a server. It has a process group of its own, which ends with it (R30), and on Linux it dies with this
// process, whatever becomes of that.
type process struct {
	name   string // the command as messages name it
	stdin  *os.File
	stdout *os.File
	log    *slog.Logger
	hide   func(string) string

	cmd  *exec.Cmd
	done chan struct{} // closed when the process and its group are gone and reaped, and stderr is read
	tail tail
	wg   sync.WaitGroup

	mu     sync.Mutex
	reaped bool // the process's id may be another's now
}

// How long a program may take to end by itself when its standard input is closed, and then after SIGTERM. Both together are less than the
// second for which the end of the plugin waits (pluginsdk.Registry.Go), so that what the program started never outlives the plugin.
const (
	stdinGrace = 500 * time.Millisecond
	termGrace  = 300 * time.Millisecond
	pipeGrace  = time.Second // for what a process that escaped the group holds open
)

// startProcess starts the program. The error says what could not be started.
func startProcess(s settings, log *slog.Logger, hide func(string) string) (*process, error) {
	p := &process{name: commandName(s), log: log, hide: hide, done: make(chan struct{})}
	p.cmd = exec.Command(s.Command, s.Args...)
	p.cmd.Dir = s.Cwd
	p.cmd.Env = environment(runtime.GOOS, os.Environ(), s.Env)
	p.cmd.SysProcAttr = groupAttr()
	var stderr *os.File
	var theirs []*os.File
	pipe := func(write bool) (ours, child *os.File, err error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, nil, err
		}
		if write {
			r, w = w, r
		}
		theirs = append(theirs, w)
		return r, w, nil
	}
	err := func() (err error) {
		var in, out, errs *os.File
		if p.stdin, in, err = pipe(true); err != nil {
			return err
		}
		if p.stdout, out, err = pipe(false); err != nil {
			return err
		}
		if stderr, errs, err = pipe(false); err != nil {
			return err
		}
		p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errs
		return nil
	}()
	if err == nil {
		started := make(chan error, 1)
		p.wg.Add(1)
		go p.run(started, stderr) // ends with the process
		err = <-started
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		for _, f := range []*os.File{p.stdin, p.stdout, stderr} {
			if f != nil {
				f.Close()
			}
		}
		p.wg.Wait()
		return nil, fmt.Errorf("cannot start %s: %w", p.name, err)
	}
	return p, nil
}

// run has the thread that forks to itself, as the parent-death signal comes when that thread ends. It collects the process.
func (p *process) run(started chan<- error, stderr *os.File) {
	defer p.wg.Done()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	var drained sync.WaitGroup
	drained.Go(func() { p.drain(stderr) }) // ends when the group is gone, or soon after
	awaitEnd(p.cmd.Process.Pid)
	p.mu.Lock()
	killGroup(p.cmd.Process.Pid)
	p.reaped = true // soon
	p.mu.Unlock()
	_ = p.cmd.Wait() // what it was is in ProcessState
	deadline := time.Now().Add(pipeGrace)
	_ = stderr.SetReadDeadline(deadline)
	_ = p.stdout.SetReadDeadline(deadline)
	drained.Wait()
	stderr.Close()
	close(p.done)
}

// drain reads all of stderr (R27): the last of it is kept, and each line goes to the log.
func (p *process) drain(stderr io.Reader) {
	l := rawjson.NewLines(io.TeeReader(stderr, &p.tail), maxStderrLine)
	for {
		line, err := l.Next()
		if _, long := err.(*rawjson.TooLong); long { //nolint:errorlint // it comes from next, as it is
			p.log.Info("a line on standard error was too long to log")
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			p.log.Info(strings.ToValidUTF8(string(line), "\uFFFD"), "stream", "stderr")
		}
		if err != nil {
			return
		}
	}
}

// maxStderrLine bounds a line that is logged.
const maxStderrLine = 16 << 10

// stop ends the process: it closes its standard input, and then it insists. It returns when the process is gone.
func (p *process) stop() {
	p.stdin.Close()
	p.await(stdinGrace, termGroup)
	p.await(termGrace, killGroup)
	p.wg.Wait()
	p.stdout.Close()
}

// await waits for the end for d, and signals the group if it does not come.
func (p *process) await(d time.Duration, signal func(pid int)) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return
	case <-t.C:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		signal(p.cmd.Process.Pid)
	}
}

// ending says how the process ended and what it said last. It is only for one that is done.
func (p *process) ending() string {
	text := p.name + " ended"
	if s := p.cmd.ProcessState; s != nil {
		text += " with " + s.String()
	}
	return text + p.lastWords()
}

// lastWords is the end of what it wrote to standard error, as a clause.
func (p *process) lastWords() string {
	said := strings.TrimSpace(p.hide(strings.ToValidUTF8(p.tail.last(2<<10), "\uFFFD")))
	if said == "" {
		return "; it wrote nothing to standard error"
	}
	return "; its standard error ended: " + said
}

// tail keeps the last 64 KiB of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const maxTail = 64 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > 2*maxTail {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-maxTail:]...)
	}
	return len(b), nil
}

// last is the last n bytes, from the start of a line if one starts there.
func (t *tail) last(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buf
	if len(b) <= n {
		return string(b)
	}
	b = b[len(b)-n:]
	if i := bytes.IndexByte(b, '\n'); i >= 0 && i < len(b)-1 {
		b = b[i+1:]
	}
	return string(b)
}

// environment is what the program of a server gets: what ordinary programs need of have (S1, S3), and own (S2). So LD_PRELOAD,
// NODE_OPTIONS and their like pass only if own names them (T55).
func environment(goos string, have []string, own map[string]string) []string {
	names := passed
	if goos == "windows" {
		names = append(slices.Clone(passed), passedOnWindows...)
	}
	passes := func(name string) bool {
		if goos == "windows" {
			name = strings.ToUpper(name)
		}
		return slices.ContainsFunc(names, func(p string) bool {
			stem, open := strings.CutSuffix(p, "*")
			return p == name || open && strings.HasPrefix(name, stem)
		})
	}
	var env []string
	for _, kv := range have {
		name, _, ok := strings.Cut(kv, "=")
		if _, mine := own[name]; ok && !mine && passes(name) {
			env = append(env, kv)
		}
	}
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// passed are the names that the host passes to plugins.
var passed = []string{
	"PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "LC_*", "TZ",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
}

var passedOnWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
}

// commandName is the command line as messages show it: without what stands after a flag that sounds like a secret's.
func commandName(s settings) string {
	words := []string{s.Command}
	hide := false
	for _, a := range s.Args {
		name, _, assigned := strings.Cut(a, "=")
		switch secret := soundsSecret(name); {
		case hide:
			a, hide = "…", false
		case secret && assigned:
			a = name + "=…"
		case secret && strings.HasPrefix(a, "-"):
			hide = true
		}
		words = append(words, a)
	}
	return `"` + runes.Cut(strings.Join(words, " "), 300) + `"`
}

func soundsSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"key", "token", "secret", "password", "passwd", "auth", "credential"}, func(s string) bool {
		return strings.Contains(name, s)
	})
}
