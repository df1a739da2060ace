package confine

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// Resources that package syscall does not name.
const rlimitNproc = 6

// limits sets what the kernel counts.
func (c *confiner) limits() {
	c.limitTasks()
	for _, l := range []struct {
		setting, mechanism string
		resource           int
		wanted             bool
		soft, hard         uint64
	}{
		{OpenFiles, "RLIMIT_NOFILE", syscall.RLIMIT_NOFILE, c.OpenFiles > 0, uint64(c.OpenFiles), uint64(c.OpenFiles)},
		{FileSize, "RLIMIT_FSIZE", syscall.RLIMIT_FSIZE, c.FileSize > 0, uint64(c.FileSize), uint64(c.FileSize)},
		{Core, "RLIMIT_CORE", syscall.RLIMIT_CORE, c.NoCore, 0, 0},
		// Both are the same: the hard one ends any program, and the soft one sends SIGXCPU, which Go programs survive.
		{CPU, "RLIMIT_CPU", syscall.RLIMIT_CPU, c.CPU > 0, uint64(c.CPU), uint64(c.CPU)},
		{Memory, "RLIMIT_DATA", syscall.RLIMIT_DATA, c.Memory > 0, uint64(c.Memory), uint64(c.Memory)},
	} {
		if l.wanted {
			c.need(l.setting, l.mechanism, lower(l.resource, l.soft, l.hard))
		}
	}
	if c.Umask != "" {
		n, err := strconv.ParseUint(c.Umask, 8, 9)
		if c.need(Umask, "umask", err) {
			syscall.Umask(int(n))
		}
	}
}

// lower sets a limit, unless a lower one is in force already.
func lower(resource int, soft, hard uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: min(soft, now.Max), Max: min(hard, now.Max)})
}

// countedByUser reports whether the kernel counts the tasks of this user in this user namespace alone. Root
// is not bound by that limit.
func (c *confiner) countedByUser() bool { return c.User && os.Getuid() != 0 && kernelAtLeast(5, 14) }

// limitTasks limits the tasks, once: by user if that counts here, else by the ids that the pid namespace
// has.
func (c *confiner) limitTasks() {
	n := c.Tasks
	if n == 0 {
		return
	}
	c.Tasks = 0
	const byIDs = "pid_max of a pid namespace"
	switch {
	case c.countedByUser():
		c.need(Tasks, "RLIMIT_NPROC in a user namespace", lower(rlimitNproc, uint64(n), uint64(n)))
	case !c.Own:
		c.need(Tasks, byIDs, errors.New("it has no pid namespace of its own"))
	case !kernelAtLeast(6, 14): // before, pid_max is the whole machine's
		c.need(Tasks, byIDs, errors.New("the kernel is older than 6.14"))
	default:
		c.need(Tasks, byIDs, limitIDs(n))
	}
}

// limitIDs leaves this pid namespace the ids for n tasks. The kernel does not give ids below 300 a second
// time; the first task beside this one gets 300, so that there are no others from the start. A kernel for
// many processors has a least pid_max, of 8 ids for each, and then that is the limit.
func limitIDs(n int) error {
	const dir = "/proc/sys/kernel/"
	for ids := max(301, 299+n); ; ids *= 2 {
		err := os.WriteFile(dir+"pid_max", []byte(strconv.Itoa(ids)), 0)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EINVAL) || ids > 1<<22 {
			return errors.New(reason(err))
		}
	}
	_ = os.WriteFile(dir+"ns_last_pid", []byte("299"), 0) // without it there are 299 more, once
	return nil
}
