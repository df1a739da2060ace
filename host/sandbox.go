package host

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/internal/launch"
	"github.com/toolhost/toolhost/host/internal/state"
	"github.com/toolhost/toolhost/internal/confine"
)

// Sandbox says what a plugin's processes may see, use and do; docs/sandbox.md says by which mechanism of the
// system, and what is tried in its place. The zero value is the profile default. A field that is not zero
// replaces what the profile says. What this machine cannot give is named in PluginStatus.Uncovered for what
// the profile default gives by itself and with BestEffort, and refuses the start otherwise, with the cause
// "sandbox". The limits bind every process of the plugin's, each by itself unless it says otherwise (S11); a
// death by one is named in ExitError.Limit (S12).
type Sandbox struct {
	Profile    Profile // if empty, ProfileDefault
	BestEffort bool    // start also if this machine cannot give all of it

	Env         []string      // names of the host's variables that pass, a star at the end for any ending; if nil, the standard list (S3), and none in ProfileStrict. Plugin.Env passes always
	Dir         string        // working directory; if empty, the host's, or the root of its own file system
	PrivateTemp *bool         // an empty /tmp of its own of at most 256 MiB, removed with the process; TMPDIR names it
	Memory      int64         // bytes of data; a Go plugin's GOMEMLIMIT is four fifths of it
	CPU         time.Duration // CPU time, in whole seconds, rounded up
	Tasks       int           // processes and threads, all together
	OpenFiles   int           // descriptors
	FileSize    int64         // bytes of one file that it writes
	Umask       *int          // file mode bits that are taken away

	NoNewPrivileges *bool    // no program gives it more rights than it has; Read, Write and Syscalls imply it
	PID, Mount, IPC *bool    // namespaces of its own
	Network         Network  // if empty, what the profile says
	Read, Write     []string // absolute paths; if either is set, there is nothing else of the file system but what a program needs to run, and PrivateTemp unless that is false
	Syscalls        *bool    // refuse the system calls that no tool needs (seccomp)
}

// Profile is the name of a set of sandbox settings.
type Profile string

// The profiles.
const (
	ProfileNone    Profile = "none"    // process group, parent-death signal and lifeline only
	ProfileDefault Profile = "default" // Linux: also a pid namespace, and the state directory is hidden (T42); elsewhere like none
	ProfileStrict  Profile = "strict"  // Linux: no network, no variable and no file of the host's, no capability, 512 MiB, 256 tasks, 256 descriptors, files of 64 MiB
)

// Network says what of the network a plugin has.
type Network string

// The networks.
const (
	NetworkHost Network = "host" // what the host has
	NetworkNone Network = "none" // nothing, loopback included
)

// strictPath is the PATH of a plugin that gets no variable of the host's.
const strictPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// check reports what cannot work on any machine.
func (s *Sandbox) check() error {
	switch s.Profile {
	case "", ProfileDefault, ProfileNone, ProfileStrict:
	default:
		return fmt.Errorf("unknown profile %q; use %s, %s or %s", s.Profile, ProfileNone, ProfileDefault, ProfileStrict)
	}
	switch s.Network {
	case "", NetworkHost, NetworkNone:
	default:
		return fmt.Errorf("unknown network %q; use %s or %s", s.Network, NetworkHost, NetworkNone)
	}
	if s.Memory < 0 || s.CPU < 0 || s.Tasks < 0 || s.OpenFiles < 0 || s.FileSize < 0 {
		return errors.New("a limit is below zero; zero is what the profile says")
	}
	if s.Umask != nil && (*s.Umask < 0 || *s.Umask > 0o777) {
		return fmt.Errorf("umask %#o is not within 0 and 0777", *s.Umask)
	}
	for _, path := range slices.Concat(s.Read, s.Write) {
		if !filepath.IsAbs(path) || filepath.Clean(path) == "/" {
			return fmt.Errorf("%q: it must be an absolute path, and not the root", path)
		}
	}
	for _, name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return fmt.Errorf("%q is no name of a variable", name)
		}
	}
	return nil
}

// launch is the sandbox for the launcher: the profile, and over it what is set.
func (s *Sandbox) launch(helper string) launch.Sandbox {
	out := launch.Sandbox{Helper: helper}
	switch s.Profile {
	case ProfileNone:
	case ProfileStrict:
		out = strict(helper)
	default:
		out.PID, out.Hide = true, true
		if out.Optional = []string{confine.State}; s.PID == nil {
			out.Optional = append(out.Optional, confine.PID)
		}
	}
	if s.BestEffort {
		out.Optional = []string{"*"}
	}
	if s.Env != nil {
		out.Pass = s.Env
	}
	c := &out.Settings
	c.Read, c.Write, c.Files = s.Read, s.Write, c.Files || len(s.Read)+len(s.Write) > 0
	c.PrivateTemp = c.PrivateTemp || c.Files
	c.Memory, c.FileSize = cmp.Or(s.Memory, c.Memory), cmp.Or(s.FileSize, c.FileSize)
	c.CPU = int64((s.CPU + time.Second - 1) / time.Second)
	c.Tasks, c.OpenFiles = cmp.Or(s.Tasks, c.Tasks), cmp.Or(s.OpenFiles, c.OpenFiles)
	if s.Umask != nil {
		c.Umask = strconv.FormatInt(int64(*s.Umask), 8)
	}
	out.PID = out.PID || c.Tasks > 0 // what they are counted by
	for _, o := range []struct{ is, given *bool }{
		{&c.PrivateTemp, s.PrivateTemp}, {&c.NoNewPrivileges, s.NoNewPrivileges}, {&out.PID, s.PID}, {&c.Mount, s.Mount}, {&c.IPC, s.IPC},
		{&c.Syscalls, s.Syscalls},
	} {
		if o.given != nil {
			*o.is = *o.given
		}
	}
	if s.Network != "" {
		c.NoNetwork = s.Network == NetworkNone
	}
	if c.PrivateTemp {
		out.Set = append(out.Set, "TMPDIR=/tmp")
	}
	if c.Memory > 0 {
		out.Set = append(out.Set, "GOMEMLIMIT="+strconv.FormatInt(c.Memory/5*4, 10))
	}
	return out
}

// strict is the profile of that name.
func strict(helper string) launch.Sandbox {
	return launch.Sandbox{
		Helper: helper, PID: true, Hide: true,
		Pass: []string{}, Set: []string{strictPath, "HOME=/tmp"},
		Settings: confine.Settings{
			Mount: true, IPC: true, Host: true, NoNetwork: true, Files: true, PrivateTemp: true,
			Memory: 512 << 20, Tasks: 256, OpenFiles: 256, FileSize: 64 << 20, NoCore: true, Umask: "77",
			NoNewPrivileges: true, NoCapabilities: true, Syscalls: true,
		},
	}
}

// sandboxHelper is the helper's path: as configured, or beside the running program, or empty.
func sandboxHelper(configured string) string {
	if configured != "" {
		return configured
	}
	own, err := os.Executable()
	if err != nil {
		return ""
	}
	beside := filepath.Join(filepath.Dir(own), confine.Name)
	if info, err := os.Stat(beside); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return beside
}

// hiddenDirs lists what no plugin may see but those of the profile none (T42).
func hiddenDirs(dir *state.Dir) []string {
	path, err := dir.Path()
	if err != nil { // there is none, nor will be
		return nil
	}
	return []string{path}
}
