package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// busyLimit is how long a binary may stay open for writing (L7).
const busyLimit = time.Second

// forker forks every process from one OS thread that lives as long as the
// launcher: the parent-death signal comes when the thread ends that forked (K6).
type forker struct {
	requests chan forkRequest
	quit     chan struct{}
	once     sync.Once
	done     chan struct{}
}

type forkRequest struct {
	spec  Spec
	env   []string
	files []*os.File
	reply chan forkReply
}

type forkReply struct {
	child child
	err   error
}

// child is a process that was just forked.
type child struct {
	proc      *os.Process
	uncovered []string
}

func newForker() *forker {
	f := &forker{requests: make(chan forkRequest), quit: make(chan struct{}), done: make(chan struct{})}
	go func() { // ends with close; joined by it
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer close(f.done)
		for {
			select {
			case r := <-f.requests:
				r.reply <- r.serve()
			case <-f.quit:
				return
			}
		}
	}()
	return f
}

// close ends the thread; it waits no longer than 1 s for a fork that hangs, as
// on a dead file server.
func (f *forker) close() {
	f.once.Do(func() { close(f.quit) })
	select {
	case <-f.done:
	case <-time.After(defaultReap):
	}
}

// start forks and executes; it tries again while the binary is open for writing
// somewhere, as it is for a moment in every fork of a program that writes
// binaries (L7). The error is a *failure, or nil with a process.
func (f *forker) start(ctx context.Context, spec Spec, env []string, files []*os.File) (child, error) {
	r := forkRequest{spec: spec, env: env, files: files, reply: make(chan forkReply, 1)}
	for begin, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		select {
		case f.requests <- r:
		case <-ctx.Done():
			return child{}, context.Cause(ctx)
		case <-f.quit:
			return child{}, errClosed
		}
		reply := <-r.reply
		if !errors.Is(reply.err, errTextBusy) || time.Since(begin) > busyLimit {
			return reply.child, execFailure(spec.Binary, reply.err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return child{}, context.Cause(ctx)
		}
	}
}

// serve makes one process, in the profile if the system allows it.
func (r forkRequest) serve() (reply forkReply) {
	defer func() {
		if v := recover(); v != nil {
			reply.err = fmt.Errorf("fork: panic: %v", v)
		}
	}()
	attr := &os.ProcAttr{Dir: r.spec.Dir, Env: r.env, Files: withoutInherited(r.files), Sys: sysAttr()}
	argv := append([]string{r.spec.Path}, r.spec.Args...)
	var refused error
	if r.spec.Sandbox == SandboxDefault && addNamespaces(attr.Sys) {
		proc, err := startNamespaced(r.spec.Binary, argv, attr)
		if err == nil || !namespaceRefused(err) {
			return forkReply{child{proc: proc}, err}
		}
		refused = err
		attr.Sys = sysAttr()
	}
	proc, err := os.StartProcess(r.spec.Binary, argv, attr)
	if err != nil {
		return forkReply{err: err}
	}
	c := child{proc: proc}
	if r.spec.Sandbox == SandboxDefault {
		c.uncovered = notCovered(refused)
	}
	return forkReply{child: c}
}

// execFailure says what an error of StartProcess means. Inspect has found the
// file in order a moment ago.
func execFailure(path string, err error) error {
	if err == nil {
		return nil
	}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return &failure{cause: CauseSystem, err: err}
	}
	cause, words := CauseSystem, "the system refuses to start it"
	switch {
	case errors.Is(err, errTextBusy):
		cause, words = CauseTextBusy, "the file is open for writing"
	case errors.Is(err, fs.ErrNotExist):
		cause, words = CauseNotFound, "the file is gone"
		if _, err := os.Stat(path); err == nil {
			cause, words = CauseInterpreter, "its interpreter or loader is missing"
		}
	case errors.Is(err, fs.ErrPermission):
		cause, words = CauseNotExecutable, "it must not be executed"
	case errno == syscall.ENOEXEC:
		cause, words = CauseArchitecture, "it is no program for this system"
	}
	return &failure{cause: cause, err: fmt.Errorf("%s: %w", words, errno)}
}
