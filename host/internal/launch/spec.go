package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/proto/wire"
)

// Spec says what to start.
type Spec struct {
	// Name names the plugin in messages.
	Name string
	// Path is the plugin's binary, and argv[0] of the process.
	Path string
	// Binary is the file to execute in place of Path, such as a private copy of
	// it whose hash was checked. If empty, Path.
	Binary string
	// Args are the arguments, without argv[0].
	Args []string
	// Env holds the operator's own variables as K=V. They win over the
	// allow-list (S2); names that belong to go-plugin or to this package are
	// dropped. See [StandardEnv].
	Env []string
	// Dir is the working directory. If empty, the host's.
	Dir string
	// Sandbox is what the process may see, use and do.
	Sandbox Sandbox
	// Timeout limits the time from fork to connection (L4). If zero, 10 s.
	Timeout time.Duration
	// Output is called with every line of stdout and stderr but the handshake, in
	// order by one goroutine a process. It may block: then lines are dropped and
	// counted (O3), and the plugin and Stop go on (K3). A panic in it ends the
	// process. It must not call Flush. If nil, lines are not kept.
	Output func(Line)
	// Started, if not nil, is called once with the process id, as soon as there
	// is one and long before Start returns (L5). It must not block.
	Started func(pid int)
	// MaxMessage limits one gRPC message in either direction, in bytes (M2). If
	// zero, wire.MaxMessage and 64 KiB of room.
	MaxMessage int
}

// Line is one line of a plugin's output.
type Line struct {
	// Time is when the host read the end of the line.
	Time time.Time
	// Stream is "stdout" or "stderr".
	Stream string
	// Text is the line without its newline, at most 64 KiB. It belongs to the
	// receiver.
	Text []byte
	// Cut is how many bytes of the line are missing at its end (O1).
	Cut int
	// Dropped is how many lines of either stream were dropped just before this
	// one, because Output was behind (O3). A last empty line may carry the rest.
	Dropped int
}

const defaultTimeout = 10 * time.Second

// resolve checks the spec and fills in its defaults. The error is a *StartError.
func (s *Spec) resolve() error {
	if s.Path == "" {
		return s.failed(CauseNotFound, errors.New("no path is given"))
	}
	if s.Binary == "" {
		s.Binary = s.Path
	}
	for _, list := range [][]string{{s.Path, s.Binary, s.Dir, s.Sandbox.Helper}, s.Args, s.Env, s.Sandbox.Settings.Read, s.Sandbox.Settings.Write} {
		for _, v := range list {
			if strings.ContainsRune(v, 0) {
				return s.failed(CausePath, fmt.Errorf("%q holds a zero byte", v))
			}
		}
	}
	for _, kv := range s.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return s.failed(CausePath, errors.New("an environment entry is not NAME=VALUE")) // it may be a secret: not shown
		}
	}
	abs, err := filepath.Abs(s.Binary) // the child changes its directory before it executes
	if err != nil {
		return s.failed(CausePath, err)
	}
	s.Binary = abs
	if s.Dir != "" {
		if s.Dir, err = filepath.Abs(s.Dir); err != nil {
			return s.failed(CausePath, err)
		}
		if info, err := os.Stat(s.Dir); err != nil {
			return s.failed(CausePath, fmt.Errorf("working directory: %w", err))
		} else if !info.IsDir() {
			return s.failed(CausePath, fmt.Errorf("working directory %s is no directory", s.Dir))
		}
	}
	if s.Timeout <= 0 {
		s.Timeout = defaultTimeout
	}
	s.MaxMessage = messageLimit(s.MaxMessage)
	return nil
}

// failed is the error of a start that has no process.
func (s *Spec) failed(cause Cause, err error) *StartError {
	return &StartError{Name: s.Name, Path: s.Path, Cause: cause, Err: err}
}

func messageLimit(n int) int {
	if n <= 0 {
		return wire.MaxMessage + 64<<10
	}
	return n
}
