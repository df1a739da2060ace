//go:build unix

package pluginsdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// child is a plugin process and its host's ends.
type child struct {
	*host
	cmd      *exec.Cmd
	lifeline *os.File
	stdout   *capture
	stderr   *capture
	dir      string // for sockets
	conn     net.Conn
	exited   chan error
}

// capture keeps what is written to it and tells of every line.
type capture struct {
	mu    sync.Mutex
	text  bytes.Buffer
	more  chan struct{} // capacity 1
	ended chan struct{}
	read  *os.File
}

func newCapture(t *testing.T) (*capture, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &capture{more: make(chan struct{}, 1), ended: make(chan struct{}), read: r}
	go c.run() // ends when the writers have closed the pipe; joined by ended
	return c, w
}

func (c *capture) run() {
	defer close(c.ended)
	buf := make([]byte, 4096)
	for {
		n, err := c.read.Read(buf)
		c.mu.Lock()
		c.text.Write(buf[:n])
		c.mu.Unlock()
		select {
		case c.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.String()
}

// waitFor waits until the text matches.
func (c *capture) waitFor(t *testing.T, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(testTimeout)
	for {
		if found := re.FindString(c.String()); found != "" {
			return found
		}
		select {
		case <-c.more:
		case <-c.ended:
			if found := re.FindString(c.String()); found != "" {
				return found
			}
			t.Fatalf("the output ended without %q: %s", pattern, c)
		case <-timeout:
			t.Fatalf("no %q in %s", pattern, c)
		}
	}
}

const handshakeLine = `(?m)^1\|1\|unix\|.*\|grpc\|?\n`

// startChild starts a process of role and waits for its handshake.
func startChild(t *testing.T, role string, edit ...func(*exec.Cmd)) *child {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	syscall.CloseOnExec(fds[0])
	conn, err := net.FileConn(ours)
	if err != nil {
		t.Fatal(err)
	}
	ours.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{lifeline: w, conn: conn, dir: t.TempDir(), exited: make(chan error, 1)}
	var stdout, stderr *os.File
	c.stdout, stdout = newCapture(t)
	c.stderr, stderr = newCapture(t)
	c.cmd = roleCommand(role)
	c.cmd.Env = append(c.cmd.Env, wire.CookieKey+"="+wire.CookieValue, wire.EnvConn+"=3",
		"PLUGIN_UNIX_SOCKET_DIR="+c.dir, "PLUGIN_PROTOCOL_VERSIONS=1")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr, c.cmd.ExtraFiles = r, stdout, stderr, []*os.File{theirs}
	for _, e := range edit {
		e(c.cmd)
	}
	err = c.cmd.Start()
	for _, f := range []*os.File{r, stdout, stderr, theirs} {
		f.Close()
	}
	if err != nil {
		t.Skipf("this machine cannot start it: %v", err)
	}
	go func() { c.exited <- c.cmd.Wait() }() // ends with the process, which the cleanup kills
	t.Cleanup(c.end)
	return c
}

func (c *child) end() {
	_ = c.cmd.Process.Kill() // it may have ended
	<-c.stdout.ended
	<-c.stderr.ended
	c.lifeline.Close()
	c.conn.Close()
}

// connect begins a session over the inherited connection after the handshake.
func (c *child) connect(t *testing.T) *child {
	t.Helper()
	c.stdout.waitFor(t, handshakeLine)
	conns := make(chan net.Conn, 1)
	conns <- c.conn
	cc := dial(t, func(ctx context.Context) (net.Conn, error) {
		select {
		case conn := <-conns:
			return conn, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	c.host = connect(t, cc, "")
	return c
}

// status waits for the exit status.
func (c *child) status(t *testing.T) int {
	t.Helper()
	waitFor(t, c.exited, "exit")
	<-c.stdout.ended
	<-c.stderr.ended
	if strings.Contains(c.stderr.String(), "DATA RACE") {
		t.Errorf("a race in the child: %s", c.stderr)
	}
	return c.cmd.ProcessState.ExitCode()
}

func TestO5_EveryRouteReachesTheDescriptors(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	if files, err := os.ReadDir(c.dir); err != nil || len(files) > 0 { // D10, S6: no socket to find
		t.Errorf("left behind: %v, %v", files, err)
	}
	c.open("print", "{}").output()
	c.stdout.waitFor(t, `by descriptor 1\n`)
	c.stderr.waitFor(t, `by descriptor 2\n`)
	line := c.stdout.waitFor(t, handshakeLine)
	if got, want := c.stdout.String(), "noise before the handshake\n"+line+"by fmt\nby descriptor 1\n"; got != want {
		t.Errorf("stdout = %q, want %q", got, want)
	}
	want := regexp.MustCompile(`^by fmt to stderr\n.* by log\n.* INFO by slog\nby descriptor 2\n$`)
	if got := c.stderr.String(); !want.MatchString(got) {
		t.Errorf("stderr = %q", got)
	}
	if got := string(c.open("env", "{}").output().GetOutput()); got != "[]" { // S4
		t.Errorf("variables of the host are left: %s", got)
	}
	c.lifeline.Close()
	if status := c.status(t); status != 0 {
		t.Errorf("status %d: %s", status, c.stderr)
	}
}

// The order of the handshake's steps holds on a busy machine too; under -race the children tell of races.
func TestHandshakeManyTimes(t *testing.T) {
	var group sync.WaitGroup
	for range 12 {
		group.Go(func() {
			c := startChild(t, "serve").connect(t)
			c.open("print", "{}").output()
			c.stdout.waitFor(t, `by fmt\n`)
			c.lifeline.Close()
			if status := c.status(t); status != 0 {
				t.Errorf("status %d: %s", status, c.stderr)
			}
		})
	}
	group.Wait()
}

func TestK4_LifelineEndsTheProcess(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	c.open("wait", "{}").recv()
	c.lifeline.Close()
	if status := c.status(t); status != 0 {
		t.Errorf("status %d: %s", status, c.stderr)
	}
	c.stdout.waitFor(t, "cancelled: the plugin is stopping")
}

func TestK4_LifelineEndsADeafProcess(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	c.open("deaf", "{}").recv()
	began := time.Now()
	c.lifeline.Close()
	if status := c.status(t); status != 1 {
		t.Errorf("status %d", status)
	}
	if took := time.Since(began); took > 3*wire.LifelineGrace+testTimeout/2 {
		t.Errorf("it took %s", took)
	}
	c.stderr.waitFor(t, "1 calls did not return within 1s")
}

func TestSIGTERM_CallsGetTheirOutcome(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	call := c.open("wait", "{}")
	call.recv()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if f := call.failed(); f.GetKind() != pb.FailureKind_FAILURE_KIND_CANCELED {
		t.Errorf("got %v", f)
	}
	if status := c.status(t); status != 0 {
		t.Errorf("status %d: %s", status, c.stderr)
	}
}

func TestK7_SIGINTIsForTheHost(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	for range 3 {
		if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		c.open("print", "{}").output()
	}
}

func TestK14_ClosedStdoutIsNoSIGPIPE(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	c.stdout.read.Close()
	c.stderr.read.Close()
	<-c.stdout.ended
	for range 3 { // descriptor 1 and 2 fail by now, which is all that happens
		if f := c.open("print", "{}").failed(); !strings.Contains(f.GetMessage(), "broken pipe") {
			t.Errorf("got %v", f)
		}
	}
	c.open("env", "{}").output()
	c.lifeline.Close()
	waitFor(t, c.exited, "exit")
	if status := c.cmd.ProcessState.ExitCode(); status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestClosedConnectionEndsTheProcess(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	c.cc.Close()
	if status := c.status(t); status != 0 {
		t.Errorf("status %d: %s", status, c.stderr)
	}
}

func TestC5_PanicInAGoroutineEndsTheProcess(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	c.open("crash", "{}")
	if status := c.status(t); status != 2 {
		t.Errorf("status %d", status)
	}
	c.stderr.waitFor(t, "panic: in a goroutine")
}

// runByHand runs role as a user would and returns what it said.
func runByHand(t *testing.T, role string, env []string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := roleCommand(role)
	cmd.Args = append([]string{"/opt/plugins/toolplugin-test"}, args...)
	cmd.Env = append(cmd.Env, env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &out, &errs, strings.NewReader("")
	err := cmd.Run()
	if _, ok := err.(*exec.ExitError); err != nil && !ok {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestL12_RunByHand(t *testing.T) {
	cookie := wire.CookieKey + "="
	for _, tt := range []struct {
		name, role     string
		env, args      []string
		status         int
		stdout, stderr string // patterns
	}{
		{"by hand", "serve", nil, nil, 0, `(?s)toolplugin-test is a plugin of toolhost \(https://.*Tools:\n.*  print +a tool of a test\n.*toolhost --plugins /opt/plugins list\n.*/opt/plugins/toolplugin-test describe\n$`, `^$`},
		{"needs settings", "settings", nil, nil, 0, `Without settings it has no tools: settings: at /key: missing`, `^$`},
		{"describe", "serve", nil, []string{"describe"}, 0, `(?s)\{\n  "hash": "[0-9a-f]{64}",\n.*"id": "print"`, `^$`},
		{"describe, needs settings", "settings", nil, []string{"describe"}, 0, `(?s)"settingsSchema": \{.*"error": "settings: at /key: missing"`, `^$`},
		{"another host", "serve", []string{cookie + "other.v9"}, nil, 1, `^noise.*\n$`, `the host set TOOLHOST_PLUGIN to "other.v9", and it speaks "toolplugin.v1"`},
		{"no connection", "serve", []string{cookie + wire.CookieValue}, nil, 1, `^noise.*\n$`, `TOOLHOST_PLUGIN_CONN is not set`},
		{"no descriptor", "serve", []string{cookie + wire.CookieValue, wire.EnvConn + "=x"}, nil, 1, `^noise.*\n$`, `TOOLHOST_PLUGIN_CONN: "x" is no descriptor`},
		{"closed descriptor", "serve", []string{cookie + wire.CookieValue, wire.EnvConn + "=77"}, nil, 1, `^noise.*\n$`, `descriptor 77: `},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, stdout, stderr := runByHand(t, tt.role, tt.env, tt.args...)
			if status != tt.status || !regexp.MustCompile(tt.stdout).MatchString(stdout) || !regexp.MustCompile(tt.stderr).MatchString(stderr) {
				t.Errorf("status %d\nstdout %s\nstderr %s", status, stdout, stderr)
			}
			if tt.name == "describe" && !json.Valid([]byte(strings.TrimPrefix(stdout, "noise before the handshake\n"))) {
				t.Errorf("no JSON: %s", stdout)
			}
		})
	}
}

func TestL10_NoDirectoryIsNeeded(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	c := startChild(t, "serve", func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "PLUGIN_UNIX_SOCKET_DIR="+missing, "TMPDIR="+missing)
	}).connect(t)
	c.open("env", "{}").output()
}

func TestS6_NothingListens(t *testing.T) {
	c := startChild(t, "serve").connect(t)
	sockets, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.cmd.Process.Pid))
	if err != nil || len(sockets) == 0 {
		t.Skip("no /proc")
	}
	mine := map[string]bool{}
	for _, fd := range sockets {
		if target, err := os.Readlink(fd); err == nil && strings.HasPrefix(target, "socket:[") {
			mine[strings.Trim(target, "socket:[]")] = true
		}
	}
	if len(mine) == 0 {
		t.Fatal("not even the inherited connection was found")
	}
	for file, listening := range map[string]string{"unix": "00010000", "tcp": "0A", "tcp6": "0A"} {
		table, err := os.ReadFile("/proc/net/" + file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(table)) {
			f := strings.Fields(line)
			for _, inode := range f {
				if mine[inode] && slices.Contains(f, listening) {
					t.Errorf("%s: the plugin listens: %s", file, line)
				}
			}
		}
	}
}
