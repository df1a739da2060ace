package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
)

// reportFD is the helper's descriptor for its report: the first after those that a plugin has.
const reportFD = 5

// hidesByThread reports whether directories are hidden by a thread of the host's, in a mount namespace that
// only root may make; else by the helper.
func hidesByThread() bool { return os.Geteuid() == 0 }

// hideFromThread gives the calling thread a mount namespace of its own in which directories are empty. They
// are made if they are not there: what is made later would not be hidden.
func hideFromThread(dirs []string, keep string) error {
	dirs = makeHidden(dirs, keep)
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	// What is mounted on the machine later arrives here too; what is mounted here stays here.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return err
	}
	for _, dir := range dirs {
		if err := confine.Hide(dir, keep); err != nil {
			return err
		}
	}
	return nil
}

// makeHidden makes the directories, and returns those that are there.
func makeHidden(dirs []string, keep string) (there []string) {
	for _, dir := range dirs {
		_ = os.MkdirAll(filepath.Join(dir, keep), 0o700)
		if _, err := os.Stat(dir); err == nil {
			there = append(there, dir)
		}
	}
	return there
}

// fork makes a process in its sandbox: by itself where the zero value or a pid namespace is enough, through
// the helper else.
func (r forkRequest) fork() (child, error) {
	settings := r.spec.Sandbox.Settings
	if r.group = groupFor(r.cgroups, &settings); r.group != nil {
		c, err := r.forkWith(settings)
		if c.group = r.group; err == nil {
			return c, nil
		}
		r.group.remove()
		if r.group = nil; errors.Is(err, errTextBusy) {
			return child{}, err
		}
	}
	return r.forkWith(r.spec.Sandbox.Settings) // also where the group did not take it
}

// forkWith makes a process with settings, if all that is not optional can be had.
func (r forkRequest) forkWith(settings confine.Settings) (c child, err error) {
	s := &r.spec.Sandbox
	settings.Optional, settings.Dir = s.Optional, r.spec.Dir
	if r.unhides != nil {
		if err := s.lacks(&c, confine.Miss{Setting: confine.State, Mechanism: "a mount namespace", Why: r.unhides.Error()}); err != nil {
			return c, err
		}
	}
	wanted := wanted(settings)
	if settings.Hide, settings.Keep = makeHidden(r.hide, r.keep), r.keep; len(settings.Hide) > 0 {
		wanted = append(wanted, confine.State)
	}
	if s.Helper == "" {
		for _, setting := range wanted {
			if err := s.lacks(&c, confine.Miss{Setting: setting, Mechanism: confine.Name, Why: errNoHelper.Error()}); err != nil {
				return c, err
			}
		}
		wanted = nil
	}
	return r.forkIn(c, settings, wanted)
}

// forkIn makes the process, in namespaces if the kernel gives them.
func (r forkRequest) forkIn(c child, settings confine.Settings, wanted []string) (child, error) {
	attr := r.attr()
	r.group.enter(attr.Sys)
	if flags := r.namespaces(attr.Sys, len(wanted) > 0); flags != 0 {
		settings.Own, settings.User = flags&unix.CLONE_NEWPID != 0, flags&unix.CLONE_NEWUSER != 0
		err := r.execute(&c, attr, settings, wanted)
		if err == nil || !namespaceRefused(err) {
			return c, err
		}
		if settings.Own {
			if !r.spec.Sandbox.optional(confine.PID) {
				return c, refusal(confine.Miss{Setting: confine.PID, Mechanism: namespaceKind(flags), Why: reason(err)})
			}
			c.uncovered = append(c.uncovered, "no pid namespace ("+reason(err)+"): a descendant that leaves the plugin's group survives it")
		}
		settings.Own, settings.User = false, false
		attr = r.attr()
		r.group.enter(attr.Sys)
	}
	err := r.execute(&c, attr, settings, wanted)
	return c, err
}

// namespaces adds the namespaces that are made by the fork itself. When the process that is the first of a
// pid namespace ends, the kernel kills every other in it. Without the right to make a namespace, they come
// in one of users, in which the user is nobody but himself; the helper needs rights there, and gives them
// up.
func (r forkRequest) namespaces(sys *syscall.SysProcAttr, helper bool) uintptr {
	if r.spec.Sandbox.PID {
		sys.Cloneflags = unix.CLONE_NEWPID
	}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 && (r.spec.Sandbox.PID || helper) {
		sys.Cloneflags |= unix.CLONE_NEWUSER
		sys.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		sys.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		if helper {
			sys.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
		}
	}
	return sys.Cloneflags
}

// execute starts the plugin, or the helper that will execute it if any setting of its is wanted.
func (r forkRequest) execute(c *child, attr *os.ProcAttr, settings confine.Settings, wanted []string) (err error) {
	if len(wanted) == 0 {
		c.proc, err = startNamespaced(r.spec.Binary, r.argv(), attr)
		return err
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return err
	}
	defer writer.Close()
	for len(attr.Files) <= reportFD {
		attr.Files = append(attr.Files, nil)
	}
	attr.Files[reportFD] = writer
	settings.Report = reportFD
	argv := append([]string{confine.Name}, settings.Args(r.spec.Binary, r.argv()...)...)
	c.proc, err = startNamespaced(r.spec.Sandbox.Helper, argv, attr)
	if err != nil {
		reader.Close()
		if namespaceRefused(err) && attr.Sys.Cloneflags != 0 {
			return err
		}
		return refusal(confine.Miss{Setting: wanted[0], Mechanism: "the helper " + r.spec.Sandbox.Helper, Why: reason(err)})
	}
	c.report = reader
	return nil
}

func namespaceKind(flags uintptr) string {
	if flags&unix.CLONE_NEWUSER != 0 {
		return "a pid namespace in a user namespace"
	}
	return "a pid namespace"
}

// namespaceRefused reports whether an error of StartProcess may be the kernel's refusal of a namespace: the
// next try, without, shows whether it was.
func namespaceRefused(err error) bool {
	for _, e := range []syscall.Errno{syscall.EPERM, syscall.EACCES, syscall.ENOSPC, syscall.EINVAL, syscall.ENOSYS, syscall.EUSERS} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// reason is the kernel's word in an error.
func reason(err error) string {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return strings.TrimSpace(err.Error())
}
