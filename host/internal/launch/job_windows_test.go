package launch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/windows"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/toolhost/toolhost/proto/loopback"
)

// TestMain is also the main function of the plugins and hosts that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		for _, step := range os.Args[2:] {
			if _, err := childStep(step); err != nil {
				fmt.Fprintln(os.Stderr, "child:", step, err)
				os.Exit(99)
			}
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "host" { // starts a plugin with a child, and waits to be killed
		l := New(Config{})
		p, err := l.Start(context.Background(), self(nil, "grandchild", "serve", "hang"))
		if err != nil {
			panic(err)
		}
		fmt.Println("plugin", p.PID())
		fmt.Println("grandchild", strings.TrimSpace(string(stderrOf(p))))
		select {}
	}
	os.Exit(m.Run())
}

// stderrOf is a plugin's first line of stderr.
func stderrOf(p *Process) []byte {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if text := p.Exit().Stderr; strings.Contains(string(text), "\n") {
			return text
		}
	}
	return nil
}

func childStep(step string) (out string, err error) {
	verb, arg, _ := strings.Cut(step, ":")
	n, _ := strconv.Atoi(arg)
	switch verb {
	case "print":
		fmt.Println(arg)
	case "lines":
		for i := range n {
			fmt.Println("line", i)
		}
	case "panic":
		panic(arg)
	case "exit":
		os.Exit(n)
	case "hang":
		time.Sleep(time.Hour) // select would be a deadlock, which ends a process
	case "stdin":
		data, _ := io.ReadAll(os.Stdin)
		fmt.Printf("stdin ended after %d bytes\n", len(data))
	case "env":
		return strings.Join(os.Environ(), "\n"), nil
	case "args":
		return fmt.Sprintf("%q", os.Args), nil
	case "hog": // N MiB
		var held [][]byte
		for range n {
			block := make([]byte, 1<<20)
			for i := range block {
				block[i] = 1
			}
			held = append(held, block)
		}
		return fmt.Sprint(len(held)), nil
	case "grandchild":
		cmd := exec.Command(os.Args[0], "child", "hang")
		if err := cmd.Start(); err != nil {
			return "", err
		}
		fmt.Fprintln(os.Stderr, cmd.Process.Pid)
	case "serve":
		return "", serve()
	default:
		err = errors.New("unknown step")
	}
	return "", err
}

func serve() error {
	l, err := loopback.Listen(os.Stdin)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var in wrapperspb.StringValue
		if err := stream.RecvMsg(&in); err != nil {
			return err
		}
		out, err := childStep(in.Value)
		if err != nil {
			return err
		}
		return stream.SendMsg(wrapperspb.String(out))
	}))
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	go func() { _ = s.Serve(l) }() // ends with the process
	fmt.Printf("1|1|tcp|%s|grpc\n", l.Address())
	return nil
}

func self(output func(Line), steps ...string) Spec {
	return Spec{Name: "test", Path: os.Args[0], Args: append([]string{"child"}, steps...), Timeout: 30 * time.Second, Sandbox: Sandbox{PID: true, Hide: true, Optional: []string{"*"}}, Output: output}
}

func newLauncher(t *testing.T) *Launcher {
	t.Helper()
	l := New(Config{})
	t.Cleanup(l.Close)
	return l
}

func start(t *testing.T, spec Spec) *Process {
	t.Helper()
	p, err := newLauncher(t).Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func do(p *Process, step string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var out wrapperspb.StringValue
	err := p.Conn().Invoke(ctx, "/test/do", wrapperspb.String(step), &out)
	return out.Value, err
}

func ended(t *testing.T, p *Process) Exit {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the process does not end")
	}
	return p.Exit()
}

// onWine reports whether this is not Windows but Wine, which lacks some of it.
func onWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// gone waits for the end of a process that is no child of this one.
func gone(t *testing.T, pid int) {
	t.Helper()
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	if state, err := windows.WaitForSingleObject(h, 5000); state != windows.WAIT_OBJECT_0 {
		t.Errorf("process %d lives: %#x, %v", pid, state, err)
	}
}

func TestP3_StartCallStop(t *testing.T) {
	var mu sync.Mutex
	var text strings.Builder
	spec := self(func(l Line) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&text, "%s: %s\n", l.Stream, l.Text)
	}, "print:noise", "serve", "stdin", "exit:4")
	spec.Args = append(spec.Args, `a "quoted" \ word\`, "")
	p := start(t, spec)
	if _, err := grpc_health_v1.NewHealthClient(p.Conn()).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err)
	}
	if got, err := do(p, "args"); err != nil || !strings.HasSuffix(got, `"a \"quoted\" \\ word\\" ""]`) {
		t.Errorf("arguments %s, %v", got, err)
	}
	if got, err := do(p, "env"); err != nil || !strings.Contains(strings.ToUpper(got), "SYSTEMROOT=") || !strings.Contains(got, "TOOLHOST_PLUGIN_CONN=loopback") {
		t.Errorf("environment %s, %v", got, err)
	}
	t.Logf("not covered: %q", p.Uncovered())
	p.Stop(20*time.Second, 0)
	if e := ended(t, p); e.Status != 4 || e.Killed || e.Cause != CauseExited {
		t.Errorf("%+v", e)
	} else if e.PeakRSS < 1<<20 && !onWine() { // C5; Wine's jobs do not count
		t.Errorf("peak memory %d bytes", e.PeakRSS)
	}
	if got := text.String(); !strings.Contains(got, "stdout: noise\n") || !strings.Contains(got, "stdout: stdin ended after 0 bytes\n") {
		t.Errorf("output %q", got)
	}
}

// O4: what was printed before Flush was delivered when it returns.
func TestO4_Flush(t *testing.T) {
	var mu sync.Mutex
	seen := 0
	p := start(t, self(func(Line) { mu.Lock(); defer mu.Unlock(); seen++ }, "serve", "hang"))
	defer p.Kill()
	for round := 1; round <= 50; round++ {
		if _, err := do(p, "lines:20"); err != nil {
			t.Fatal(err)
		}
		p.Flush(t.Context())
		mu.Lock()
		if seen != 20*round {
			t.Errorf("round %d: %d lines", round, seen)
		}
		mu.Unlock()
	}
}

func TestC5_Evidence(t *testing.T) {
	for step, is := range map[string]func(e Exit) bool{
		"panic:boom": func(e Exit) bool { return e.Cause == CausePanic && strings.HasPrefix(e.Panic, "panic: boom") },
		"exit:7":     func(e Exit) bool { return e.Cause == CauseExited && e.Status == 7 },
	} {
		p := start(t, self(nil, "serve", "hang"))
		if _, err := do(p, step); err == nil {
			t.Errorf("%s: no error", step)
		}
		if e := ended(t, p); !is(e) {
			t.Errorf("%s: %+v", step, e)
		}
	}
	p := start(t, self(nil, "serve", "hang"))
	begin := time.Now()
	p.Kill()
	if e := ended(t, p); !e.Killed || e.Status != -1 || e.Cause != CauseNone || time.Since(begin) > 5*time.Second {
		t.Errorf("killed: %+v after %v", e, time.Since(begin))
	}
}

// K2: a descendant that holds the pipes delays nothing, and ends with the job.
func TestP3_DescendantsEndWithThePlugin(t *testing.T) {
	p := start(t, self(nil, "grandchild", "serve", "hang"))
	pid, err := strconv.Atoi(strings.TrimSpace(string(stderrOf(p))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := do(p, "exit:3"); err == nil {
		t.Error("no error")
	}
	if e := ended(t, p); e.Status != 3 {
		t.Errorf("%+v", e)
	}
	gone(t, pid)
}

// K4, P3: the end of the host is the end of its plugins and of their descendants.
func TestP3_HostKilled(t *testing.T) {
	cmd := exec.Command(os.Args[0], "host")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for lines := bufio.NewScanner(out); len(pids) < 2 && lines.Scan(); {
		_, number, _ := strings.Cut(lines.Text(), " ")
		pid, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%q", lines.Text())
		}
		pids = append(pids, pid)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if len(pids) != 2 {
		t.Fatalf("processes: %v", pids)
	}
	for _, pid := range pids {
		gone(t, pid)
	}
}

// S11, S12: limits hold for all of the job.
func TestS11_Limits(t *testing.T) {
	if onWine() {
		t.Skip("Wine's jobs have no limits")
	}
	spec := self(nil, "serve", "hang")
	spec.Sandbox.Settings.Memory = 256 << 20
	p := start(t, spec)
	if _, err := do(p, "hog:400"); err == nil {
		t.Error("it has 400 MiB")
	}
	if e := ended(t, p); e.Cause != CauseMemory || e.Limit == "" {
		t.Errorf("%+v", e)
	}
	spec = self(nil, "serve", "hang")
	spec.Sandbox.Settings.Tasks = 1
	p = start(t, spec)
	defer p.Kill()
	if _, err := do(p, "grandchild"); err == nil {
		t.Error("it has a child")
	}
}

func TestL13_NoProgram(t *testing.T) {
	file, err := os.CreateTemp("", "*.exe")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString("MZ no program"); err != nil {
		t.Fatal(err)
	}
	file.Close()
	_, err = newLauncher(t).Start(t.Context(), Spec{Path: file.Name()})
	if e, ok := errors.AsType[*StartError](err); !ok || e.Cause != CauseNotExecutable && e.Cause != CauseArchitecture {
		t.Errorf("%v", err)
	}
}
