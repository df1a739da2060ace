package confine

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
)

// confiner is one run of the helper. All of it happens on one OS thread: what a thread has of its own
// (mount namespace, capabilities, filters) is what the program gets that it executes.
type confiner struct {
	Settings
	binary string
	mounts error // why there is no mount namespace of its own; nil if there is one
	rooted bool  // the root is a new one
}

// Main confines the process as args say, a whole command line, and executes the program. It returns, with
// [Status], only if that failed.
func Main(args []string) int {
	runtime.LockOSThread()
	s, binary, argv, wrong := parse(args[min(1, len(args)):])
	if wrong != "" {
		_, _ = os.Stderr.WriteString(Name + ": cannot use " + wrong + ": toolhost starts this program, to confine plugins\n")
		return Status
	}
	c := &confiner{Settings: s, binary: binary}
	if c.Report != 0 {
		syscall.CloseOnExec(c.Report)
	}
	for _, step := range []func(){c.namespaces, c.hide, c.files, c.directory, c.limits, c.rights, c.survive} {
		step()
	}
	err := syscall.Exec(binary, argv, os.Environ())
	var errno syscall.Errno
	errors.As(err, &errno)
	c.say("exec\t" + strconv.Itoa(int(errno)) + "\n")
	return Status
}

// need ends the process if err is not nil, unless the program may run without the setting.
func (c *confiner) need(setting, mechanism string, err error) (given bool) {
	if err == nil {
		return true
	}
	m := Miss{setting, mechanism, err.Error()}
	if slices.Contains(c.Optional, setting) || slices.Contains(c.Optional, "*") {
		c.say(m.line("missing"))
		return false
	}
	c.refuse(m)
	return false
}

func (c *confiner) refuse(m Miss) {
	c.say(m.line("refused"))
	os.Exit(Status)
}

func (c *confiner) say(line string) {
	fd := c.Report
	if fd == 0 {
		fd = 2
	}
	_, _ = syscall.Write(fd, []byte(line))
}

// namespaces leaves the host's namespaces, but for those of users and pids, which only a fork can leave.
func (c *confiner) namespaces() {
	if c.Mount || c.Files || c.PrivateTemp || len(c.Hide) > 0 {
		c.mounts = c.ownMounts()
		if c.Mount {
			c.need(Mount, "a mount namespace", c.mounts)
		}
	}
	for _, ns := range []struct {
		wanted             bool
		flag               int
		setting, mechanism string
	}{
		{c.IPC, syscall.CLONE_NEWIPC, IPC, "an IPC namespace"},
		{c.Host, syscall.CLONE_NEWUTS, HostName, "a UTS namespace"},
		{c.NoNetwork, syscall.CLONE_NEWNET, Network, "a network namespace"},
	} {
		if ns.wanted && c.need(ns.setting, ns.mechanism, syscall.Unshare(ns.flag)) && ns.setting == HostName {
			c.need(HostName, "sethostname", syscall.Sethostname([]byte("plugin")))
		}
	}
}

// ownMounts leaves the mount namespace. What is mounted outside later arrives, what is mounted here stays.
func (c *confiner) ownMounts() error {
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return err
	}
	return syscall.Mount("", "/", "", syscall.MS_SLAVE|syscall.MS_REC, "")
}

// hide hides directories of the host's.
func (c *confiner) hide() {
	err := c.mounts
	for _, dir := range c.Hide {
		if err == nil {
			err = Hide(dir, c.Keep)
		}
	}
	if len(c.Hide) > 0 {
		c.need(State, "an empty file system over it", err)
	}
}

func (c *confiner) directory() {
	dir := c.Dir
	if dir == "" && c.rooted {
		dir = "/"
	}
	if dir != "" {
		c.need(Dir, "chdir to "+dir, syscall.Chdir(dir))
	}
}

// survive asks for the signal that comes when the host dies, which a change of capabilities has cancelled,
// and ends here if the host died before that: its end of the lifeline, stdin, is closed then.
func (c *confiner) survive() {
	_ = prctl(syscall.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL))
	if hungUp(0) {
		os.Exit(Status)
	}
}
