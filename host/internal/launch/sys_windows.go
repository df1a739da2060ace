package launch

import (
	"io"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

// This file compiles and has not been run yet. The plugin listens on loopback,
// as go-plugin's own does, and any local user can connect: S6 does not hold.
// There is no job object (K4 rests on the lifeline), Flush knows nothing of what
// is in the pipes, and a descendant that keeps them delays Done without bound.

const (
	errTextBusy   = windows.ERROR_SHARING_VIOLATION
	pluginNetwork = "tcp"
	socketPathMax = 108
)

func (p *plumbing) pair() error { return nil }

func withoutInherited(files []*os.File) []*os.File { return files }

func sysAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
}

func addNamespaces(*syscall.SysProcAttr) bool { return false }

func namespaceRefused(error) bool { return false }

func notCovered(error) []string {
	return []string{"no job object yet: descendants survive the plugin", "the connection is loopback TCP: local users can reach it"}
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

func tempRuntimeDir() string { return filepath.Join(os.TempDir(), "toolhost") }

func owned(os.FileInfo) bool { return true }
