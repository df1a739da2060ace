//go:build !linux

package launch

import (
	"errors"
	"runtime"
	"slices"

	"github.com/toolhost/toolhost/internal/confine"
)

func hidesByThread() bool { return false }

func hideFromThread([]string, string) error { return errors.ErrUnsupported }

// lacking notes what of a sandbox this system does not give, which is all but the environment, the working
// directory and what is named; or it refuses the start.
func (r forkRequest) lacking(c *child, gives ...string) error {
	wanted := wanted(r.spec.Sandbox.Settings)
	if len(r.hide) > 0 {
		wanted = append(wanted, confine.State)
	}
	for _, setting := range wanted {
		if slices.Contains(gives, setting) {
			continue
		}
		if err := r.spec.Sandbox.lacks(c, confine.Miss{Setting: setting, Mechanism: runtime.GOOS, Why: "no mechanism on this system yet"}); err != nil {
			return err
		}
	}
	return nil
}
