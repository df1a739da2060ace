package confine

import (
	"strconv"
	"strings"
)

// Name is the name of the command, and argv[0] of a program that is to act as it.
const Name = "toolhost-sandbox"

// Settings is what a process may see, use and do. The zero value changes nothing.
type Settings struct {
	// Optional names the settings, as a [Miss] does, without which the program is started all the same;
	// "*" is all of them.
	Optional []string
	// Report is the descriptor for the report; it closes on execution. If zero, stderr, for people.
	Report int

	// Own says that the process is the first one of a pid namespace made for it.
	Own bool
	// User says that it is in a user namespace made for it.
	User bool
	// Mount, IPC and Host (its name) are namespaces of its own; with Mount and Own, /proc shows that pid
	// namespace only.
	Mount, IPC, Host bool
	// NoNetwork is a network namespace without any device that is up, loopback included.
	NoNetwork bool

	// Hide lists directories that are empty for the program, but for their subdirectory Keep, which it can
	// only read.
	Hide []string
	Keep string
	// Files says that of the file system there are only Read, Write, the program's file, and what programs
	// need to run. The paths are absolute. What Write names can be written.
	Files       bool
	Read, Write []string
	// PrivateTemp is an empty /tmp that ends with the namespace.
	PrivateTemp bool
	// Dir is the working directory. If empty: with Files the root, else what it is.
	Dir string

	// Limits; a zero is none. CPU is in seconds, Memory and FileSize in bytes.
	Memory, FileSize, CPU int64
	Tasks, OpenFiles      int
	// NoCore forbids core dumps.
	NoCore bool
	// Umask is octal digits. If empty, it stays.
	Umask string

	NoNewPrivileges bool
	// NoCapabilities takes every capability, for good.
	NoCapabilities bool
	// Syscalls refuses the system calls that no tool needs. It implies NoNewPrivileges.
	Syscalls bool
}

// Args is the command line, without its argv[0], that starts binary with argv in these settings.
func (s Settings) Args(binary string, argv ...string) []string {
	var out []string
	for _, f := range s.fields() {
		switch v := f.value.(type) {
		case *bool:
			if *v {
				out = append(out, f.name)
			}
		case *int:
			if *v != 0 {
				out = append(out, f.name+"="+strconv.Itoa(*v))
			}
		case *int64:
			if *v != 0 {
				out = append(out, f.name+"="+strconv.FormatInt(*v, 10))
			}
		case *string:
			if *v != "" {
				out = append(out, f.name+"="+*v)
			}
		case *[]string:
			for _, item := range *v {
				out = append(out, f.name+"="+item)
			}
		}
	}
	return append(append(out, "--", binary), argv...)
}

// parse is the opposite of Args. wrong is the first argument that is no setting.
func parse(args []string) (s Settings, binary string, argv []string, wrong string) {
	fields := s.fields()
	for i, arg := range args {
		if arg == "--" {
			if len(args) < i+3 {
				return s, "", nil, "--"
			}
			return s, args[i+1], args[i+2:], ""
		}
		if !put(fields, arg) {
			return s, "", nil, arg
		}
	}
	return s, "", nil, "the end"
}

func put(fields []field, arg string) bool {
	name, value, _ := strings.Cut(arg, "=")
	for _, f := range fields {
		if f.name != name {
			continue
		}
		var err error
		switch v := f.value.(type) {
		case *bool:
			*v = true
		case *int:
			*v, err = strconv.Atoi(value)
		case *int64:
			*v, err = strconv.ParseInt(value, 10, 64)
		case *string:
			*v = value
		case *[]string:
			*v = append(*v, value)
		}
		return err == nil
	}
	return false
}

type field struct {
	name  string
	value any
}

func (s *Settings) fields() []field {
	return []field{
		{"optional", &s.Optional}, {"report", &s.Report},
		{"own", &s.Own}, {"user", &s.User}, {"mount", &s.Mount}, {"ipc", &s.IPC}, {"host", &s.Host}, {"nonetwork", &s.NoNetwork},
		{"hide", &s.Hide}, {"keep", &s.Keep}, {"files", &s.Files}, {"read", &s.Read}, {"write", &s.Write},
		{"temp", &s.PrivateTemp}, {"dir", &s.Dir},
		{"memory", &s.Memory}, {"filesize", &s.FileSize}, {"cpu", &s.CPU}, {"tasks", &s.Tasks}, {"openfiles", &s.OpenFiles},
		{"nocore", &s.NoCore}, {"umask", &s.Umask},
		{"nonewprivileges", &s.NoNewPrivileges}, {"nocapabilities", &s.NoCapabilities}, {"syscalls", &s.Syscalls},
	}
}
