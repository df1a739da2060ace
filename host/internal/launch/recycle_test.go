//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recycle is a host, process 1 of a pid namespace, whose plugin p dies, and whose id somebody else then has.
func recycle(l *Launcher, p *Process, dir string) {
	pid := p.PID()
	_ = syscall.Kill(pid, syscall.SIGKILL)
	<-p.Done()
	other, err := withPID(pid)
	if err != nil {
		fmt.Println("skip", err)
		return
	}
	p.Stop(50*time.Millisecond, 50*time.Millisecond)
	p.Kill()
	l.Close()
	state := "alive"
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		state = err.Error()
	}
	var status syscall.WaitStatus
	if got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); err != nil || got != 0 {
		state = fmt.Sprint("ended: ", status)
	}
	fmt.Println(pid, "is", state)
	_ = other.Process.Kill()
	_ = other.Wait()
}

// withPID starts a process that has an id, which must be free.
func withPID(pid int) (*exec.Cmd, error) {
	var err error
	for range 50 { // a new thread may take the id; then it is not free, and the next try takes another one
		if err = os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			return nil, err
		}
		cmd := exec.Command("/bin/sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its group has the id too
		if err = cmd.Start(); err != nil {
			return nil, err
		}
		if cmd.Process.Pid == pid {
			return cmd, nil
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return nil, errors.New("the id cannot be had again")
}

// K13: when the process id of a plugin that has ended belongs to somebody else, no stop and no kill reaches them.
func TestK13_RecycledProcessID(t *testing.T) {
	t.Parallel()
	h := startHost(t, "recycle", func(c *exec.Cmd) { c.SysProcAttr.Cloneflags = cloneNewPID })
	if got := h.rest(t); !strings.HasSuffix(got, " is alive\n") {
		t.Error(got)
	}
}

// startWithoutTemp is a host in a mount namespace of its own whose directory for temporary files is not usable.
func startWithoutTemp(l *Launcher, how, dir string) {
	var err error
	switch how {
	case "read-only":
		err = syscall.Mount("none", dir, "tmpfs", syscall.MS_RDONLY, "")
	case "noexec":
		err = syscall.Mount("none", dir, "tmpfs", syscall.MS_NOEXEC, "")
	case "missing":
		err = os.Remove(dir)
	}
	if err != nil {
		fmt.Println("skip", err)
		return
	}
	s := self(nil, conforming...)
	p, err := l.Start(context.Background(), s)
	if err != nil {
		fmt.Println("start:", err)
		return
	}
	err = healthy(p)
	p.Kill()
	l.Close()
	fmt.Println("healthy:", err)
}

// L10: a directory that cannot be used is named, with what is wrong; one that only forbids programs is good enough, since
// no program is put there.
func TestL10_TemporaryDirectory(t *testing.T) {
	t.Parallel()
	for how, says := range map[string]string{
		"read-only": "read-only file system", "missing": "no such file or directory", "noexec": "healthy: <nil>",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := startHost(t, "temp "+how, func(c *exec.Cmd) {
				c.SysProcAttr.Cloneflags = syscall.CLONE_NEWNS
				if os.Getuid() != 0 {
					c.SysProcAttr.Cloneflags |= cloneNewUser
					c.SysProcAttr.UidMappings, c.SysProcAttr.GidMappings = mapSelf(os.Getuid()), mapSelf(os.Getgid())
				}
				c.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // its mounts are its own
			})
			got := h.rest(t)
			if !strings.Contains(got, says) || how != "noexec" && (!strings.Contains(got, "the host's temporary directory") || !strings.Contains(got, h.dir) || !strings.Contains(got, "TMPDIR")) {
				t.Error(got)
			}
		})
	}
}
