//go:build !linux

package launch

import (
	"errors"
	"os"
	"runtime"

	"github.com/toolhost/toolhost/internal/confine"
)

func hidesByThread() bool { return false }

func hideFromThread([]string, string) error { return errors.ErrUnsupported }

// fork makes a process. Of a sandbox there is nothing on this system but the environment and the working
// directory.
func (r forkRequest) fork() (c child, err error) {
	s := &r.spec.Sandbox
	for _, setting := range wanted(s.Settings) {
		if err := s.lacks(&c, confine.Miss{Setting: setting, Mechanism: runtime.GOOS, Why: "no mechanism on this system yet"}); err != nil {
			return c, err
		}
	}
	if s.PID {
		c.uncovered = append(c.uncovered, notCovered()...)
	}
	c.proc, err = os.StartProcess(r.spec.Binary, r.argv(), r.attr())
	return c, err
}
