package confine

import "syscall"

const (
	auditArch = 0xc00000b7
	otherABI  = 0 // there is none
	sysSocket = syscall.SYS_SOCKET
)

// refusedHere are the system calls that no tool needs, by this architecture's numbers.
var refusedHere = []uint32{
	syscall.SYS_PTRACE, 270, 271, 272, // process_vm_readv, process_vm_writev, kcmp
	syscall.SYS_MOUNT, syscall.SYS_UMOUNT2, syscall.SYS_PIVOT_ROOT, syscall.SYS_CHROOT, 268, // setns
	syscall.SYS_ADD_KEY, syscall.SYS_REQUEST_KEY, syscall.SYS_KEYCTL,
	syscall.SYS_INIT_MODULE, 273, syscall.SYS_DELETE_MODULE, // finit_module
	syscall.SYS_KEXEC_LOAD, 294, syscall.SYS_REBOOT, // kexec_file_load
	280, 282, syscall.SYS_PERF_EVENT_OPEN, // bpf, userfaultfd
	265, syscall.SYS_FANOTIFY_INIT, // open_by_handle_at
	syscall.SYS_SWAPON, syscall.SYS_SWAPOFF, syscall.SYS_ACCT, syscall.SYS_QUOTACTL, syscall.SYS_SYSLOG, syscall.SYS_VHANGUP,
	syscall.SYS_SETTIMEOFDAY, syscall.SYS_CLOCK_SETTIME, 266, syscall.SYS_ADJTIMEX, // clock_adjtime
	syscall.SYS_SETHOSTNAME, syscall.SYS_SETDOMAINNAME, syscall.SYS_MIGRATE_PAGES, syscall.SYS_MOVE_PAGES,
}
