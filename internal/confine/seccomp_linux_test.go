package confine

import (
	"syscall"
	"testing"
)

// TestFilter runs the filter as the kernel does.
func TestFilter(t *testing.T) {
	if auditArch == 0 {
		t.Skip("no list for this architecture")
	}
	const threads = syscall.CLONE_VM | syscall.CLONE_FS | syscall.CLONE_FILES | syscall.CLONE_SIGHAND | syscall.CLONE_THREAD | syscall.CLONE_SYSVSEM
	tests := []struct {
		name         string
		number, arch uint32
		arg0, arg1   uint32
		want         uint32
	}{
		{"read", syscall.SYS_READ, auditArch, 0, 0, allowed},
		{"execve", syscall.SYS_EXECVE, auditArch, 0, 0, allowed},
		{"the last number", 1000, auditArch, 0, 0, allowed},
		{"another architecture", syscall.SYS_READ, auditArch ^ 1, 0, 0, endProcess},
		{"ptrace", syscall.SYS_PTRACE, auditArch, 0, 0, refused},
		{"mount", syscall.SYS_MOUNT, auditArch, 0, 0, refused},
		{"perf", syscall.SYS_PERF_EVENT_OPEN, auditArch, 0, 0, refused},
		{"io_uring", 425, auditArch, 0, 0, refused},
		{"open_tree", sysOpenTree, auditArch, 0, 0, refused},
		{"clone3", sysClone3, auditArch, 0, 0, unknown},
		{"a thread", syscall.SYS_CLONE, auditArch, threads, 0, allowed},
		{"a process", syscall.SYS_CLONE, auditArch, syscall.CLONE_VM | syscall.CLONE_VFORK | 17, 0, allowed},
		{"a user namespace", syscall.SYS_CLONE, auditArch, syscall.CLONE_NEWUSER | 17, 0, refused},
		{"unshare a network", syscall.SYS_UNSHARE, auditArch, syscall.CLONE_NEWNET, 0, refused},
		{"unshare time", syscall.SYS_UNSHARE, auditArch, cloneNewTime, 0, refused},
		{"unshare files", syscall.SYS_UNSHARE, auditArch, syscall.CLONE_FILES, 0, allowed},
		{"packet socket", sysSocket, auditArch, syscall.AF_PACKET, 0, refused},
		{"vsock", sysSocket, auditArch, afVSOCK, 0, refused},
		{"unix socket", sysSocket, auditArch, syscall.AF_UNIX, 0, allowed},
		{"terminal size", syscall.SYS_IOCTL, auditArch, 0, syscall.TIOCGWINSZ, allowed},
		{"terminal input", syscall.SYS_IOCTL, auditArch, syscall.TIOCSTI, syscall.TIOCSTI, refused},
	}
	if otherABI != 0 {
		tests = append(tests, tests[0])
		x32 := &tests[len(tests)-1]
		x32.name, x32.number, x32.want = "x32", otherABI|syscall.SYS_READ, refused
	}
	code := filter()
	if len(code) > 4096 {
		t.Fatalf("%d instructions", len(code))
	}
	for _, tt := range tests {
		data := map[uint32]uint32{offNumber: tt.number, offArch: tt.arch, offArg0: tt.arg0, offArg1: tt.arg1}
		if got := evaluate(t, code, data); got != tt.want {
			t.Errorf("%s: %#x, want %#x", tt.name, got, tt.want)
		}
	}
}

func evaluate(t *testing.T, code []instruction, data map[uint32]uint32) uint32 {
	t.Helper()
	a := uint32(0)
	for at := 0; at < len(code); at++ {
		in := code[at]
		is := false
		switch in.code {
		case answer:
			return in.k
		case load:
			a = data[in.k]
			continue
		case equal:
			is = a == in.k
		case atLeast:
			is = a >= in.k
		case anyBit:
			is = a&in.k != 0
		default:
			t.Fatalf("instruction %d: code %#x", at, in.code)
		}
		if is {
			at += int(in.ifTrue)
		} else {
			at += int(in.ifElse)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}
