package confine

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// What programs need to run, beside /proc and a directory for temporary files.
var (
	systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"}
	etcFiles   = []string{"ssl", "pki", "ca-certificates", "resolv.conf", "hosts", "host.conf", "gai.conf", "nsswitch.conf", "passwd", "group",
		"localtime", "services", "protocols", "mime.types", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives"}
	devices  = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
	devLinks = [][2]string{{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"},
		{"/proc/self/fd/2", "/dev/stderr"}, {"/tmp", "/dev/shm"}}
)

// tempSize bounds a private temporary directory.
const tempSize = "size=256m,nr_inodes=32k,mode=1777"

const tempFlags = syscall.MS_NOSUID | syscall.MS_NODEV

// files gives the program its own file system, temporary directory and /proc, as far as they are wanted.
func (c *confiner) files() {
	if c.Files {
		err := c.mounts
		if err == nil {
			err = c.newRoot()
		}
		if c.rooted = err == nil; c.rooted {
			return
		}
		if _, none := Landlock(); none != nil { // else Landlock alone keeps the list
			c.need(Files, "a new root, or Landlock", err)
			c.Files = false
		}
	}
	if c.PrivateTemp {
		err := c.mounts
		if err == nil {
			err = c.ownTemp()
		}
		c.need(PrivateTemp, "a tmpfs on /tmp", err)
	}
	if c.Mount && c.Own && c.mounts == nil {
		c.need(Mount, "a /proc of its own", syscall.Mount("proc", "/proc", "proc", procFlags, ""))
	}
}

const procFlags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC

// ownTemp mounts an empty /tmp. The program's own file stays, if it is there.
func (c *confiner) ownTemp() error {
	var self *tree
	if strings.HasPrefix(c.binary, "/tmp/") {
		var err error
		if self, err = clone(c.binary, 0); err != nil {
			return err
		}
	}
	if err := syscall.Mount("toolhost", "/tmp", "tmpfs", tempFlags, tempSize); err != nil || self == nil {
		return err
	}
	return self.place()
}

// newRoot makes a file system of what the program may see. Every part is copied before the root changes
// and put into its place after that, so that no link leads from one into the other. If it fails, nothing
// has changed.
func (c *confiner) newRoot() error {
	trees, err := c.parts()
	if err != nil {
		return err
	}
	base := "/tmp"
	if _, err := os.Stat(base); err != nil {
		base = "/proc"
	}
	if err := syscall.Mount("toolhost", base, "tmpfs", tempFlags, "size=4m,nr_inodes=8k,mode=755"); err != nil {
		return err
	}
	err = os.Mkdir(base+"/.old", 0o700)
	if err == nil {
		err = syscall.PivotRoot(base, base+"/.old")
	}
	if err != nil {
		_ = syscall.Unmount(base, syscall.MNT_DETACH)
		return err
	}
	if err = syscall.Chdir("/"); err == nil {
		err = c.furnish(trees)
	}
	if err == nil {
		err = syscall.Unmount("/.old", syscall.MNT_DETACH)
	}
	if err == nil {
		err = os.Remove("/.old")
	}
	if err == nil {
		err = syscall.Mount("", "/", "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|tempFlags, "")
	}
	if err != nil { // a root that is not complete runs nothing
		c.refuse(Miss{Files, "a new root", reason(err)})
	}
	return nil
}

// parts copies what the program may see, parents before what is in them.
func (c *confiner) parts() (trees []*tree, err error) {
	add := func(name string, attributes uint64, own bool) {
		if err != nil {
			return
		}
		t, e := clone(name, attributes)
		switch {
		case e == nil:
			trees = append(trees, t)
		case e != syscall.ENOENT:
			err = errors.New(name + ": " + e.Error())
		case own:
			c.need(Files, "mount "+name, e)
		}
	}
	for _, name := range systemDirs {
		if text, e := os.Readlink(name); e == nil {
			trees = append(trees, &tree{path: name, link: text})
			continue
		}
		add(name, readOnly|noSUID|noDev, false)
	}
	for _, name := range etcFiles {
		add("/etc/"+name, readOnly|noSUID|noDev, false)
	}
	for _, name := range devices {
		add(name, noSUID, false)
	}
	own := map[string]uint64{c.binary: readOnly | noSUID | noDev}
	for _, name := range c.Read {
		own[path.Clean(name)] = readOnly | noSUID | noDev
	}
	for _, name := range c.Write {
		own[path.Clean(name)] = noSUID | noDev
	}
	names := make([]string, 0, len(own))
	for name := range own {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		add(name, own[name], true)
	}
	return trees, err
}

// furnish fills the new root.
func (c *confiner) furnish(trees []*tree) error {
	for _, name := range []string{"/proc", "/dev", "/etc", "/tmp"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			return err
		}
	}
	if c.PrivateTemp {
		if err := syscall.Mount("toolhost", "/tmp", "tmpfs", tempFlags, tempSize); err != nil {
			return err
		}
	}
	if err := c.mountProc(); err != nil {
		return err
	}
	for _, t := range trees {
		if err := t.place(); err != nil {
			return errors.New(t.path + ": " + reason(err))
		}
	}
	for _, l := range devLinks {
		if err := os.Symlink(l[0], l[1]); err != nil && !errors.Is(err, syscall.EEXIST) {
			return err
		}
	}
	return nil
}

// mountProc mounts /proc into the new root, where nobody can write it: one that shows the program's pid
// namespace only, if it has one.
func (c *confiner) mountProc() error {
	if !c.Own || !c.need(PID, "a /proc of its own", syscall.Mount("proc", "/proc", "proc", procFlags, "")) {
		if err := syscall.Mount("/.old/proc", "/proc", "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return err
		}
	}
	if !c.countedByUser() { // the limit is a file of /proc
		c.limitTasks()
	}
	return syscall.Mount("", "/proc", "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|procFlags, "")
}

func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}
