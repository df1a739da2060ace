package launch

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
)

// breach finds the limit that ended the process, if one did: by the signal, the CPU time, and what runtimes
// and C libraries say when the kernel refuses them something (S12).
func (e *Exit) breach(limits confine.Settings, used time.Duration, oom bool) bool {
	died := e.Status != 0
	last := e.lastWords()
	says := func(words ...string) bool {
		for _, w := range words {
			if bytes.Contains(last, []byte(w)) {
				return true
			}
		}
		return false
	}
	switch cpu := time.Duration(limits.CPU) * time.Second; {
	case limits.Syscalls && e.Signal == "SIGSYS":
		e.Cause, e.Limit = CauseSyscall, "list of system calls"
	case oom:
		e.Cause, e.Limit = CauseMemory, "memory limit of "+size(limits.Memory)
	case cpu > 0 && (e.Signal == "SIGXCPU" || e.Signal == "SIGKILL" && used >= cpu/2): // the kernel counts ticks
		e.Cause, e.Limit = CauseCPU, fmt.Sprintf("CPU time of %v", cpu)
	case limits.FileSize > 0 && (e.Signal == "SIGXFSZ" || died && says("file too large", "File too large")):
		e.Cause, e.Limit = CauseFileSize, "file size limit of "+size(limits.FileSize)
	case limits.Tasks > 0 && died && says("newosproc", "failed to create new OS thread", "pthread_create", "can't start new thread",
		"resource temporarily unavailable", "Resource temporarily unavailable"):
		e.Cause, e.Limit = CauseTasks, fmt.Sprintf("limit of %d tasks", limits.Tasks)
	case limits.OpenFiles > 0 && died && says("too many open files", "Too many open files"):
		e.Cause, e.Limit = CauseOpenFiles, fmt.Sprintf("limit of %d open files", limits.OpenFiles)
	case limits.Memory > 0 && died && says("out of memory", "cannot allocate memory", "Cannot allocate memory", "bad_alloc",
		"MemoryError", "cannot map pages in arena", "pthread_create", "errno=12"), // a thread without room for its stack
		// Go's collector and C programs do not always look at what they got.
		limits.Memory > 0 && says("SIGSEGV: ") && e.PeakRSS >= limits.Memory/2:
		e.Cause, e.Limit = CauseMemory, "memory limit of "+size(limits.Memory)
	default:
		return false
	}
	return true
}

// lastWords is what the process said of its end: the head of a panic, with what stands before an abort, as libraries in C say why
// they abort; or else the last of its stderr.
func (e *Exit) lastWords() []byte {
	const most = 2 << 10
	if e.Panic == "" {
		return e.Stderr[max(0, len(e.Stderr)-most):]
	}
	head, _, _ := strings.Cut(e.Panic, "\n")
	before := bytes.Index(e.Stderr, []byte(head))
	if before < 0 || !strings.HasPrefix(head, "SIGABRT") {
		return []byte(e.Panic)
	}
	return append(bytes.Clone(e.Stderr[max(0, before-most):before]), e.Panic...)
}

// size is a number of bytes in the largest unit that divides it.
func size(n int64) string {
	for _, u := range []struct {
		name  string
		shift uint
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if n>>u.shift<<u.shift == n {
			return fmt.Sprintf("%d %s", n>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
