//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
)

// strictSandbox is host's profile strict, but for the memory: the race detector's would count.
func strictSandbox() Sandbox {
	return Sandbox{
		Helper: os.Args[0], PID: true, Hide: true, Pass: []string{}, Set: []string{"HOME=/tmp", "TMPDIR=/tmp"},
		Settings: confine.Settings{
			Mount: true, IPC: true, Host: true, NoNetwork: true, Files: true, PrivateTemp: true,
			Tasks: 256, OpenFiles: 256, FileSize: 64 << 20, NoCore: true, Umask: "77",
			NoNewPrivileges: true, NoCapabilities: true, Syscalls: true,
		},
	}
}

// helped is DefaultSandbox with the helper.
func helped() Sandbox {
	s := DefaultSandbox()
	s.Helper = os.Args[0]
	return s
}

// place is a directory with what the tests of sandboxes look for: secret, state/key, state/binaries/kept,
// in, out; and two listeners.
type place struct {
	dir, tcp, abstract string
	close              func()
}

func newPlace(dir string) (place, error) {
	p := place{dir: dir, abstract: "@" + dir}
	err := os.MkdirAll(dir+"/state/binaries", 0o700)
	for _, d := range []string{"in", "out"} {
		err = errors.Join(err, os.Mkdir(dir+"/"+d, 0o700))
	}
	for _, f := range []string{"secret", "state/key", "state/binaries/kept", "in/file"} {
		err = errors.Join(err, os.WriteFile(dir+"/"+f, []byte("content"), 0o600))
	}
	err = errors.Join(err, os.Setenv("SECRET_OF_THE_HOST", "s"), os.Setenv("LANG", "C"))
	tcp, e := net.Listen("tcp", "127.0.0.1:0")
	if err = errors.Join(err, e); err != nil {
		return p, err
	}
	unix, err := net.Listen("unix", p.abstract)
	if err != nil {
		return p, err
	}
	p.tcp, p.close = tcp.Addr().String(), func() { tcp.Close(); unix.Close() }
	return p, nil
}

// trial is a step that a plugin tries, and the parts of the answer, one of which must be there.
type trial struct{ step, want string }

// all is what plugins without a sandbox can do.
func (p place) all() []trial {
	return []trial{
		{"read:" + p.dir + "/secret", "read content"}, {"read:" + p.dir + "/state/key", "read content"},
		{"dial:tcp," + p.tcp, "done"}, {"dial:unix," + p.abstract, "done"},
		{"write:" + p.dir + "/in/new", "done"}, {"env", "LANG=C"},
	}
}

// strict is what plugins in the profile strict can do.
func (p place) strict() []trial {
	return []trial{
		{"env", "!SECRET_OF_THE_HOST"}, {"env", "!LANG="}, {"env", "HOME=/tmp"},
		{"read:" + p.dir + "/secret", "no such file|permission denied"},
		{"read:" + p.dir + "/state/key", "no such file|permission denied"},
		{"read:/etc/hostname", "no such file|permission denied"},
		{"list:/", "dev etc"}, {"list:" + filepath.Dir(p.dir), "!secret"},
		{"read:" + p.dir + "/in/file", "read content"},
		{"write:" + p.dir + "/in/file", "permission denied|read-only file system"},
		{"write:" + p.dir + "/in/new", "permission denied|read-only file system"},
		{"write:" + p.dir + "/out/new", "done"}, {"write:/usr/new", "permission denied|read-only file system"},
		{"write:/proc/sys/kernel/pid_max", "permission denied|read-only file system"},
		{"dial:tcp," + p.tcp, "network is unreachable"}, {"dial:unix," + p.abstract, "connection refused"},
		{"ptrace", "operation not permitted"}, {"mount", "operation not permitted"}, {"unshare", "operation not permitted"},
		{"newuser", "operation not permitted"}, {"packet", "operation not permitted"},
		{"processes", "1"}, {"ids", "pid 1 "}, {"hostname", "plugin"},
		{"status:CapEff", "0000000000000000"}, {"status:CapBnd", "0000000000000000"}, {"status:CapAmb", "0000000000000000"},
		{"status:NoNewPrivs", "1"}, {"status:Seccomp", "2"},
		{"temp:private", "/tmp/private -rw-------"}, {"dir", "/"},
	}
}

// try starts a plugin, has it try things, and reports what was not as wanted.
func (p place) try(s Sandbox, trials []trial, uncovered int) (wrong []string) {
	l := New(Config{Hide: []string{p.dir + "/state"}, Keep: "binaries"})
	defer l.Close()
	spec := self(nil, conforming...)
	spec.Sandbox = s
	proc, err := l.Start(context.Background(), spec)
	if err != nil {
		var e *StartError
		errors.As(err, &e)
		return []string{err.Error(), string(e.Exit.Stderr)}
	}
	defer proc.Kill()
	if u := proc.Uncovered(); len(u) != uncovered {
		wrong = append(wrong, fmt.Sprintf("uncovered: %q", u))
	}
	for _, t := range trials {
		got, err := ask(proc, t.step)
		ok := false
		for _, want := range strings.Split(t.want, "|") {
			want, not := strings.CutPrefix(want, "!")
			ok = ok || strings.Contains(got, want) != not
		}
		if err != nil || !ok {
			wrong = append(wrong, fmt.Sprintf("%s: %q, want %s: %v", t.step, got, t.want, err))
		}
	}
	if _, err := os.Stat("/tmp/private"); err == nil {
		wrong = append(wrong, "the private file is in the host's /tmp")
	}
	return wrong
}

// tryAll tries every profile, and prints what was wrong.
func (p place) tryAll() {
	report := func(name string, wrong []string) {
		for _, w := range wrong {
			fmt.Println(name+":", strings.ReplaceAll(w, "\n", "; "))
		}
	}
	report("none", p.try(Sandbox{}, p.all(), 0))
	hidden := []trial{
		{"read:" + p.dir + "/secret", "read content"}, {"read:" + p.dir + "/state/key", "no such file"},
		{"read:" + p.dir + "/state/binaries/kept", "read content"},
		{"write:" + p.dir + "/state/binaries/new", "read-only file system"}, {"write:" + p.dir + "/state/new", "read-only file system"},
		{"dial:tcp," + p.tcp, "done"}, {"list:" + p.dir + "/state", "binaries"}, {"ids", "pid 1 "}, {"env", "!SECRET_OF_THE_HOST"},
	}
	report("default", p.try(helped(), hidden, 0))
	if os.Getuid() == 0 {
		report("default without a helper", p.try(DefaultSandbox(), hidden, 0))
	} else {
		report("default without a helper", p.try(DefaultSandbox(), []trial{{"read:" + p.dir + "/state/key", "read content"}}, 1))
	}
	strict := strictSandbox()
	strict.Settings.Read, strict.Settings.Write = []string{p.dir + "/in"}, []string{p.dir + "/out"}
	report("strict", p.try(strict, p.strict(), 0))
	strict.Settings.Read = []string{p.dir} // all of it: the state is hidden all the same
	report("strict, reads all", p.try(strict, []trial{
		{"read:" + p.dir + "/secret", "read content"}, {"write:" + p.dir + "/secret", "permission denied|read-only file system"},
		{"read:" + p.dir + "/state/key", "no such file"}, {"write:" + p.dir + "/out/more", "done"},
	}, 0))
	network := helped()
	network.Settings.NoNetwork = true
	report("network none", p.try(network, []trial{
		{"dial:tcp," + p.tcp, "network is unreachable"}, {"dial:unix," + p.abstract, "connection refused"}, {"read:" + p.dir + "/secret", "read content"},
		{"status:CapEff", map[bool]string{true: "", false: "0000000000000000"}[os.Getuid() == 0]},
	}, 0))
	temp := helped()
	temp.Settings.PrivateTemp, temp.Set = true, []string{"TMPDIR=/tmp"}
	report("private temp", p.try(temp, []trial{{"temp:private", "/tmp/private "}, {"read:" + p.dir + "/secret", "no such file"}}, 0))
	report("host that changed its directory", p.tryDirectory())
	report("strict from a copy", p.tryCopy(strictSandbox()))
	report("default from a copy", p.tryCopy(helped()))
}

// tryDirectory starts two plugins, and the host changes its working directory in between.
func (p place) tryDirectory() (wrong []string) {
	l := New(Config{Hide: []string{p.dir + "/state"}, Keep: "binaries"})
	defer l.Close()
	for _, want := range []string{p.dir + "/in", p.dir + "/out"} {
		spec := self(nil, conforming...)
		spec.Sandbox = helped()
		if err := os.Chdir(want); err != nil {
			return []string{err.Error()}
		}
		proc, err := l.Start(context.Background(), spec)
		if err != nil {
			return []string{err.Error()}
		}
		if got, err := ask(proc, "dir"); err != nil || got != want {
			wrong = append(wrong, fmt.Sprintf("directory %q, want %s: %v", got, want, err))
		}
		proc.Kill()
	}
	return wrong
}

// tryLandlock tries the list of paths where there are no mounts.
func (p place) tryLandlock() {
	s := Sandbox{Helper: os.Args[0], Settings: confine.Settings{Files: true, Read: []string{p.dir + "/in"}, Write: []string{p.dir + "/out"}}}
	for _, w := range p.try(s, []trial{
		{"read:" + p.dir + "/secret", "permission denied"}, {"read:" + p.dir + "/in/file", "read content"}, {"read:/etc/hostname", "permission denied"},
		{"write:" + p.dir + "/in/new", "permission denied"}, {"write:" + p.dir + "/out/new", "done"}, {"write:/dev/null", "done"},
		{"list:" + p.dir, "permission denied"}, {"list:/usr", "lib"}, {"status:NoNewPrivs", "1"},
	}, 0) {
		fmt.Println(w)
	}
}

// tryCopy runs a private copy of the plugin, from the directory that is hidden but for the copies.
func (p place) tryCopy(s Sandbox) (wrong []string) {
	binary := p.dir + "/state/binaries/abc"
	if _, err := os.Stat(binary); err != nil {
		if err := copyFile(binary, os.Args[0]); err != nil {
			return []string{err.Error()}
		}
	}
	l := New(Config{Hide: []string{p.dir + "/state"}, Keep: "binaries"})
	defer l.Close()
	spec := self(nil, conforming...)
	spec.Sandbox, spec.Path, spec.Binary = s, "/plugins/toolplugin-x", binary
	proc, err := l.Start(context.Background(), spec)
	if err != nil {
		return []string{err.Error()}
	}
	defer proc.Kill()
	if got, err := ask(proc, "argv0"); err != nil || got != "/plugins/toolplugin-x" {
		return []string{fmt.Sprintf("argv[0]: %q %v", got, err)}
	}
	return nil
}

// TestT42_Sandboxes holds the profiles and single settings to what they promise, for root.
func TestT42_Sandboxes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the other test is for others than root")
	}
	h := startHost(t, "sandboxes", nil)
	if got := h.rest(t); got != "" {
		t.Error(got)
	}
}

// TestT42_SandboxesOfNobody does it for a user without any right.
func TestT42_SandboxesOfNobody(t *testing.T) {
	h := startNobody(t, "sandboxes")
	if got := h.rest(t); got != "" {
		t.Error(got)
	}
}

// T42: a plugin that lies in the directory that is hidden from it is refused with the reason.
func TestT42_PluginInTheHiddenDirectory(t *testing.T) {
	dir := shortDir(t)
	if err := copyFile(dir+"/plugin", os.Args[0]); err != nil {
		t.Fatal(err)
	}
	l := New(Config{Hide: []string{dir}, Keep: "binaries"})
	t.Cleanup(l.Close)
	spec := self(nil, conforming...)
	spec.Path = dir + "/plugin"
	if e := refuse(t, l, spec); e.Cause != CausePath || !strings.Contains(e.Error(), "which is hidden from plugins") {
		t.Error(e)
	}
}

// S12: a death by a limit names the limit.
func TestS12_LimitsAreNamed(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(shortDir(t), "limits")
	build := exec.Command("go", "build", "-o", bin, "./testdata/limits")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("cannot build a plugin: %v: %s", err, out)
	}
	tests := []struct {
		does  string
		set   confine.Settings
		cause Cause
		limit string
	}{
		{"memory", confine.Settings{Memory: 256 << 20}, CauseMemory, "memory limit of 256 MiB"},
		{"child memory", confine.Settings{Memory: 256 << 20}, CauseMemory, "memory limit of 256 MiB"},
		{"cpu", confine.Settings{CPU: 1}, CauseCPU, "CPU time of 1s"},
		{"file", confine.Settings{FileSize: 3 << 20, PrivateTemp: true}, CauseFileSize, "file size limit of 3 MiB"},
		{"descriptors", confine.Settings{OpenFiles: 50}, CauseOpenFiles, "limit of 50 open files"},
		{"tasks", confine.Settings{Tasks: 40}, CauseTasks, "limit of 40 tasks"},
	}
	for _, tt := range tests {
		t.Run(tt.does, func(t *testing.T) {
			t.Parallel()
			s := helped()
			s.Settings = tt.set
			if tt.set.PrivateTemp {
				s.Set = []string{"TMPDIR=/tmp"}
			}
			e := refuse(t, newLauncher(t), Spec{Path: bin, Args: []string{tt.does}, Sandbox: s, Timeout: 60 * time.Second})
			if e.Cause == CauseSandbox && tt.set.Tasks > 0 {
				t.Skip("this kernel limits no tasks: ", e)
			}
			if e.Cause != tt.cause || e.Exit.Limit != tt.limit || !strings.Contains(e.Error(), "exceeded its "+tt.limit) {
				t.Errorf("%v, %+v", e, e.Exit.Limit)
				t.Logf("%s", e.Exit.Stderr)
			}
		})
	}
}

// S11: a fork bomb ends with its plugin, and a sibling answers all the time.
func TestS11_ForkBombUnderATaskLimit(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	sibling := start(t, l, self(nil, conforming...))
	defer sibling.Kill()
	spec := self(nil, conforming...)
	spec.Sandbox = helped()
	spec.Sandbox.Settings.Tasks = 64
	bomb, err := l.Start(context.Background(), spec)
	if e, ok := err.(*StartError); ok && e.Cause == CauseSandbox {
		t.Skip("this kernel limits no tasks: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer bomb.Kill()
	got := do(t, bomb, "bomb")
	n, why, _ := strings.Cut(got, " children: ")
	if count, _ := strconv.Atoi(n); count < 20 || count > 64 || !strings.Contains(why, "resource temporarily unavailable") {
		t.Error(got)
	}
	if err := healthy(sibling); err != nil {
		t.Error(err)
	}
	members := descendants(bomb.PID())
	if len(members) < 20 {
		t.Errorf("%d descendants", len(members))
	}
	bomb.Kill()
	eventually(t, 5*time.Second, "no descendant", func() bool {
		for _, pid := range members {
			if alive(pid) {
				return false
			}
		}
		return true
	})
	if err := healthy(sibling); err != nil {
		t.Error(err)
	}
}

func descendants(pid int) (all []int) {
	for _, kid := range children(pid) {
		all = append(append(all, kid), descendants(kid)...)
	}
	return all
}

// What this machine cannot give refuses the start, or is listed.
func TestSandbox_Missing(t *testing.T) {
	l := newLauncher(t)
	without := strictSandbox()
	without.Helper = ""
	wrong := strictSandbox()
	wrong.Helper = "/no/such/helper"
	for name, s := range map[string]Sandbox{"no helper": without, "helper that is not there": wrong} {
		spec := self(nil, conforming...)
		spec.Sandbox = s
		e := refuse(t, l, spec)
		if e.Cause != CauseSandbox || !strings.Contains(e.Error(), "start test: sandbox: read, write: ") || !strings.Contains(e.Error(), "bestEffort: true") {
			t.Errorf("%s: %v", name, e)
		}
	}
	without.Optional = []string{"*"}
	spec := self(nil, conforming...)
	spec.Sandbox = without
	p := start(t, l, spec)
	defer p.Kill()
	if u := p.Uncovered(); len(u) < 10 || !strings.HasPrefix(u[0], "read, write: toolhost-sandbox: the helper is not there") {
		t.Errorf("%q", u)
	}
	bad := strictSandbox()
	bad.Settings.Read = []string{"/no/such/directory"}
	spec.Sandbox = bad
	if e := refuse(t, l, spec); e.Cause != CauseSandbox || !strings.Contains(e.Error(), "read, write: mount /no/such/directory: no such file") {
		t.Error(e)
	}
}

// A namespace that the kernel refuses is named with the kernel's word.
func TestSandbox_NamespaceRefused(t *testing.T) {
	t.Parallel()
	h := startHost(t, "no netns", func(c *exec.Cmd) {
		c.SysProcAttr.Cloneflags = cloneNewUser
		c.SysProcAttr.UidMappings, c.SysProcAttr.GidMappings = mapSelf(os.Getuid()), mapSelf(os.Getgid())
	})
	got := h.rest(t)
	want := "start test: sandbox: network: a network namespace: no space left on device; with bestEffort: true in its sandbox it starts without\n" +
		`["network: a network namespace: no space left on device"]` + "\n"
	if got != want {
		t.Error(got)
	}
}

// Where mounts are refused, Landlock alone keeps the list of paths.
func TestSandbox_LandlockAlone(t *testing.T) {
	t.Parallel()
	if _, err := confine.Landlock(); err != nil {
		t.Skip("no Landlock here: ", err)
	}
	h := startHost(t, "no mntns", func(c *exec.Cmd) {
		c.SysProcAttr.Cloneflags = cloneNewUser
		c.SysProcAttr.UidMappings, c.SysProcAttr.GidMappings = mapSelf(os.Getuid()), mapSelf(os.Getgid())
	})
	if got := h.rest(t); got != "" {
		t.Error(got)
	}
}

// The helper's own death is not the plugin's, and a plugin that cannot be executed is told apart.
func TestSandbox_PluginIsNotExecuted(t *testing.T) {
	dir := shortDir(t)
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!"+dir+"/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(dir+"/interpreter", "/bin/true"); err != nil {
		t.Fatal(err)
	}
	s := strictSandbox() // which hides the interpreter
	if e := refuse(t, newLauncher(t), Spec{Path: script, Sandbox: s}); e.Cause != CauseInterpreter {
		t.Error(e)
	}
	s.Settings.Read = []string{dir + "/interpreter"}
	if e := refuse(t, newLauncher(t), Spec{Path: script, Sandbox: s}); e.Cause != CauseExited || e.Exit.Status != 0 {
		t.Error(e)
	}
}

// K4: the helper asks for the parent-death signal again, which its change of rights has cancelled.
func TestK4_HostIsKilledWithAStrictPlugin(t *testing.T) {
	t.Parallel()
	h := startHost(t, "strict", nil)
	h.until(t, "ready")
	if len(marked(h.mark)) < 3 {
		t.Fatal("no plugin, or no descendant")
	}
	_ = h.cmd.Process.Signal(syscall.SIGKILL)
	_ = h.cmd.Wait()
	eventually(t, 2*time.Second, "all gone", func() bool { return len(marked(h.mark)) == 0 })
}
