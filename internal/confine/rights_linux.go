package confine

import (
	"os"
	"syscall"
	"unsafe"
)

// prctl options that package syscall does not name.
const (
	prSetNoNewPrivs   = 38
	prCapAmbient      = 47
	capAmbientClear   = 4
	prCapBSetDrop     = 24
	capabilityVersion = 0x20080522
)

// rights takes what is left of the process's rights, the filters last.
func (c *confiner) rights() {
	if c.User || c.NoCapabilities { // in a user namespace the helper got some, to work with
		_ = prctl(prCapAmbient, capAmbientClear)
	}
	if c.NoCapabilities {
		c.need(Capabilities, "the bounding set", dropBounding())
	}
	if c.NoNewPrivileges || c.Syscalls || c.Files {
		c.need(NoNewPrivileges, "PR_SET_NO_NEW_PRIVS", prctl(prSetNoNewPrivs, 1))
	}
	if c.Files {
		err := c.landlock()
		if !c.rooted { // else it stands behind the new root, where the kernel has it
			c.need(Files, "Landlock", err)
		}
	}
	if c.NoCapabilities {
		c.need(Capabilities, "capset", dropCapabilities())
	}
	if c.Syscalls {
		c.need(Syscalls, "seccomp", filterSyscalls())
	}
}

func dropBounding() error {
	for i := uintptr(0); ; i++ {
		switch err := prctl(prCapBSetDrop, i); {
		case err == syscall.EINVAL && i > 0: // there are no more
			return nil
		case err == syscall.EPERM && os.Geteuid() != 0: // no right to do it, and so none to lose
			return nil
		case err != nil:
			return err
		}
	}
}

func dropCapabilities() error {
	header := struct {
		version uint32
		pid     int32
	}{version: capabilityVersion}
	var none [6]uint32
	_, _, e := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0)
	return errnoErr(e)
}
