package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// PlaceError says that a file, or a directory or link on the way to it, can be changed by another user: whoever can
// change it decides what runs.
type PlaceError struct {
	Path    string      // what can be changed
	Mode    os.FileMode // its mode
	Problem string      // such as "other users can write to it"
	Fix     string      // a command or words
}

// Error names path, mode, problem and fix.
func (e *PlaceError) Error() string {
	return fmt.Sprintf("%s (mode %s): %s: %s", e.Path, octal(e.Mode), e.Problem, e.Fix)
}

// octal is the mode as chmod takes it.
func octal(m os.FileMode) string {
	bits := uint32(m.Perm())
	for _, special := range []struct {
		mode os.FileMode
		bit  uint32
	}{{os.ModeSetuid, 0o4000}, {os.ModeSetgid, 0o2000}, {os.ModeSticky, 0o1000}} {
		if m&special.mode != 0 {
			bits |= special.bit
		}
	}
	return fmt.Sprintf("%04o", bits)
}

// CheckPlace reports whether only this user and root can change the file at path: every directory and link on the way to
// it, and what links lead to, is looked at. Writing by others is refused, but for directories with the sticky bit, from
// which nobody takes what is not theirs; writing by a group, unless it is the process's own or root's; and an owner that
// is neither root nor this user. The error is a *PlaceError, or that of a path that is not there. It costs an lstat a
// component. Access control lists are not looked at. On Windows it is nil.
func CheckPlace(path string) error {
	return new(placeWalk).check(path)
}

// placeWalk checks places as CheckPlace does, one after the other: directories that several have in common are looked at once.
type placeWalk struct{ fine map[string]bool }

func (w *placeWalk) check(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return w.walk(abs)
}

// checkPlaces checks the places of a plugin's file and of the programs that it starts.
func checkPlaces(p Plugin) error {
	if err := checkPlace(p.Path); err != nil {
		return err
	}
	for _, program := range p.Programs {
		if !filepath.IsAbs(program) {
			return fmt.Errorf("its program %q is not in PATH; install it, or give its path", program)
		}
		if err := checkPlace(program); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("its program %s does not exist", program)
		} else if err != nil {
			return fmt.Errorf("its program: %w", err)
		}
	}
	return nil
}

// checkPlace checks the place of a plugin's file and, if it is a script, those of its interpreters (T55). It is called
// before every start.
func checkPlace(path string) error {
	const most = 5 // scripts that are interpreters of scripts, as the system allows
	for range most {
		if err := CheckPlace(path); err != nil {
			return err
		}
		words := shebang(path)
		if len(words) == 0 {
			return nil
		}
		next := words[0]
		if command := envCommand(words); command != "" {
			if err := CheckPlace(next); err != nil {
				return err
			}
			found, err := exec.LookPath(command)
			if err != nil { // also one that PATH finds below the working directory
				return fmt.Errorf("%s: interpreter %q: %w", path, command, err)
			}
			next = found
		}
		if !filepath.IsAbs(next) {
			return fmt.Errorf("%s: interpreter %q: its path must be absolute", path, next)
		}
		path = next
	}
	return fmt.Errorf("%s: more than %d scripts that interpret scripts", path, most)
}

// shebang returns the words behind #!; nil if the file is no script, or cannot be read, and so not interpreted.
func shebang(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil || !bytes.HasPrefix(head, []byte("#!")) {
		return nil
	}
	line, _, _ := strings.Cut(string(head[2:]), "\n")
	return strings.Fields(line)
}

// envCommand is the program that an interpreter line with env looks for in PATH; empty if it is no such line.
func envCommand(words []string) string {
	if filepath.Base(words[0]) != "env" {
		return ""
	}
	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return w
		}
	}
	return ""
}
