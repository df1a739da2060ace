//go:build linux

package launch

import (
	"context"
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
	eventually(t, "no descendant", func() bool {
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
	eventually(t, "all gone", func() bool { return len(marked(h.mark)) == 0 })
}
