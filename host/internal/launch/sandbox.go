package launch

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/confine"
)

// Sandbox is what a process may see, use and do. The zero value gives it a session
// of its own, the parent-death signal and the lifeline, and nothing else.
type Sandbox struct {
	// PID puts it into a pid namespace of its own: its end is the end of every
	// descendant (K4).
	PID bool
	// Hide hides [Config.Hide] from it (T42).
	Hide bool
	// Settings are given by the helper. Optional, Report, Own, User, Hide and Keep
	// are the launcher's.
	Settings confine.Settings
	// Optional names settings, in the words of package confine, without which the
	// process starts; "*" is all. They are listed by [Process.Uncovered]. Any other
	// that cannot be given refuses the start with [CauseSandbox].
	Optional []string
	// Helper is the path of toolhost-sandbox, or of a program that acts as it when
	// that is its argv[0]. If empty, there is none.
	Helper string
	// Pass names the host's variables that pass to the process; a star at the end
	// stands for any ending. If nil, [StandardEnv] (S3).
	Pass []string
	// Set holds variables as K=V that win over the host's; Spec.Env wins over them.
	Set []string
}

// optional reports whether a process starts without a setting.
func (s *Sandbox) optional(setting string) bool {
	return slices.Contains(s.Optional, setting) || slices.Contains(s.Optional, "*")
}

// wanted names the settings that only the helper gives.
func wanted(c confine.Settings) (names []string) {
	for _, w := range []struct {
		setting string
		wanted  bool
	}{
		{confine.Files, c.Files}, {confine.PrivateTemp, c.PrivateTemp}, {confine.Mount, c.Mount}, {confine.IPC, c.IPC},
		{confine.HostName, c.Host}, {confine.Network, c.NoNetwork}, {confine.Memory, c.Memory > 0}, {confine.CPU, c.CPU > 0},
		{confine.Tasks, c.Tasks > 0}, {confine.OpenFiles, c.OpenFiles > 0}, {confine.FileSize, c.FileSize > 0},
		{confine.Core, c.NoCore}, {confine.Umask, c.Umask != ""}, {confine.NoNewPrivileges, c.NoNewPrivileges},
		{confine.Capabilities, c.NoCapabilities}, {confine.Syscalls, c.Syscalls},
	} {
		if w.wanted {
			names = append(names, w.setting)
		}
	}
	return names
}

// refusal is the failure of a start for a setting that cannot be given.
func refusal(m confine.Miss) *failure {
	return &failure{cause: CauseSandbox, err: fmt.Errorf("%v; with bestEffort: true in its sandbox it starts without", m)}
}

// errNoHelper is why a setting cannot be given where there is no helper.
var errNoHelper = errors.New("the helper is not there: put " + confine.Name + " beside the program that starts plugins (make build makes it), or name it in Config.SandboxHelper")

// lacks notes in c that a setting is not given, or refuses the start.
func (s *Sandbox) lacks(c *child, m confine.Miss) error {
	if !s.optional(m.Setting) {
		return refusal(m)
	}
	c.uncovered = append(c.uncovered, m.String())
	return nil
}

// visible refuses a spec whose file or directory is hidden from its process.
func (s *Spec) visible(hide []string, keep string) error {
	if !s.Sandbox.Hide || runtime.GOOS != "linux" {
		return nil
	}
	for _, name := range []string{s.Binary, s.Dir} {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			name = real
		}
		for _, dir := range hide {
			if real, err := filepath.EvalSymlinks(dir); err == nil {
				dir = real
			}
			if name != "" && within(name, dir) && (keep == "" || !within(name, filepath.Join(dir, keep))) {
				return fmt.Errorf("%s is in %s, which is hidden from plugins; move one of them, or use the sandbox none", name, dir)
			}
		}
	}
	return nil
}

func within(name, dir string) bool {
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
