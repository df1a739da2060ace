package launch

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
)

// This file compiles and was never run: plugins do not start on Windows yet. There
// is no connection that they could inherit, and no other that they serve. What is
// below lacks a job object (K4 would rest on the lifeline) and a Flush that knows
// what is in the pipes; a descendant that keeps them delays Done without bound.

// inheritsConn is false: there is no socket pair.
const inheritsConn = false

const errTextBusy = windows.ERROR_SHARING_VIOLATION

func (p *plumbing) pair() error { return errors.ErrUnsupported }

func withoutInherited(files []*os.File) []*os.File { return files }

func sysAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func notCovered() []string {
	return []string{"no job object yet: descendants survive the plugin"}
}

func killGroup(proc *os.Process) { _ = proc.Kill() }

func reapAdopted(int) {}

func terminate(*os.Process) {} // the lifeline is what there is

// awaitZombie returns when the process has ended; the handle of os.Process keeps
// its id from being given away.
func awaitZombie(pid int) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return
	}
	defer windows.CloseHandle(h)
	_, _ = windows.WaitForSingleObject(h, windows.INFINITE)
}

func describe(state *os.ProcessState) (status int, signal string, peak int64) {
	return state.ExitCode(), "", 0
}

func (o *output) take(s *stream, buf []byte) (int, error) {
	n, err := s.file.Read(buf)
	if err == io.EOF {
		err = nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	s.taken += int64(n)
	return n, err
}

func (o *output) takeNow(s *stream, buf []byte) (int, error) { return 0, syscall.EAGAIN }

func (s *stream) pending() int64 { return 0 }

func executable(string, os.FileInfo) bool { return true }
