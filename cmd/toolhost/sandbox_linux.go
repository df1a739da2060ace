package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
)

// sandboxSettings says of every setting of a sandbox by which mechanism this machine gives it. The helper
// tries them all at once, on itself.
func sandboxSettings() []finding {
	helper := sandboxHelper()
	list := []finding{{Name: "sandbox helper", State: fine, Detail: helper}}
	if filepath.Base(helper) != confine.Name {
		list[0].State, list[0].Detail = note, "toolhost itself: a start that needs it takes some milliseconds longer"
		list[0].Advice = "put " + confine.Name + " beside toolhost; make build makes both"
	}
	root := os.Geteuid() == 0
	settings := confine.Settings{
		Optional: []string{"*"}, Own: true, User: !root, Mount: true, IPC: true, Host: true, NoNetwork: true, Files: true, PrivateTemp: true,
		Memory: 1 << 46, CPU: 3600, Tasks: 256, OpenFiles: 64, FileSize: 1 << 40, NoCore: true, Umask: "77",
		NoNewPrivileges: true, NoCapabilities: true, Syscalls: true,
	}
	missing := map[string]confine.Miss{}
	report, err := tryHelper(helper, settings, namespaceAttr())
	if err != nil {
		missing[confine.PID] = confine.Miss{Setting: confine.PID, Mechanism: "a pid namespace", Why: err.Error()}
		settings.Own, settings.User = false, false
		report, err = tryHelper(helper, settings, &syscall.SysProcAttr{})
	}
	if err == nil && report.Refused != nil {
		err = fmt.Errorf("%v", *report.Refused)
	}
	if err != nil {
		list[0].State, list[0].Detail = broken, fmt.Sprintf("%s: %v", helper, err)
		return list
	}
	for _, m := range report.Missing {
		missing[m.Setting] = m
	}
	_, noMounts := missing[confine.Mount]
	for _, m := range mechanisms(root, !noMounts) {
		f := finding{Name: "sandbox " + m.setting, State: fine, Detail: m.by}
		if miss, ok := missing[m.setting]; ok {
			f.State, f.Detail, f.Advice = note, "not on this machine: "+miss.Mechanism+": "+miss.Why, m.advice
		}
		list = append(list, f)
	}
	return list
}

// mechanism is how a setting is given, and what to do where it is not.
type mechanism struct{ setting, by, advice string }

func mechanisms(root, mounts bool) []mechanism {
	const allow = "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces or AppArmor); a container needs the right to mount"
	var files []string
	if mounts {
		files = append(files, "a new root of mounts")
	}
	if abi, err := confine.Landlock(); err == nil {
		files = append(files, fmt.Sprintf("Landlock %d", abi))
	}
	tasks, memory := "pid_max of the pid namespace", "RLIMIT_DATA, each process by itself"
	if !root {
		tasks = "RLIMIT_NPROC in the user namespace"
	}
	if parent := confine.Cgroup("pids"); parent != "" {
		tasks = "a control group in " + parent
	}
	if parent := confine.Cgroup("memory"); parent != "" {
		memory = "a control group in " + parent + ", all processes together"
	}
	const delegate = "Linux 6.14, or a control group that was handed over (systemd: Delegate=yes with DelegateSubgroup=)"
	return []mechanism{
		{confine.PID, "a pid namespace", allow},
		{confine.Mount, "a mount namespace", allow},
		{confine.IPC, "an IPC namespace", allow},
		{confine.Network, "a network namespace", allow},
		{confine.HostName, "a UTS namespace", allow},
		{confine.Files, strings.Join(files, " and "), "Linux 5.12 for mounts or 5.13 for Landlock; " + allow},
		{confine.PrivateTemp, "a tmpfs on /tmp", allow},
		{confine.Memory, memory, ""},
		{confine.CPU, "RLIMIT_CPU", ""},
		{confine.Tasks, tasks, delegate},
		{confine.OpenFiles, "RLIMIT_NOFILE", ""},
		{confine.FileSize, "RLIMIT_FSIZE", ""},
		{confine.Umask, "umask", ""},
		{confine.NoNewPrivileges, "PR_SET_NO_NEW_PRIVS", ""},
		{confine.Capabilities, "the bounding set and capset", ""},
		{confine.Syscalls, "seccomp", "a kernel with seccomp filters, on amd64 or arm64"},
	}
}

// tryHelper has the helper confine and then execute itself, which does nothing then.
func tryHelper(helper string, settings confine.Settings, attr *syscall.SysProcAttr) (confine.Report, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return confine.Report{}, err
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		w.Close()
		return confine.Report{}, err
	}
	defer null.Close()
	settings.Report = 3
	proc, err := os.StartProcess(helper, append([]string{confine.Name}, settings.Args(helper, confine.Name)...),
		&os.ProcAttr{Env: []string{}, Files: []*os.File{null, null, null, w}, Sys: attr})
	w.Close()
	if err != nil {
		return confine.Report{}, err
	}
	said, err := io.ReadAll(r)
	if _, waitErr := proc.Wait(); err == nil {
		err = waitErr
	}
	return confine.ParseReport(said), err
}

// namespaceAttr is a pid namespace, through a user namespace where the user is not root.
func namespaceAttr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	}
	return attr
}
