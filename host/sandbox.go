package host

import "time"

// Sandbox says what a plugin's processes may see, use and do. The zero value is the profile default. A
// field that is not zero replaces what the profile says. What this machine cannot give is named in
// PluginStatus.Uncovered for the profile default and with BestEffort, and refuses the start otherwise.
type Sandbox struct {
	Profile    Profile // if empty, ProfileDefault
	BestEffort bool    // start also if this machine cannot give all of it

	Env         []string      // names of the host's variables that pass; if nil, the standard list (S3). Plugin.Env passes always
	Dir         string        // working directory; if empty, the host's
	PrivateTemp *bool         // a temporary directory of its own, removed with the process
	Memory      int64         // bytes
	CPU         time.Duration // CPU time of one process
	Tasks       int           // processes and threads
	OpenFiles   int           // of one process
	FileSize    int64         // bytes of one file that it writes
	Umask       *int          // file mode bits that are taken away

	NoNewPrivileges *bool    // no program gives it more rights than it has
	PID, Mount, IPC *bool    // namespaces of its own
	Network         Network  // if empty, what the profile says
	Read, Write     []string // absolute paths; if either is set, there is nothing else of the file system but what a program needs to run
	Syscalls        *bool    // refuse the system calls that no tool needs (seccomp)
}

// Profile is the name of a set of sandbox settings.
type Profile string

// The profiles.
const (
	ProfileNone    Profile = "none"    // process group, parent-death signal and lifeline only
	ProfileDefault Profile = "default" // Linux: also a pid namespace, and the state directory is hidden; elsewhere like none
	ProfileStrict  Profile = "strict"  // Linux: no network, its own files and memory, limits; see docs/sandbox.md
)

// Network says what of the network a plugin has.
type Network string

// The networks.
const (
	NetworkHost Network = "host" // what the host has
	NetworkNone Network = "none" // nothing, loopback included
)
