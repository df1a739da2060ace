package confine

import (
	"errors"
	"syscall"
	"unsafe"
)

// instruction is one of the classic BPF that seccomp runs for every system call.
type instruction struct {
	code           uint16
	ifTrue, ifElse uint8
	k              uint32
}

// Codes of instructions, and offsets in what they look at: the number, the architecture, the arguments.
const (
	load       = 0x20 // of 32 bits, from offset k
	equal      = 0x15
	atLeast    = 0x35
	anyBit     = 0x45
	answer     = 0x06
	offNumber  = 0
	offArch    = 4
	offArg0    = 16
	offArg1    = 24
	allowed    = 0x7fff0000
	refused    = 0x00050000 | uint32(syscall.EPERM)
	unknown    = 0x00050000 | uint32(syscall.ENOSYS)
	endProcess = 0x80000000
)

// anyNamespace is the flags of clone and unshare that make namespaces.
const anyNamespace = 0x7e020000

// filterSyscalls refuses, for good, the system calls that no tool needs. They fail with EPERM; clone3, whose
// arguments a filter cannot read, fails with ENOSYS, on which C libraries fall back to clone. A system call
// of another architecture ends the process with SIGSYS.
func filterSyscalls() error {
	if auditArch == 0 {
		return errors.New("no list of system calls for this architecture")
	}
	code := filter()
	program := struct {
		n    uint16
		code *instruction
	}{uint16(len(code)), &code[0]}
	const modeFilter = 2
	return prctl(syscall.PR_SET_SECCOMP, modeFilter, uintptr(unsafe.Pointer(&program)))
}

func filter() []instruction {
	code := []instruction{
		{load, 0, 0, offArch},
		{equal, 1, 0, auditArch},
		{answer, 0, 0, endProcess},
		{load, 0, 0, offNumber},
	}
	if otherABI != 0 {
		code = append(code, instruction{atLeast, 0, 1, otherABI}, instruction{answer, 0, 0, refused})
	}
	code = append(code, instruction{equal, 0, 1, sysClone3}, instruction{answer, 0, 0, unknown})
	for _, list := range [][]uint32{refusedEverywhere, refusedHere} {
		for _, n := range list {
			code = append(code, instruction{equal, 0, 1, n}, instruction{answer, 0, 0, refused})
		}
	}
	code = append(code, when(syscall.SYS_CLONE, offArg0, anyBit, anyNamespace)...)
	code = append(code, when(syscall.SYS_UNSHARE, offArg0, anyBit, anyNamespace|cloneNewTime)...)
	code = append(code, when(sysSocket, offArg0, equal, syscall.AF_PACKET, afVSOCK, afALG)...)
	code = append(code, when(syscall.SYS_IOCTL, offArg1, equal, syscall.TIOCSTI, tiocLinux)...)
	return append(code, instruction{answer, 0, 0, allowed})
}

const (
	cloneNewTime = 0x80
	afVSOCK      = 40
	afALG        = 38
	tiocLinux    = 0x541c
	sysClone3    = 435
)

// when refuses a system call one of whose arguments compares with one of the values.
func when(number, arg uint32, compare uint16, values ...uint32) []instruction {
	code := []instruction{
		{equal, 0, uint8(2*len(values) + 2), number},
		{load, 0, 0, arg},
	}
	for _, v := range values {
		code = append(code, instruction{compare, 0, 1, v}, instruction{answer, 0, 0, refused})
	}
	return append(code, instruction{answer, 0, 0, allowed})
}

// refusedEverywhere have the same number on every architecture.
var refusedEverywhere = []uint32{
	425, 426, 427, // io_uring_setup, io_uring_enter, io_uring_register
	428, 429, 430, 431, 432, 433, 442, 467, // open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr, open_tree_attr
	438, 440, // pidfd_getfd, process_madvise
}
