//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/toolhost/toolhost/internal/confine"
)

// TestMain is also the main function of the plugins and hosts that the tests
// start: what they do is in their arguments, since the environment is filtered.
func TestMain(m *testing.M) {
	if os.Args[0] == confine.Name {
		os.Exit(confine.Main(os.Args))
	}
	if len(os.Args) > 1 && os.Args[1] == "child" {
		runChild(os.Args[2:])
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "host" {
		runHost(os.Args[2], os.Args[3:])
		return
	}
	temp, err := os.MkdirTemp("/tmp", "tl")
	if err == nil {
		err = os.Setenv("TMPDIR", temp)
	}
	if err != nil {
		panic(err)
	}
	before := descriptors()
	code := m.Run()
	err = leftovers(before)
	if left, _ := os.ReadDir(temp); len(left) > 0 { // D10
		err = errors.Join(err, fmt.Errorf("files %v", left))
	}
	err = errors.Join(err, os.RemoveAll(temp))
	if err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "left after the tests:", err)
		code = 1
	}
	os.Exit(code)
}

// leftovers reports goroutines, children and descriptors that tests left behind.
func leftovers(before map[string]string) error {
	if err := goleak.Find(); err != nil {
		return err
	}
	if kids := children(os.Getpid()); len(kids) > 0 {
		return fmt.Errorf("children %v", kids)
	}
	var err error
	for fd, target := range descriptors() {
		if _, known := before[fd]; !known && !strings.Contains(target, "anon_inode") {
			err = errors.Join(err, fmt.Errorf("descriptor %s -> %s", fd, target))
		}
	}
	return err
}

func descriptors() map[string]string {
	m := map[string]string{}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			m[e.Name()] = target
		}
	}
	return m
}

// children lists the child processes of a process, dead ones included.
func children(pid int) (kids []int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range tasks {
		data, _ := os.ReadFile(file)
		for _, f := range strings.Fields(string(data)) {
			n, _ := strconv.Atoi(f)
			kids = append(kids, n)
		}
	}
	return kids
}

// marked lists the processes whose command line holds the mark, dead ones not.
func marked(mark string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil && strings.Contains(string(data), mark) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			if pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// soon is how long what comes at once may take on a machine that is busy or stands still for a while. What must not wait for
// something is tested with something that takes much longer, or for ever.
const soon = 30 * time.Second

// eventually polls for the end of a foreign process and the like, for which
// there is no signal.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(soon); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", soon, what)
		}
	}
}

// shortDir is a private directory with a short name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "tl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// newLauncher returns a launcher for the test.
func newLauncher(t *testing.T) *Launcher {
	t.Helper()
	l := New(Config{Parallel: 4})
	t.Cleanup(l.Close)
	return l
}

// transports runs a test over the inherited connection and over loopback.
func transports(t *testing.T, test func(t *testing.T, l *Launcher)) {
	t.Helper()
	for _, name := range []string{"inherited", "loopback"} {
		t.Run(name, func(t *testing.T) {
			l := newLauncher(t)
			l.loopback = name == "loopback"
			test(t, l)
		})
	}
}

// sink collects lines.
type sink struct {
	mu    sync.Mutex
	lines []Line
}

func (s *sink) add(l Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, l)
}

func (s *sink) all() []Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Line(nil), s.lines...)
}

// last is the text of the last line.
func (s *sink) last() (text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.lines); n > 0 {
		text = string(s.lines[n-1].Text)
	}
	return text
}

// count is how many lines were printed, those that were dropped included.
func (s *sink) count() (n int) {
	for _, l := range s.all() {
		n += 1 + l.Dropped
	}
	return n
}

// text is the lines as "stream: text".
func (s *sink) text() string {
	var b strings.Builder
	for _, l := range s.all() {
		fmt.Fprintf(&b, "%s: %s\n", l.Stream, l.Text)
	}
	return b.String()
}

// defaultSandbox is a pid namespace and hidden directories, where the machine gives them.
func defaultSandbox() Sandbox {
	return Sandbox{PID: true, Hide: true, Optional: []string{confine.PID, confine.State}}
}

// profiles are the sandboxes that need no helper.
var profiles = map[string]Sandbox{"default": defaultSandbox(), "none": {}}

// self is a spec for this test binary as a plugin that does the steps.
func self(s *sink, steps ...string) Spec {
	spec := Spec{Name: "test", Path: os.Args[0], Args: append([]string{"child"}, steps...), Timeout: 2 * time.Minute,
		Sandbox: defaultSandbox(),
		Env:     []string{"GORACE=atexit_sleep_ms=0"}} // or an exit takes a second under the race detector
	if s != nil {
		spec.Output = s.add
	}
	return spec
}

// start starts what must start.
func start(t *testing.T, l *Launcher, spec Spec) *Process {
	t.Helper()
	p, err := l.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// refuse starts what must not start.
func refuse(t *testing.T, l *Launcher, spec Spec) *StartError {
	t.Helper()
	return refuseCtx(context.Background(), t, l, spec)
}

func refuseCtx(ctx context.Context, t *testing.T, l *Launcher, spec Spec) *StartError {
	t.Helper()
	p, err := l.Start(ctx, spec)
	if err == nil {
		p.Kill()
		t.Fatal("started")
	}
	e, ok := errors.AsType[*StartError](err)
	if !ok {
		t.Fatalf("%T: %v", err, err)
	}
	if x := e.Exit; (x.Signal != "") != (x.Status == -1) || x.Killed && x.Signal == "" {
		t.Errorf("inconsistent exit: %+v", x)
	}
	return e
}

// healthy makes a health call.
func healthy(p *Process) error {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	_, err := grpc_health_v1.NewHealthClient(p.Conn()).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	return err
}

// do has a serving child do a step and returns its answer.
func do(t *testing.T, p *Process, step string) string {
	t.Helper()
	out, err := ask(p, step)
	if err != nil {
		t.Fatalf("%s: %v", step, err)
	}
	return out
}

func ask(p *Process, step string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*soon)
	defer cancel()
	var out wrapperspb.StringValue
	err := p.Conn().Invoke(ctx, "/test/do", wrapperspb.String(step), &out)
	return out.Value, err
}

// ended waits for Done.
func ended(t *testing.T, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Done():
		return p.Exit()
	case <-time.After(soon):
		t.Fatal("the process does not end")
		return Exit{}
	}
}

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z")
}
