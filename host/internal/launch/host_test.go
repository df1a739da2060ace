//go:build linux

package launch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// runHost is the main function of a host process: what it does, a directory that is
// also its TMPDIR, and a mark for the command lines of what it starts.
func runHost(role string, args []string) {
	dir, mark := args[0], args[1]
	if role == "no pidns" {
		forbid("pid")
	}
	l := New(Config{})
	s := &sink{}
	run := func(steps ...string) *Process {
		p, err := l.Start(context.Background(), self(s, append(steps, mark)...))
		if err != nil {
			panic(err)
		}
		if err := healthy(p); err != nil {
			panic(err)
		}
		return p
	}
	switch role {
	case "orphans": // deaf plugins with deaf descendants, and one on its way; then it waits to be killed
		for range 2 {
			p := run("ignore:15", "setsid:"+mark, "grandchild:"+mark, shake, "serve", "hang")
			fmt.Println("uncovered", len(p.Uncovered()))
		}
		go func() {
			_, _ = l.Start(context.Background(), self(s, "ignore:15", "setsid:"+mark, "stdin", "exit:0", mark))
		}() // ends with the process
		fmt.Println("ready")
		select {}
	case "recycle":
		recycle(l, run(conforming...), dir)
	case "temp read-only", "temp noexec", "temp missing":
		startWithoutTemp(l, strings.TrimPrefix(role, "temp "), dir)
	case "ctrl-c":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGINT)
		p := run("markon:2,"+filepath.Join(dir, "interrupted"), shake, "serve", "stdin", "exit:0")
		fmt.Println("ready")
		<-c
		if err := healthy(p); err != nil {
			panic(err)
		}
		p.Stop(2*soon, 0)
		l.Close()
		fmt.Println("exit", p.Exit().Status)
	case "stdin":
		p := run("ignore:15", shake, "serve", "stdin", "exit:0")
		p.Stop(2*soon, 0)
		l.Close()
		own, _ := io.ReadAll(os.Stdin)
		fmt.Printf("plugin: %s\nhost: %s\n", bytes.TrimSpace(p.Exit().Stderr), own)
	case "first process":
		spec := self(s, "ignore:15", "grandchild:"+mark, shake, "serve", "hang", mark)
		spec.Sandbox = Sandbox{}
		p, err := l.Start(context.Background(), spec)
		if err != nil {
			panic(err)
		}
		p.Kill()
		fmt.Println("ready", os.Getpid())
		select {}
	case "sandboxes":
		l.Close()
		p, err := newPlace(dir)
		if err != nil {
			panic(err)
		}
		p.tryAll()
		p.close()
	case "strict":
		spec := self(s, "ignore:15", "grandchild:"+mark, shake, "serve", "hang", mark)
		spec.Sandbox = strictSandbox()
		if _, err := l.Start(context.Background(), spec); err != nil {
			panic(err)
		}
		fmt.Println("ready")
		select {}
	case "no netns":
		forbid("net")
		spec := self(s, conforming...)
		spec.Sandbox = helped()
		spec.Sandbox.Settings.NoNetwork = true
		_, err := l.Start(context.Background(), spec)
		fmt.Println(err)
		spec.Sandbox.Optional = []string{"*"}
		p, err := l.Start(context.Background(), spec)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%q\n", p.Uncovered())
		l.Close()
	case "no mntns":
		forbid("mnt")
		l.Close()
		p, err := newPlace(dir)
		if err != nil {
			panic(err)
		}
		p.tryLandlock()
		p.close()
	case "no pidns", "user", "user no dump":
		if role == "user no dump" {
			setDumpable(0)
		}
		p := run(append([]string{"ids"}, conforming...)...)
		p.Kill()
		l.Close()
		fmt.Printf("%s%q %s\n", s.text(), p.Uncovered(), p.Exit())
		if role == "user no dump" {
			fmt.Println("dumpable", dumpable())
		}
	}
}

// forbid forbids a kind of namespaces in the user namespace of this process.
func forbid(kind string) {
	if err := os.WriteFile("/proc/sys/user/max_"+kind+"_namespaces", []byte("0"), 0); err != nil {
		fmt.Println("skip", err)
		os.Exit(0)
	}
}

// hostProcess is a host that a test started.
type hostProcess struct {
	cmd  *exec.Cmd
	dir  string
	mark string
	out  *bufio.Reader
}

func startHost(t *testing.T, role string, change func(*exec.Cmd)) *hostProcess {
	t.Helper()
	h := &hostProcess{dir: shortDir(t), mark: fmt.Sprintf("mark-%d-%d", os.Getpid(), time.Now().UnixNano())}
	h.cmd = exec.Command(os.Args[0], "host", role, h.dir, h.mark)
	h.cmd.Stderr = os.Stderr
	h.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "TMPDIR="+h.dir)
	h.cmd.SysProcAttr = &syscall.SysProcAttr{}
	if change != nil {
		change(h.cmd)
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		t.Skip("cannot start such a host here:", err)
	}
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
		for _, pid := range marked(h.mark) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return h
}

// until reads what the host prints, up to a line with the prefix.
func (h *hostProcess) until(t *testing.T, prefix string) (before string) {
	t.Helper()
	for {
		line, err := h.out.ReadString('\n')
		if err != nil {
			t.Fatalf("no %q: %v after %q", prefix, err, before)
		}
		if strings.HasPrefix(line, prefix) {
			return before
		}
		before += line
	}
}

func (h *hostProcess) rest(t *testing.T) string {
	t.Helper()
	data, err := io.ReadAll(h.out)
	if err := errors.Join(err, h.cmd.Wait()); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	if strings.HasPrefix(string(data), "skip") {
		t.Skip(string(data))
	}
	return string(data)
}

// K4, D10: a host that is killed leaves no process, descendants that fled included,
// and no file but the empty directory of the one start that it was killed in.
func TestK4_HostIsKilled(t *testing.T) {
	t.Parallel()
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	var worst time.Duration
	for range rounds {
		h := startHost(t, "orphans", nil)
		if got := h.until(t, "ready"); got != "uncovered 0\nuncovered 0\n" {
			t.Skip("no pid namespaces here")
		}
		if n := len(marked(h.mark)); n < 7 { // the host, two plugins, four descendants
			t.Fatalf("only %d processes", n)
		}
		begin := time.Now()
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
		gone := func() bool { return len(marked(h.mark))+len(marked(h.mark)) == 0 } // one look may miss what is just being forked
		eventually(t, "all gone", func() bool { return gone() || time.Since(begin) > soon/2 })
		if !gone() {
			for _, pid := range marked(h.mark) {
				out, _ := exec.Command("sh", "-c", fmt.Sprintf("tr '\\0' ' ' </proc/%d/cmdline; grep -E 'PPid|State|NSpid|SigQ|SigPnd|ShdPnd' /proc/%[1]d/status", pid)).CombinedOutput()
				t.Errorf("%d: %s", pid, out)
			}
			t.Error("processes are left")
		}
		worst = max(worst, time.Since(begin))
		left, _ := os.ReadDir(h.dir)
		for _, e := range left {
			if len(left) > 1 || !strings.HasPrefix(e.Name(), "plugin-dir") || os.Remove(filepath.Join(h.dir, e.Name())) != nil {
				t.Errorf("left: %v", left)
			}
		}
	}
	t.Logf("SIGKILL of the host to the last process's end, worst of %d: %v", rounds, worst)
}

// K7: Ctrl-C reaches the host alone, which decides.
func TestK7_InterruptOfTheForegroundGroup(t *testing.T) {
	t.Parallel()
	h := startHost(t, "ctrl-c", func(c *exec.Cmd) { c.SysProcAttr.Setpgid = true })
	h.until(t, "ready")
	if err := syscall.Kill(-h.cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	h.until(t, "exit")
	if _, err := os.Stat(filepath.Join(h.dir, "interrupted")); err == nil {
		t.Error("the plugin got the signal")
	}
}

// S5: the plugin's stdin is the lifeline, not the host's.
func TestS5_HostsStdin(t *testing.T) {
	t.Parallel()
	h := startHost(t, "stdin", func(c *exec.Cmd) { c.Stdin = strings.NewReader("secret") })
	if got, want := h.rest(t), "plugin: stdin ended after 0 bytes\nhost: secret\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// K5, K11: a host may be process 1, and then it reaps what it inherits.
func TestK11_HostIsProcess1(t *testing.T) {
	t.Parallel()
	h := startHost(t, "first process", func(c *exec.Cmd) { c.SysProcAttr.Cloneflags = cloneNewPID })
	h.until(t, "ready 1")
	if kids := children(h.cmd.Process.Pid); len(kids) > 0 {
		t.Errorf("children: %v", kids)
	}
}

// Where the kernel refuses the namespace, the plugin runs without, and says so.
func TestUncovered_NamespaceRefused(t *testing.T) {
	t.Parallel()
	h := startHost(t, "no pidns", func(c *exec.Cmd) {
		c.SysProcAttr.Cloneflags = cloneNewUser
		c.SysProcAttr.UidMappings, c.SysProcAttr.GidMappings = mapSelf(os.Getuid()), mapSelf(os.Getgid())
	})
	got := h.rest(t)
	if strings.Contains(got, "pid 1 ") || !strings.Contains(got, `["no pid namespace (no space left on device): `) {
		t.Error(got)
	}
}

// A host that is not root makes the pid namespace through a user namespace.
func TestStart_NotRoot(t *testing.T) {
	t.Parallel()
	h := startNobody(t, "user")
	if got := h.rest(t); got != "stderr: pid 1 pgid 1\n[] ended by the host with SIGKILL\n" {
		if !strings.Contains(got, "no pid namespace") {
			t.Error(got)
		}
		t.Log(got)
	}
}

// T57: a host whose memory must not be dumped still makes that namespace, and cannot be dumped afterwards.
func TestT57_NamespaceInAHostThatCannotBeDumped(t *testing.T) {
	t.Parallel()
	if got := startNobody(t, "user").rest(t); strings.Contains(got, "no pid namespace") {
		t.Skip("no user namespaces here: ", got)
	}
	h := startNobody(t, "user no dump")
	if got := h.rest(t); got != "stderr: pid 1 pgid 1\n[] ended by the host with SIGKILL\ndumpable 0\n" {
		t.Error(got)
	}
}

// startNobody starts a host that is not root.
func startNobody(t *testing.T, role string) *hostProcess {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root to become somebody else")
	}
	bin := shortDir(t)
	if err := errors.Join(os.Chmod(bin, 0o755), copyFile(bin+"/host", os.Args[0]), os.Chmod(bin+"/host", 0o755)); err != nil {
		t.Fatal(err)
	}
	return startHost(t, role, func(c *exec.Cmd) {
		c.Path, c.Args[0], c.Dir = bin+"/host", bin+"/host", "/"
		c.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
		if err := os.Chown(c.Args[3], 65534, 65534); err != nil {
			t.Fatal(err)
		}
	})
}

// S6: a plugin listens on nothing.
func TestS6_NothingListens(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	p := start(t, newLauncher(t), self(nil, shake, "serve", "stdin"))
	defer p.Kill()
	sockets := socketsOf(p.PID())
	if len(sockets) == 0 {
		t.Fatal("not even the connection is found")
	}
	for _, file := range []string{"tcp", "tcp6", "udp", "udp6"} {
		for _, f := range table(file) {
			if len(f) > 9 && sockets[f[9]] {
				t.Errorf("%s socket %v", file, f)
			}
		}
	}
	for _, f := range table("unix") { // Num RefCount Protocol Flags Type St Inode Path
		if len(f) >= 7 && sockets[f[6]] && f[3] == "00010000" {
			t.Errorf("listens: %v", f)
		}
	}
}

func socketsOf(pid int) map[string]bool {
	found := map[string]bool{}
	links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
	for _, link := range links {
		target, _ := os.Readlink(link)
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			found[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return found
}

func table(name string) (rows [][]string) {
	data, _ := os.ReadFile("/proc/net/" + name)
	for line := range strings.Lines(string(data)) {
		rows = append(rows, strings.Fields(line))
	}
	return rows
}
