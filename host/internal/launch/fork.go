package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// busyLimit is how long a binary may stay open for writing (L7).
const busyLimit = time.Second

// forker forks every process from an OS thread that lives as long as the
// launcher: the parent-death signal comes when the thread ends that forked (K6).
// There are at most two: one that sees the files that the host sees, and one from
// which directories are hidden (T42), which starts at its first fork.
type forker struct {
	hide []string
	keep string
	quit chan struct{}
	once sync.Once

	cgroups func() string // see forkRequest

	mu     sync.Mutex
	plain  *forkThread
	hidden *forkThread // nil until the first fork from it
}

type forkThread struct {
	requests chan forkRequest
	done     chan struct{}
}

type forkRequest struct {
	spec    Spec
	env     []string
	files   []*os.File
	dir     string   // to start in; if empty, the thread's
	hide    []string // to be hidden by the helper, and what of them to keep
	keep    string
	unhides error         // why the thread does not hide what it should
	cgroups func() string // where control groups can be made; empty if nowhere
	group   *cgroup       // in which the process is made; nil if in none
	reply   chan forkReply
}

type forkReply struct {
	child child
	err   error
}

// child is a process that was just forked.
type child struct {
	proc      *os.Process
	family    family
	uncovered []string
	group     *cgroup
	report    *os.File // of the helper that makes the sandbox; nil if there is none
}

func newForker(hide []string, keep string) *forker {
	f := &forker{hide: hide, keep: keep, quit: make(chan struct{}), cgroups: sync.OnceValue(delegatedCgroup)}
	f.plain = f.thread(func() error { return nil })
	return f
}

// thread starts a thread that calls prepare and then forks.
func (f *forker) thread(prepare func() error) *forkThread {
	t := &forkThread{requests: make(chan forkRequest), done: make(chan struct{})}
	go func() { // ends with close; joined by it
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		defer close(t.done)
		err := prepare()
		for {
			select {
			case r := <-t.requests:
				r.unhides = err
				r.reply <- r.serve()
			case <-f.quit:
				return
			}
		}
	}()
	return t
}

// threadFor is the thread that forks a process in a sandbox.
func (f *forker) threadFor(s Sandbox) *forkThread {
	if !s.Hide || len(f.hide) == 0 || !hidesByThread() {
		return f.plain
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hidden == nil {
		f.hidden = f.thread(func() error { return hideFromThread(f.hide, f.keep) })
	}
	return f.hidden
}

// hides reports whether a directory is one that is hidden, or in one.
func (f *forker) hides(dir string) bool {
	return slices.ContainsFunc(f.hide, func(h string) bool { return within(dir, h) })
}

// close ends the threads; it waits no longer than 1 s for a fork that hangs, as
// on a dead file server.
func (f *forker) close() {
	f.once.Do(func() { close(f.quit) })
	f.mu.Lock()
	threads := []*forkThread{f.plain, f.hidden}
	f.mu.Unlock()
	late := time.NewTimer(defaultReap)
	defer late.Stop()
	for _, t := range threads {
		if t == nil {
			continue
		}
		select {
		case <-t.done:
		case <-late.C:
			return
		}
	}
}

// start forks and executes; it tries again while the binary is open for writing
// somewhere, as it is for a moment in every fork of a program that writes
// binaries (L7). The error is a *failure, or nil with a process.
func (f *forker) start(ctx context.Context, spec Spec, env []string, files []*os.File) (child, error) {
	r := forkRequest{spec: spec, env: env, files: files, cgroups: f.cgroups, reply: make(chan forkReply, 1)}
	t := f.threadFor(spec.Sandbox)
	if r.dir = spec.Dir; r.dir == "" && t != f.plain { // whose working directory does not follow the host's
		if dir, err := os.Getwd(); err == nil && !f.hides(dir) {
			r.dir = dir
		}
	}
	if spec.Sandbox.Hide && t == f.plain {
		r.hide, r.keep = f.hide, f.keep
	}
	for begin, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		select {
		case t.requests <- r:
		case <-ctx.Done():
			return child{}, context.Cause(ctx)
		case <-f.quit:
			return child{}, errClosed
		}
		reply := <-r.reply
		if !errors.Is(reply.err, errTextBusy) || time.Since(begin) > busyLimit {
			if _, ok := errors.AsType[*failure](reply.err); ok {
				return reply.child, reply.err
			}
			return reply.child, execFailure(spec.Binary, reply.err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return child{}, context.Cause(ctx)
		}
	}
}

// serve makes one process, in its sandbox.
func (r forkRequest) serve() (reply forkReply) {
	defer func() {
		if v := recover(); v != nil {
			reply.err = fmt.Errorf("fork: panic: %v", v)
		}
	}()
	reply.child, reply.err = r.fork()
	return reply
}

func (r forkRequest) argv() []string { return append([]string{r.spec.Path}, r.spec.Args...) }

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
	case errno == errExecFormat:
		cause, words = CauseArchitecture, "it is no program for this system"
	}
	return &failure{cause: cause, err: fmt.Errorf("%s: %w", words, errno)}
}
