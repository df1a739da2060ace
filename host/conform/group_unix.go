//go:build unix

package conform

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup gives a command a session of its own, so that it reaches no terminal and ends with its children.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func killGroup(p *os.Process) error { return syscall.Kill(-p.Pid, syscall.SIGKILL) }
