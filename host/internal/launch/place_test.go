//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/confine"
)

// strictSandbox is host's profile strict, but for the memory: the race detector's would count.
func strictSandbox() Sandbox {
	return Sandbox{
		Helper: os.Args[0], PID: true, Hide: true, Pass: []string{}, Set: []string{"HOME=/tmp", "TMPDIR=/tmp"},
		Settings: confine.Settings{
			Mount: true, IPC: true, Host: true, NoNetwork: true, Files: true, PrivateTemp: true,
			Tasks: 256, OpenFiles: 256, FileSize: 64 << 20, NoCore: true, Umask: "77",
			NoNewPrivileges: true, NoCapabilities: true, Syscalls: true,
		},
	}
}

// helped is defaultSandbox with the helper.
func helped() Sandbox {
	s := defaultSandbox()
	s.Helper = os.Args[0]
	return s
}

// place is a directory with what the tests of sandboxes look for: secret, state/key, state/binaries/kept,
// in, out; and two listeners.
type place struct {
	dir, tcp, abstract string
	close              func()
}

func newPlace(dir string) (place, error) {
	p := place{dir: dir, abstract: "@" + dir}
	err := os.MkdirAll(dir+"/state/binaries", 0o700)
	for _, d := range []string{"in", "out"} {
		err = errors.Join(err, os.Mkdir(dir+"/"+d, 0o700))
	}
	for _, f := range []string{"secret", "state/key", "state/binaries/kept", "in/file"} {
		err = errors.Join(err, os.WriteFile(dir+"/"+f, []byte("content"), 0o600))
	}
	err = errors.Join(err, os.Setenv("SECRET_OF_THE_HOST", "s"), os.Setenv("LANG", "C"))
	tcp, e := net.Listen("tcp", "127.0.0.1:0")
	if err = errors.Join(err, e); err != nil {
		return p, err
	}
	unix, err := net.Listen("unix", p.abstract)
	if err != nil {
		return p, err
	}
	p.tcp, p.close = tcp.Addr().String(), func() { tcp.Close(); unix.Close() }
	return p, nil
}

// trial is a step that a plugin tries, and the parts of the answer, one of which must be there.
type trial struct{ step, want string }

// all is what plugins without a sandbox can do.
func (p place) all() []trial {
	return []trial{
		{"read:" + p.dir + "/secret", "read content"}, {"read:" + p.dir + "/state/key", "read content"},
		{"dial:tcp," + p.tcp, "done"}, {"dial:unix," + p.abstract, "done"},
		{"write:" + p.dir + "/in/new", "done"}, {"env", "LANG=C"},
	}
}

// strict is what plugins in the profile strict can do.
func (p place) strict() []trial {
	return []trial{
		{"env", "!SECRET_OF_THE_HOST"}, {"env", "!LANG="}, {"env", "HOME=/tmp"},
		{"read:" + p.dir + "/secret", "no such file|permission denied"},
		{"read:" + p.dir + "/state/key", "no such file|permission denied"},
		{"read:/etc/hostname", "no such file|permission denied"},
		{"list:/", "dev etc"}, {"list:" + filepath.Dir(p.dir), "!secret"},
		{"read:" + p.dir + "/in/file", "read content"},
		{"write:" + p.dir + "/in/file", "permission denied|read-only file system"},
		{"write:" + p.dir + "/in/new", "permission denied|read-only file system"},
		{"write:" + p.dir + "/out/new", "done"}, {"write:/usr/new", "permission denied|read-only file system"},
		{"write:/proc/sys/kernel/pid_max", "permission denied|read-only file system"},
		{"dial:tcp," + p.tcp, "network is unreachable"}, {"dial:unix," + p.abstract, "connection refused"},
		{"ptrace", "operation not permitted"}, {"mount", "operation not permitted"}, {"unshare", "operation not permitted"},
		{"newuser", "operation not permitted"}, {"packet", "operation not permitted"},
		{"processes", "1"}, {"ids", "pid 1 "}, {"hostname", "plugin"},
		{"status:CapEff", "0000000000000000"}, {"status:CapBnd", "0000000000000000"}, {"status:CapAmb", "0000000000000000"},
		{"status:NoNewPrivs", "1"}, {"status:Seccomp", "2"},
		{"temp:private", "/tmp/private -rw-------"}, {"dir", "/"},
	}
}

// try starts a plugin, has it try things, and reports what was not as wanted.
func (p place) try(s Sandbox, trials []trial, uncovered int) (wrong []string) {
	l := New(Config{Hide: []string{p.dir + "/state"}, Keep: "binaries"})
	defer l.Close()
	spec := self(nil, conforming...)
	spec.Sandbox = s
	proc, err := l.Start(context.Background(), spec)
	if err != nil {
		var e *StartError
		errors.As(err, &e)
		return []string{err.Error(), string(e.Exit.Stderr)}
	}
	defer proc.Kill()
	if u := proc.Uncovered(); len(u) != uncovered {
		wrong = append(wrong, fmt.Sprintf("uncovered: %q", u))
	}
	for _, t := range trials {
		got, err := ask(proc, t.step)
		ok := false
		for _, want := range strings.Split(t.want, "|") {
			want, not := strings.CutPrefix(want, "!")
			ok = ok || strings.Contains(got, want) != not
		}
		if err != nil || !ok {
			wrong = append(wrong, fmt.Sprintf("%s: %q, want %s: %v", t.step, got, t.want, err))
		}
	}
	if _, err := os.Stat("/tmp/private"); err == nil {
		wrong = append(wrong, "the private file is in the host's /tmp")
	}
	return wrong
}

// tryAll tries every profile, and prints what was wrong.
func (p place) tryAll() {
	report := func(name string, wrong []string) {
		for _, w := range wrong {
			fmt.Println(name+":", strings.ReplaceAll(w, "\n", "; "))
		}
	}
	report("none", p.try(Sandbox{}, p.all(), 0))
	hidden := []trial{
		{"read:" + p.dir + "/secret", "read content"}, {"read:" + p.dir + "/state/key", "no such file"},
		{"read:" + p.dir + "/state/binaries/kept", "read content"},
		{"write:" + p.dir + "/state/binaries/new", "read-only file system"}, {"write:" + p.dir + "/state/new", "read-only file system"},
		{"dial:tcp," + p.tcp, "done"}, {"list:" + p.dir + "/state", "binaries"}, {"ids", "pid 1 "}, {"env", "!SECRET_OF_THE_HOST"},
	}
	report("default", p.try(helped(), hidden, 0))
	if os.Getuid() == 0 {
		report("default without a helper", p.try(defaultSandbox(), hidden, 0))
	} else {
		report("default without a helper", p.try(defaultSandbox(), []trial{{"read:" + p.dir + "/state/key", "read content"}}, 1))
	}
	strict := strictSandbox()
	strict.Settings.Read, strict.Settings.Write = []string{p.dir + "/in"}, []string{p.dir + "/out"}
	report("strict", p.try(strict, p.strict(), 0))
	strict.Settings.Read = []string{p.dir} // all of it: the state is hidden all the same
	report("strict, reads all", p.try(strict, []trial{
		{"read:" + p.dir + "/secret", "read content"}, {"write:" + p.dir + "/secret", "permission denied|read-only file system"},
		{"read:" + p.dir + "/state/key", "no such file"}, {"write:" + p.dir + "/out/more", "done"},
	}, 0))
	network := helped()
	network.Settings.NoNetwork = true
	report("network none", p.try(network, []trial{
		{"dial:tcp," + p.tcp, "network is unreachable"}, {"dial:unix," + p.abstract, "connection refused"}, {"read:" + p.dir + "/secret", "read content"},
		{"status:CapEff", map[bool]string{true: "", false: "0000000000000000"}[os.Getuid() == 0]},
	}, 0))
	temp := helped()
	temp.Settings.PrivateTemp, temp.Set = true, []string{"TMPDIR=/tmp"}
	report("private temp", p.try(temp, []trial{{"temp:private", "/tmp/private "}, {"read:" + p.dir + "/secret", "no such file"}}, 0))
	report("host that changed its directory", p.tryDirectory())
	report("strict from a copy", p.tryCopy(strictSandbox()))
	report("default from a copy", p.tryCopy(helped()))
}

// tryDirectory starts two plugins, and the host changes its working directory in between.
func (p place) tryDirectory() (wrong []string) {
	l := New(Config{Hide: []string{p.dir + "/state"}, Keep: "binaries"})
	defer l.Close()
	for _, want := range []string{p.dir + "/in", p.dir + "/out"} {
		spec := self(nil, conforming...)
		spec.Sandbox = helped()
		if err := os.Chdir(want); err != nil {
			return []string{err.Error()}
		}
		proc, err := l.Start(context.Background(), spec)
		if err != nil {
			return []string{err.Error()}
		}
		if got, err := ask(proc, "dir"); err != nil || got != want {
			wrong = append(wrong, fmt.Sprintf("directory %q, want %s: %v", got, want, err))
		}
		proc.Kill()
	}
	return wrong
}

// tryLandlock tries the list of paths where there are no mounts.
func (p place) tryLandlock() {
	s := Sandbox{Helper: os.Args[0], Settings: confine.Settings{Files: true, Read: []string{p.dir + "/in"}, Write: []string{p.dir + "/out"}}}
	for _, w := range p.try(s, []trial{
		{"read:" + p.dir + "/secret", "permission denied"}, {"read:" + p.dir + "/in/file", "read content"}, {"read:/etc/hostname", "permission denied"},
		{"write:" + p.dir + "/in/new", "permission denied"}, {"write:" + p.dir + "/out/new", "done"}, {"write:/dev/null", "done"},
		{"list:" + p.dir, "permission denied"}, {"list:/usr", "lib"}, {"status:NoNewPrivs", "1"},
	}, 0) {
		fmt.Println(w)
	}
}

// tryCopy runs a private copy of the plugin, from the directory that is hidden but for the copies.
func (p place) tryCopy(s Sandbox) (wrong []string) {
	binary := p.dir + "/state/binaries/abc"
	if _, err := os.Stat(binary); err != nil {
		if err := copyFile(binary, os.Args[0]); err != nil {
			return []string{err.Error()}
		}
	}
	l := New(Config{Hide: []string{p.dir + "/state"}, Keep: "binaries"})
	defer l.Close()
	spec := self(nil, conforming...)
	spec.Sandbox, spec.Path, spec.Binary = s, "/plugins/toolplugin-x", binary
	proc, err := l.Start(context.Background(), spec)
	if err != nil {
		return []string{err.Error()}
	}
	defer proc.Kill()
	if got, err := ask(proc, "argv0"); err != nil || got != "/plugins/toolplugin-x" {
		return []string{fmt.Sprintf("argv[0]: %q %v", got, err)}
	}
	return nil
}
