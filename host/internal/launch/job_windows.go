package launch

import (
	"os"
	"slices"
	"strings"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/toolhost/toolhost/internal/confine"
)

// family is a process and its descendants: a job object (P3). Its one handle is the host's, and when that closes,
// as it does with the host, the system ends all of them (K4). A process is born into its job, so there is no
// moment at which it is in none. The zero value is no family.
type family struct{ job windows.Handle }

// killedStatus is the exit status of whom the host kills. Anything else ends with another one.
const killedStatus = 0x746f6f6c

// newFamily makes a job, with the limits that a job has (S11).
func newFamily(limits confine.Settings) (family, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return family{}, os.NewSyscallError("CreateJobObject", err)
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	if limits.Memory > 0 {
		info.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_JOB_MEMORY
		info.JobMemoryLimit = uintptr(limits.Memory)
	}
	if limits.Tasks > 0 {
		info.BasicLimitInformation.LimitFlags |= windows.JOB_OBJECT_LIMIT_ACTIVE_PROCESS
		info.BasicLimitInformation.ActiveProcessLimit = uint32(limits.Tasks)
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return family{}, os.NewSyscallError("SetInformationJobObject", err)
	}
	return family{job}, nil
}

// kill ends the process, which was not waited for yet, and every other of its family.
func (f family) kill(proc *os.Process) {
	if windows.TerminateJobObject(f.job, killedStatus) != nil {
		_ = proc.Kill()
	}
}

// describe takes a state apart: status (-1 if the host ended it), signal, peak size.
func (f family) describe(state *os.ProcessState) (status int, signal string, peak int64) {
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if windows.QueryInformationJobObject(f.job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil) == nil {
		peak = int64(info.PeakProcessMemoryUsed)
	}
	if state.ExitCode() == killedStatus {
		return -1, "SIGKILL", peak
	}
	return state.ExitCode(), "", peak
}

// close gives the job back, when its process was waited for.
func (f family) close() { windows.CloseHandle(f.job) }

// start creates a process in the job. It has no console, so that no Ctrl-C reaches it (K7), and of the host's
// handles the three files.
func (f family) start(binary string, argv []string, dir string, env []string, files []*os.File) (*os.Process, error) {
	app, err := windows.UTF16PtrFromString(binary)
	if err != nil {
		return nil, err
	}
	line, err := windows.UTF16PtrFromString(windows.ComposeCommandLine(argv))
	if err != nil {
		return nil, err
	}
	var cwd *uint16
	if dir != "" {
		if cwd, err = windows.UTF16PtrFromString(dir); err != nil {
			return nil, err
		}
	}
	handles, err := inheritable(files)
	defer closeAll(handles)
	if err != nil {
		return nil, err
	}
	attrs, err := windows.NewProcThreadAttributeList(2)
	if err != nil {
		return nil, os.NewSyscallError("InitializeProcThreadAttributeList", err)
	}
	defer attrs.Delete()
	if err := attrs.Update(windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST, unsafe.Pointer(&handles[0]), uintptr(len(handles))*unsafe.Sizeof(handles[0])); err != nil {
		return nil, os.NewSyscallError("UpdateProcThreadAttribute", err)
	}
	const jobList = 0x0002000d // PROC_THREAD_ATTRIBUTE_JOB_LIST
	jobs := []windows.Handle{f.job}
	if err := attrs.Update(jobList, unsafe.Pointer(&jobs[0]), unsafe.Sizeof(jobs[0])); err != nil {
		return nil, os.NewSyscallError("UpdateProcThreadAttribute", err)
	}
	si := windows.StartupInfoEx{ProcThreadAttributeList: attrs.List()}
	si.Cb = uint32(unsafe.Sizeof(si))
	si.Flags = windows.STARTF_USESTDHANDLES
	si.StdInput, si.StdOutput, si.StdErr = handles[0], handles[1], handles[2]
	const flags = windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW | windows.CREATE_UNICODE_ENVIRONMENT | windows.EXTENDED_STARTUPINFO_PRESENT
	var pi windows.ProcessInformation
	if err := windows.CreateProcess(app, line, nil, nil, true, flags, envBlock(env), cwd, &si.StartupInfo, &pi); err != nil {
		return nil, os.NewSyscallError("CreateProcess", err)
	}
	defer windows.CloseHandle(pi.Process) // after FindProcess: as long as it is open, the id is nobody else's
	windows.CloseHandle(pi.Thread)
	return os.FindProcess(int(pi.ProcessId))
}

// inheritable duplicates files for a child. What it returns must be closed, with an error too.
func inheritable(files []*os.File) (handles []windows.Handle, err error) {
	self := windows.CurrentProcess()
	for _, f := range files {
		raw, err := f.SyscallConn()
		if err != nil {
			return handles, err
		}
		var h windows.Handle
		var dupErr error
		err = raw.Control(func(fd uintptr) {
			dupErr = windows.DuplicateHandle(self, windows.Handle(fd), self, &h, 0, true, windows.DUPLICATE_SAME_ACCESS)
		})
		if err == nil {
			err = os.NewSyscallError("DuplicateHandle", dupErr)
		}
		if err != nil {
			return handles, err
		}
		handles = append(handles, h)
	}
	return handles, nil
}

func closeAll(handles []windows.Handle) {
	for _, h := range handles {
		windows.CloseHandle(h)
	}
}

// envBlock is the environment as the system wants it: sorted, each with a zero at its end, and one more.
func envBlock(env []string) *uint16 {
	env = slices.Clone(env)
	slices.SortFunc(env, func(a, b string) int { return strings.Compare(strings.ToUpper(a), strings.ToUpper(b)) })
	var block []uint16
	for _, kv := range env {
		for _, r := range kv + "\x00" {
			block = utf16.AppendRune(block, r)
		}
	}
	if len(env) == 0 {
		block = append(block, 0)
	}
	return &append(block, 0)[0]
}

// fork makes a process in a job of its own.
func (r forkRequest) fork() (c child, err error) {
	if err := r.lacking(&c, confine.Memory, confine.Tasks); err != nil {
		return c, err
	}
	if c.family, err = newFamily(r.spec.Sandbox.Settings); err != nil {
		return c, err
	}
	c.proc, err = c.family.start(r.spec.Binary, r.argv(), r.dir, r.env, r.files)
	if err != nil {
		c.family.close()
	}
	return c, err
}
