package confine

import (
	"path"
	"syscall"
	"unsafe"
)

// Rights of Landlock.
const (
	mayExecute   = 1 << 0
	mayWriteFile = 1 << 1
	mayReadFile  = 1 << 2
	mayReadDir   = 1 << 3
	mayTruncate  = 1 << 14 // ABI 3
	mayIoctlDev  = 1 << 15 // ABI 5

	mayRead     = mayExecute | mayReadFile | mayReadDir
	rightsOfABI = 1<<13 - 1 // ABI 1; every one of the next adds a bit to it: refer, truncate, ioctl
	ofFiles     = mayExecute | mayWriteFile | mayReadFile | mayTruncate | mayIoctlDev
)

// Landlock is the version of Landlock that the kernel has.
func Landlock() (int, error) {
	const version = 1
	n, _, e := syscall.RawSyscall(sysLandlockCreate, 0, 0, version)
	return int(n), errnoErr(e)
}

// landlock lets the program reach the files of its list only, in the root as it is now.
func (c *confiner) landlock() error {
	abi, err := Landlock()
	if err != nil {
		return err
	}
	all := uint64(rightsOfABI)
	for i, since := range []int{2, 3, 5} {
		if abi >= since {
			all |= 1 << (13 + i)
		}
	}
	set, _, e := syscall.RawSyscall(sysLandlockCreate, uintptr(unsafe.Pointer(&all)), unsafe.Sizeof(all), 0)
	if e != 0 {
		return e
	}
	defer syscall.Close(int(set))
	for name, rights := range c.reachable(all) {
		if err := allow(int(set), name, rights&all); err != nil && err != syscall.ENOENT {
			return err
		}
	}
	_, _, e = syscall.RawSyscall(sysLandlockEnforce, set, 0, 0)
	return errnoErr(e)
}

// reachable is what the program may do where.
func (c *confiner) reachable(all uint64) map[string]uint64 {
	where := map[string]uint64{"/proc": mayReadFile | mayReadDir, c.binary: mayExecute | mayReadFile}
	for _, name := range systemDirs {
		where[name] = mayRead
	}
	for _, name := range etcFiles {
		where["/etc/"+name] = mayReadFile | mayReadDir
	}
	for _, name := range devices {
		where[name] = mayReadFile | mayWriteFile | mayTruncate | mayIoctlDev
	}
	if c.rooted {
		where["/"] = mayReadDir // there is nothing else in it
		if c.PrivateTemp {
			where["/tmp"] = all
		}
	}
	for _, name := range c.Read {
		where[path.Clean(name)] |= mayRead
	}
	for _, name := range c.Write {
		where[path.Clean(name)] = all
	}
	return where
}

// allow adds a rule for what is at or below a path.
func allow(set int, name string, rights uint64) error {
	fd, err := syscall.Open(name, openPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var info syscall.Stat_t
	if err := syscall.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights &= ofFiles
	}
	rule := struct {
		rights uint64
		fd     int32
	}{rights, int32(fd)}
	const beneath = 1
	_, _, e := syscall.RawSyscall6(sysLandlockAdd, uintptr(set), beneath, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	return errnoErr(e)
}
