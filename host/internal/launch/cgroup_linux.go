package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
)

// cgroup is a control group (version 2) of one process and all its descendants.
type cgroup struct {
	dir  string
	file *os.File
}

// cgroupPrefix begins the name of a group; the host's process id and a number follow.
const cgroupPrefix = "toolhost-"

var cgroupNumber atomic.Int64

// delegatedCgroup is where this process may make control groups, or empty.
func delegatedCgroup() string {
	parent := confine.Cgroup()
	if parent != "" {
		sweepCgroups(parent)
	}
	return parent
}

// sweepCgroups removes the groups of hosts that were killed. Those that are in use stay.
func sweepCgroups(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, cgroupPrefix+"*"))
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), cgroupPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && syscall.Kill(n, 0) == syscall.ESRCH {
			_ = syscall.Rmdir(dir)
		}
	}
}

// newCgroup makes a group with limits, each the name of a file and what to write into it. The controllers
// must be there, or it must be possible to switch them on.
func newCgroup(parent string, controllers []string, limits [][2]string) (*cgroup, error) {
	if parent == "" {
		return nil, errors.New("no control group was handed over to this host")
	}
	have, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
	if err != nil {
		return nil, err
	}
	for _, c := range controllers {
		if !slices.Contains(strings.Fields(string(have)), c) {
			if err := writeFile(parent, "cgroup.subtree_control", "+"+c); err != nil {
				return nil, err
			}
		}
	}
	g := &cgroup{dir: filepath.Join(parent, fmt.Sprintf("%s%d-%d", cgroupPrefix, os.Getpid(), cgroupNumber.Add(1)))}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		return nil, err
	}
	for _, l := range limits {
		if err := writeFile(g.dir, l[0], l[1]); err != nil {
			g.remove()
			return nil, err
		}
	}
	if g.file, err = os.Open(g.dir); err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// groupFor makes the group for the limits of settings, and takes them out of what the helper is to do; nil
// if there are none or the machine gives no group, and then the helper has other means.
func groupFor(parent func() string, settings *confine.Settings) *cgroup {
	var controllers []string
	var limits [][2]string
	if settings.Memory > 0 {
		controllers = append(controllers, "memory")
		limits = append(limits, [2]string{"memory.max", strconv.FormatInt(settings.Memory, 10)}, [2]string{"memory.oom.group", "1"})
	}
	if settings.Tasks > 0 {
		controllers = append(controllers, "pids")
		limits = append(limits, [2]string{"pids.max", strconv.Itoa(settings.Tasks)})
	}
	if limits == nil {
		return nil
	}
	g, err := newCgroup(parent(), controllers, limits)
	if err != nil {
		return nil
	}
	_ = writeFile(g.dir, "memory.swap.max", "0") // not there without swap accounting
	settings.Memory, settings.Tasks = 0, 0
	return g
}

// enter has a fork make its process in the group.
func (g *cgroup) enter(sys *syscall.SysProcAttr) {
	if g != nil {
		sys.UseCgroupFD, sys.CgroupFD = true, int(g.file.Fd())
	}
}

// outOfMemory reports whether the kernel killed a process of the group for its memory.
func (g *cgroup) outOfMemory() bool {
	if g == nil {
		return false
	}
	data, _ := os.ReadFile(filepath.Join(g.dir, "memory.events"))
	for line := range strings.Lines(string(data)) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok && strings.TrimSpace(n) != "0" {
			return true
		}
	}
	return false
}

// remove kills what is in the group and removes it; it waits 200 ms at most for the kernel to let go.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	g.file.Close() // of nil, if there is none yet, it does nothing
	_ = writeFile(g.dir, "cgroup.kill", "1")
	for end := time.Now().Add(drainPipes); syscall.Rmdir(g.dir) == syscall.EBUSY && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// writeFile writes into a file that is there: os.WriteFile would make it elsewhere.
func writeFile(dir, name, text string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
