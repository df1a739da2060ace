package confine

import "syscall"

const (
	auditArch = 0xc000003e
	otherABI  = 0x40000000 // x32: numbers from here on
	sysSocket = syscall.SYS_SOCKET
)

// refusedHere are the system calls that no tool needs, by this architecture's numbers.
var refusedHere = []uint32{
	syscall.SYS_PTRACE, 310, 311, 312, // process_vm_readv, process_vm_writev, kcmp
	syscall.SYS_MOUNT, syscall.SYS_UMOUNT2, syscall.SYS_PIVOT_ROOT, syscall.SYS_CHROOT, 308, // setns
	syscall.SYS_ADD_KEY, syscall.SYS_REQUEST_KEY, syscall.SYS_KEYCTL,
	syscall.SYS_INIT_MODULE, 313, syscall.SYS_DELETE_MODULE, // finit_module
	syscall.SYS_KEXEC_LOAD, 320, syscall.SYS_REBOOT, // kexec_file_load
	321, 323, syscall.SYS_PERF_EVENT_OPEN, // bpf, userfaultfd
	304, syscall.SYS_FANOTIFY_INIT, // open_by_handle_at
	syscall.SYS_SWAPON, syscall.SYS_SWAPOFF, syscall.SYS_ACCT, syscall.SYS_QUOTACTL, syscall.SYS_SYSLOG, syscall.SYS_VHANGUP,
	syscall.SYS_SETTIMEOFDAY, syscall.SYS_CLOCK_SETTIME, 305, syscall.SYS_ADJTIMEX, // clock_adjtime
	syscall.SYS_SETHOSTNAME, syscall.SYS_SETDOMAINNAME, syscall.SYS_MIGRATE_PAGES, syscall.SYS_MOVE_PAGES,
	syscall.SYS_IOPL, syscall.SYS_IOPERM, syscall.SYS_MODIFY_LDT, syscall.SYS__SYSCTL, syscall.SYS_USTAT, syscall.SYS_SYSFS,
}
