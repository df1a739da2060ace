package confine

import (
	"strconv"
	"strings"
	"syscall"
)

// The settings that a [Miss] names, as toolhost.yaml spells them where it has them.
const (
	PID             = "pid"
	State           = "state" // the state directory is hidden
	Mount           = "mount"
	IPC             = "ipc"
	HostName        = "host name"
	Network         = "network"
	Files           = "read, write"
	PrivateTemp     = "privateTemp"
	Dir             = "dir"
	Memory          = "memory"
	CPU             = "cpu"
	Tasks           = "tasks"
	OpenFiles       = "openFiles"
	FileSize        = "fileSize"
	Core            = "core dumps"
	Umask           = "umask"
	NoNewPrivileges = "noNewPrivileges"
	Capabilities    = "capabilities"
	Syscalls        = "syscalls"
)

// Miss is a setting that the machine did not give.
type Miss struct {
	Setting   string // one of the constants above
	Mechanism string // what was tried, such as "RLIMIT_DATA"
	Why       string // mostly the kernel's word, such as "operation not permitted"
}

// String reads "setting: mechanism: why".
func (m Miss) String() string { return m.Setting + ": " + m.Mechanism + ": " + m.Why }

// Report is what the helper says.
type Report struct {
	Missing []Miss        // settings that the program runs without
	Refused *Miss         // the setting for which it was not started; nil if none
	Exec    syscall.Errno // why the kernel did not execute the program; zero if it did
}

// ParseReport reads what came from [Settings.Report]. What it does not know it takes for a refusal.
func ParseReport(data []byte) Report {
	var r Report
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		switch {
		case len(f) == 4 && f[0] == "missing":
			r.Missing = append(r.Missing, Miss{f[1], f[2], f[3]})
		case len(f) == 4 && f[0] == "refused":
			r.Refused = &Miss{f[1], f[2], f[3]}
		case len(f) == 2 && f[0] == "exec":
			n, _ := strconv.Atoi(f[1])
			r.Exec = syscall.Errno(n)
		default:
			r.Refused = &Miss{"sandbox", Name, "it said: " + line}
		}
	}
	return r
}

func (m Miss) line(word string) string {
	clean := strings.NewReplacer("\t", " ", "\n", " ")
	return word + "\t" + clean.Replace(m.Setting) + "\t" + clean.Replace(m.Mechanism) + "\t" + clean.Replace(m.Why) + "\n"
}
