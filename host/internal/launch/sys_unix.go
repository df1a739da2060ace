//go:build unix

package launch

import (
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/proto/inherit"
	"github.com/toolhost/toolhost/proto/wire"
)

// inheritsConn is true where a child can inherit a connection.
const inheritsConn = true

const (
	errTextBusy   = syscall.ETXTBSY
	errExecFormat = syscall.ENOEXEC
)

func lifelinePipe() (r, w *os.File, err error) { return os.Pipe() }

func outputPipe() (r, w *os.File, err error) { return os.Pipe() }

// offer makes the connection: the host's ends, and the child's.
func (p *plumbing) offer() error {
	ends, files, err := inherit.Offer()
	if err != nil {
		return err
	}
	p.ends, p.files = ends, append(p.files, files...)
	p.connEnv = strconv.Itoa(wire.ConnFD)
	p.connOutEnv = strconv.Itoa(wire.ConnOutFD)
	return nil
}

// attr is what every fork has.
func (r forkRequest) attr() *os.ProcAttr {
	return &os.ProcAttr{Dir: r.dir, Env: r.env, Files: withoutInherited(r.files), Sys: sysAttr()}
}

// withoutInherited extends the child's descriptors so that those which the host
// itself inherited without close-on-exec are closed in the child.
func withoutInherited(files []*os.File) []*os.File {
	dir, err := os.Open(fdDir)
	if err != nil {
		return files
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	out := files
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil || fd < len(files) {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		for len(out) <= fd {
			out = append(out, nil) // nil is closed
		}
	}
	return out
}

// family is a process and its descendants: a process group, which has the process's id.
type family struct{}

// kill sends SIGKILL to a process that is not reaped, and to its group.
func (family) kill(proc *os.Process) {
	_ = syscall.Kill(-proc.Pid, syscall.SIGKILL)
	_ = proc.Kill() // if it left the group of its own making
}

// reapAdopted reaps what is left of a killed group if this process is the one
// that inherits orphans, as process 1 of a container is (K11). Nobody else waits
// for them. Elsewhere it finds nothing.
func reapAdopted(pgid int) {
	for end := time.Now().Add(100 * time.Millisecond); ; {
		switch pid, err := syscall.Wait4(-pgid, nil, syscall.WNOHANG, nil); {
		case err != nil && err != syscall.EINTR, time.Now().After(end):
			return
		case pid == 0: // killed, and not dead yet
			time.Sleep(time.Millisecond)
		}
	}
}

func terminate(proc *os.Process) { _ = proc.Signal(syscall.SIGTERM) }

// describe takes a state apart: status (-1 for a signal), signal, peak size.
func (family) describe(state *os.ProcessState) (status int, signal string, peak int64) {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		signal = unix.SignalName(ws.Signal())
		if signal == "" {
			signal = "signal " + strconv.Itoa(int(ws.Signal()))
		}
	}
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		peak = int64(ru.Maxrss) * rssUnit
	}
	return state.ExitCode(), signal, peak
}

func (family) close() {}

// take reads what is in the pipe, or waits for it. n bytes were counted in s.
func (o *output) take(s *stream, buf []byte) (n int, err error) {
	waitErr := s.raw.Read(func(fd uintptr) bool {
		n, err = o.count(s, fd, buf)
		return err != syscall.EAGAIN
	})
	if waitErr != nil {
		return 0, waitErr
	}
	return n, err
}

// takeNow is take without waiting, and for a pipe whose deadline has passed.
func (o *output) takeNow(s *stream, buf []byte) (n int, err error) {
	ctlErr := s.raw.Control(func(fd uintptr) { n, err = o.count(s, fd, buf) })
	if ctlErr != nil {
		return 0, ctlErr
	}
	return n, err
}

// count reads and counts in one step, so that flush never sees bytes that are
// neither in the pipe nor counted.
func (o *output) count(s *stream, fd uintptr, buf []byte) (n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		n, err = syscall.Read(int(fd), buf)
		if err != syscall.EINTR {
			break
		}
	}
	n = max(n, 0)
	s.taken += int64(n)
	return n, err
}

// pending is how many bytes wait in the pipe. o.mu is held.
func (s *stream) pending() (n int64) {
	_ = s.raw.Control(func(fd uintptr) {
		if v, err := unix.IoctlGetInt(int(fd), fionread); err == nil {
			n = int64(v)
		}
	})
	return n
}

// executable reports whether this process may execute the file.
func executable(path string, info os.FileInfo) bool {
	return info.Mode()&0o111 != 0 && unix.Access(path, unix.X_OK) == nil
}
