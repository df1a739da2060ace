package launch

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
)

// Exit says how a process ended: the evidence of a crash (C5).
type Exit struct {
	// Exited is true when the process is gone and the rest is complete.
	Exited bool
	// Status is the exit status; -1 when a signal ended the process.
	Status int
	// Signal is the signal that ended it, such as "SIGKILL"; empty if none did.
	Signal string
	// Killed is true when the host sent that signal.
	Killed bool
	// Stderr is the last 64 KiB of stderr.
	Stderr []byte
	// Panic is the head, at most 4 KiB, of the Go panic or fatal error that ended
	// the process, as found in stderr; empty if none did.
	Panic string
	// PeakRSS is the largest resident size in bytes; zero where it is unknown. On
	// Linux it is never less than the host's own size when it forked.
	PeakRSS int64
	// Limit is the limit of the sandbox that likely ended the process, in words such
	// as "memory limit of 512 MiB" (S12); empty if none did.
	Limit string
	// Cause is the likely cause of the end. It is CauseNone for a process that
	// runs, that the host killed, or that was attached.
	Cause Cause
	// Fault says what went wrong in the host's own code for this process, which
	// then was killed (H6); empty normally.
	Fault string
}

// String is the end in a few words, such as "exit status 3".
func (e Exit) String() string {
	switch {
	case !e.Exited:
		return "running"
	case e.Signal != "" && e.Killed:
		return "ended by the host with " + e.Signal
	case e.Signal != "":
		return "ended by " + e.Signal
	default:
		return fmt.Sprintf("exit status %d", e.Status)
	}
}

// Cause is a machine-readable likely cause of an end or of a failed start (L2).
type Cause string

const (
	// CauseNone says nothing.
	CauseNone Cause = ""
	// CauseExited is an exit of the process's own will, with any status.
	CauseExited Cause = "exited"
	// CauseSignal is a signal that the host did not send.
	CauseSignal Cause = "signal"
	// CauseMemory is the memory limit; or a SIGKILL that the host did not send: most
	// often the kernel, out of memory (L3).
	CauseMemory Cause = "memory"
	// CauseCPU is the limit of CPU time.
	CauseCPU Cause = "cpu_time"
	// CauseTasks is the limit of processes and threads.
	CauseTasks Cause = "tasks"
	// CauseOpenFiles is the limit of descriptors.
	CauseOpenFiles Cause = "open_files"
	// CauseFileSize is the limit of a file's size.
	CauseFileSize Cause = "file_size"
	// CauseSyscall is a system call that the sandbox does not let pass (SIGSYS).
	CauseSyscall Cause = "system_call"
	// CausePanic is a Go panic or fatal error.
	CausePanic Cause = "panic"
	// CauseSignature is a program that macOS ended before its first word, because its
	// code signature does not fit the file (P1).
	CauseSignature Cause = "signature"
	// CauseCookie is a go-plugin plugin of another host.
	CauseCookie Cause = "cookie"
	// CauseInterpreter is a missing interpreter, dynamic loader or library.
	CauseInterpreter Cause = "interpreter"
	// CauseArchitecture is a binary for another system or processor (L13).
	CauseArchitecture Cause = "architecture"
	// CauseNotExecutable is a file without the permission or the form to run.
	CauseNotExecutable Cause = "not_executable"
	// CauseNotFound is a file that does not exist.
	CauseNotFound Cause = "not_found"
	// CauseTextBusy is a file that stayed open for writing (L7).
	CauseTextBusy Cause = "text_busy"
	// CauseTimeout is a start beyond Spec.Timeout (L4).
	CauseTimeout Cause = "timeout"
	// CauseHandshake is a handshake that never came or is not as agreed (H2).
	CauseHandshake Cause = "handshake"
	// CauseVersion is a plugin of another wire version.
	CauseVersion Cause = "version"
	// CauseConnect is a plugin that does not serve on its connection (L11).
	CauseConnect Cause = "connect"
	// CauseCanceled is the end of the caller's context, or of the launcher.
	CauseCanceled Cause = "canceled"
	// CausePath is a directory, argument or variable that cannot be used.
	CausePath Cause = "path"
	// CauseSystem is a system call for the start that the kernel refused.
	CauseSystem Cause = "system"
	// CauseSandbox is a setting of the sandbox that this machine cannot give.
	CauseSandbox Cause = "sandbox"
	// CauseFault is a fault in the host's own code (H6).
	CauseFault Cause = "fault"
)

// StartError says why a start failed.
type StartError struct {
	// Name and Path are the spec's.
	Name, Path string
	// Cause is the likely cause.
	Cause Cause
	// Exit is how the process ended; zero if there was none.
	Exit Exit
	// Err is the cause in words. It is never nil.
	Err error
}

// Error reads "start name: cause: err". How the process ended is in Exit.
func (e *StartError) Error() string {
	return fmt.Sprintf("start %s: %s: %v", cmp.Or(e.Name, e.Path), strings.ReplaceAll(string(e.Cause), "_", " "), e.Err)
}

// Unwrap returns e.Err.
func (e *StartError) Unwrap() error { return e.Err }

// settle works out what can only be said when everything is known. used is the
// CPU time of the process and of the children that it waited for; oom, that its
// control group ran out of memory.
func (e *Exit) settle(limits confine.Settings, used time.Duration, oom bool) {
	e.Exited = true
	if e.Status != 2 && e.Signal != "SIGABRT" { // the two ways in which a Go program panics
		e.Panic = ""
	}
	switch {
	case e.Fault != "":
		e.Cause = CauseFault
	case e.Killed:
		e.Cause = CauseNone
	case e.breach(limits, used, oom):
	case e.Panic != "":
		e.Cause = CausePanic
	case e.Signal == "SIGKILL":
		e.Cause = CauseMemory
	case e.Signal != "":
		e.Cause = CauseSignal
	default:
		e.Cause = CauseExited
	}
}

// statusDLLNotFound is the exit status of a program on Windows whose libraries are not all there.
const statusDLLNotFound = 0xC0000135

// early is why the process ended by itself before it was ready (L2), on the system goos; silent
// is true if it had written nothing.
func (e *Exit) early(goos string, silent bool) (Cause, error) {
	switch {
	case goos == "darwin" && silent && e.Signal == "SIGKILL" && e.Limit == "":
		return CauseSignature, errors.New("the system killed it before its first word (SIGKILL): its code signature does not fit the file, " +
			"as when a signed file is overwritten; put a new file in its place by a rename, or sign it again: codesign --force --sign - FILE")
	case goos == "windows" && int64(e.Status) == statusDLLNotFound:
		return CauseInterpreter, fmt.Errorf("a library is missing (%v)", e)
	case e.Limit != "":
		return e.Cause, fmt.Errorf("%v: it exceeded its %s before it was ready", e, e.Limit)
	case e.Cause == CauseMemory:
		return e.Cause, fmt.Errorf("%v, probably out of memory; peak %d MiB", e, e.PeakRSS>>20)
	case e.Cause == CausePanic:
		return e.Cause, errors.New("it panicked before it was ready")
	case e.Cause != CauseExited:
		return e.Cause, fmt.Errorf("%v before it was ready", e)
	case e.Status == 127 || e.Status == 126: // env, a shell or the dynamic loader
		return CauseInterpreter, fmt.Errorf("an interpreter or a library is missing (%v)", e)
	case bytes.Contains(e.Stderr, []byte("This binary is a plugin. These are not meant to be executed directly")):
		return CauseCookie, errors.New("it is a plugin of another host") // go-plugin's words
	default:
		return CauseExited, fmt.Errorf("%v before it was ready", e)
	}
}
