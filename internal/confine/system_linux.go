package confine

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// System calls that package syscall does not know. Their numbers are the same on every architecture.
const (
	sysOpenTree        = 428
	sysMoveMount       = 429
	sysMountSetattr    = 442
	sysLandlockCreate  = 444
	sysLandlockAdd     = 445
	sysLandlockEnforce = 446
)

const (
	atFDCWD     = -100
	atEmptyPath = 0x1000
	atRecursive = 0x8000
	openPath    = 0x200000 // O_PATH
)

func prctl(option int, args ...uintptr) error {
	var a [4]uintptr
	copy(a[:], args)
	_, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, uintptr(option), a[0], a[1], a[2], a[3], 0)
	return errnoErr(e)
}

func errnoErr(e syscall.Errno) error {
	if e == 0 {
		return nil
	}
	return e
}

// hungUp reports whether the other end of a pipe is closed.
func hungUp(fd int) bool {
	const hup = 0x10 // POLLHUP
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: int32(fd)}
	var now syscall.Timespec
	_, _, e := syscall.RawSyscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return e == 0 && poll.revents&hup != 0
}

// kernelAtLeast compares the running kernel's release.
func kernelAtLeast(major, minor int) bool {
	data, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	a, rest, _ := strings.Cut(string(data), ".")
	n := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if n < 0 {
		n = len(rest)
	}
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(rest[:n])
	return x > major || x == major && y >= minor
}
