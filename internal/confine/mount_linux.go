package confine

import (
	"os"
	"path"
	"strconv"
	"syscall"
	"unsafe"
)

// Hide mounts an empty file system that cannot be written over a directory, in the mount namespace of the
// calling OS thread, which must be one of its own. If keep is not empty, the directory's subdirectory of
// that name stays, and cannot be written through this mount.
func Hide(dir, keep string) error {
	kept := -1
	if keep != "" {
		fd, err := syscall.Open(path.Join(dir, keep), openPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		switch {
		case err == nil:
			kept = fd
			defer syscall.Close(fd)
		case err != syscall.ENOENT:
			return err
		}
	}
	const quiet = syscall.MS_NOSUID | syscall.MS_NODEV
	if err := syscall.Mount("toolhost", dir, "tmpfs", quiet|syscall.MS_NOEXEC, "size=16k,nr_inodes=16,mode=755"); err != nil {
		return err
	}
	if kept >= 0 {
		at := path.Join(dir, keep)
		if err := syscall.Mkdir(at, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount("/proc/self/fd/"+strconv.Itoa(kept), at, "", syscall.MS_BIND, ""); err != nil {
			return err
		}
		if err := protect(at); err != nil {
			return err
		}
	}
	return syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|quiet|syscall.MS_NOEXEC, "")
}

// protect makes what is mounted at a path read-only. The older call, for kernels before 5.12, cannot leave
// the mount's other flags as they are, which is refused where they are not for this process to change.
func protect(at string) error {
	p, err := syscall.BytePtrFromString(at)
	if err != nil {
		return err
	}
	err = setAttributes(atFDCWD, p, 0, readOnly|noSUID|noDev)
	if err == syscall.ENOSYS {
		err = syscall.Mount("", at, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY|syscall.MS_NOSUID|syscall.MS_NODEV, "")
	}
	return err
}

func setAttributes(at int, name *byte, flags uintptr, attributes uint64) error {
	attr := struct{ set, clear, propagation, userns uint64 }{set: attributes}
	_, _, e := syscall.Syscall6(sysMountSetattr, uintptr(at), uintptr(unsafe.Pointer(name)), flags,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	return errnoErr(e)
}

// tree is a copy of a part of the mount tree that is not mounted anywhere yet.
type tree struct {
	fd   int
	path string // where it is from, and where it belongs
	dir  bool
	link string // it is a symbolic link, with this text, and fd is none
}

// Attributes of a mount.
const (
	readOnly = 0x1
	noSUID   = 0x2
	noDev    = 0x4
)

// clone copies the mount tree at a path, symbolic links followed, with attributes in addition.
func clone(name string, attributes uint64) (*tree, error) {
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return nil, err
	}
	const cloneTree = 1 // OPEN_TREE_CLONE
	at := atFDCWD
	fd, _, e := syscall.Syscall(sysOpenTree, uintptr(at), uintptr(unsafe.Pointer(p)), cloneTree|syscall.O_CLOEXEC|atRecursive)
	if e != 0 {
		return nil, e
	}
	t := &tree{fd: int(fd), path: name}
	var info syscall.Stat_t
	if err := syscall.Fstat(t.fd, &info); err != nil {
		return nil, err
	}
	t.dir = info.Mode&syscall.S_IFMT == syscall.S_IFDIR
	return t, setAttributes(t.fd, new(byte), atEmptyPath|atRecursive, attributes)
}

// place mounts the tree at its path below the current root, where it makes what is missing.
func (t *tree) place() error {
	if err := os.MkdirAll(path.Dir(t.path), 0o755); err != nil {
		return err
	}
	if t.link != "" {
		return os.Symlink(t.link, t.path)
	}
	defer syscall.Close(t.fd)
	if _, err := os.Lstat(t.path); err != nil {
		if err := t.mountPoint(); err != nil {
			return err
		}
	}
	target, err := syscall.BytePtrFromString(t.path)
	if err != nil {
		return err
	}
	const fromEmptyPath, toSymlinks = 0x4, 0x10
	at, empty := atFDCWD, [1]byte{}
	_, _, e := syscall.Syscall6(sysMoveMount, uintptr(t.fd), uintptr(unsafe.Pointer(&empty[0])), uintptr(at),
		uintptr(unsafe.Pointer(target)), fromEmptyPath|toSymlinks, 0)
	return errnoErr(e)
}

func (t *tree) mountPoint() error {
	if t.dir {
		return os.Mkdir(t.path, 0o755)
	}
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}
