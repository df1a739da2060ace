package host

import (
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/internal/launch"
	"github.com/toolhost/toolhost/host/internal/state"
	"github.com/toolhost/toolhost/proto/wire"
)

// Discover finds plugin binaries in dirs and launches nothing: regular files, or links to them that stay
// below their directory (D3), named toolplugin-NAME (1 to 64 letters, digits, _ and -), executable here, whose
// Go build information names our SDK (D2), that nobody else can change (CheckPlace). What is not one is skipped
// (D1); the error, joined of *SkipError and whatever reading a directory gave, says what and why, and may come
// with plugins. The first of two plugins of one name wins.
func Discover(dirs ...string) ([]Plugin, error) { return discover(nil, dirs) }

// discover is Discover, for which a file that is known to have run as a plugin is one.
func discover(known *state.Index, dirs []string) ([]Plugin, error) {
	var (
		found []Plugin
		errs  []error
		seen  = map[string]bool{}
		walk  placeWalk
	)
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		root, rootErr := filepath.EvalSymlinks(dir)
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), wire.BinaryPrefix) {
				continue
			}
			path := filepath.Join(dir, e.Name())
			name := PluginName(path)
			err := rootErr
			if err == nil {
				err = checkBinary(known, &walk, root, path)
			}
			if err != nil {
				errs = append(errs, &SkipError{Path: path, Err: err})
				continue
			}
			if seen[name] {
				errs = append(errs, &SkipError{Path: path, Err: fmt.Errorf("a plugin named %s was found before", name)})
				continue
			}
			seen[name] = true
			found = append(found, Plugin{Name: name, Path: path})
		}
	}
	slices.SortFunc(found, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	return found, errors.Join(errs...)
}

// SkipError says why a file that is named like a plugin is not taken for one.
type SkipError struct {
	Path string
	Err  error
}

// Error names the file and the reason.
func (e *SkipError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *SkipError) Unwrap() error { return e.Err }

// PluginName returns the name of the plugin at path: the file's name without toolplugin- and, on Windows,
// .exe.
func PluginName(path string) string {
	name := filepath.Base(path)
	if runtime.GOOS == "windows" {
		name = strings.TrimSuffix(name, ".exe")
	}
	return strings.TrimPrefix(name, wire.BinaryPrefix)
}

// checkBinary says why path, in a directory whose real path is root, is no plugin.
func checkBinary(known *state.Index, walk *placeWalk, root, path string) error {
	if name := PluginName(path); !toolID.MatchString(name) { // it becomes part of messages, tool names and rules (T18)
		return fmt.Errorf("the plugin's name %q: use 1 to 64 letters, digits, _ and -", name)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	target := path
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, info, err = follow(root, path); err != nil {
			return err
		}
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s, not a regular file", kindOf(info.Mode()))
	}
	if err := walk.check(path); err != nil {
		return err
	}
	if ran(known, path, info) {
		return nil
	}
	if cause, err := launch.Inspect(target); cause != launch.CauseNone {
		return err
	}
	return checkBuild(target)
}

// follow follows a link, which must not leave root (D3).
func follow(root, path string) (target string, info os.FileInfo, err error) {
	if target, err = filepath.EvalSymlinks(path); err != nil {
		return "", nil, err
	}
	if rel, err := filepath.Rel(root, target); err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", nil, fmt.Errorf("a link that leaves its directory, to %s; name the plugin in the configuration if that is meant", target)
	}
	info, err = os.Stat(target)
	return target, info, err
}

// ran reports whether the very file ran as a plugin before, and may be executed. Nothing of it need be read then.
func ran(known *state.Index, path string, info os.FileInfo) bool {
	if abs, err := filepath.Abs(path); err == nil { // as it was started
		path = abs
	}
	id, _ := state.Identify(info)
	f, ok := known.File(path)
	return ok && f.Is(id) && f.Refused == "" && info.Mode()&0o111 != 0
}

// checkBuild says why a program was not built with our SDK (D2).
func checkBuild(target string) error {
	build, err := buildinfo.ReadFile(target)
	if err != nil {
		return errors.New("not a Go program; name the plugin in the configuration if it is one")
	}
	if build.Main.Path == wire.Module {
		return nil
	}
	for _, dep := range build.Deps {
		if dep.Path == wire.Module {
			return nil
		}
	}
	return fmt.Errorf("a Go program (%s) that does not use %s/pluginsdk", build.Main.Path, wire.Module)
}

// Check says why the binary of a configured plugin cannot be started: Plugin.Unusable, not a program for this system, one that
// others can change (CheckPlace, of its interpreter and Plugin.Programs too), or not the one whose hash the configuration names. It
// launches nothing. A plugin with Dial has no binary: nil.
func Check(p Plugin) error {
	if p.Unusable != nil {
		return p.Unusable
	}
	if p.Dial != nil {
		return nil
	}
	if cause, err := launch.Inspect(p.Path); cause != launch.CauseNone {
		return err
	}
	if err := checkPlaces(p); err != nil {
		return err
	}
	return checkSum(p.Path, p.SHA256)
}

func kindOf(m fs.FileMode) string {
	if m.IsDir() {
		return "a directory"
	}
	return "a special file (" + m.String() + ")"
}

// checkSum compares the file with a hash in hex, if there is one.
func checkSum(path, want string) error {
	if want == "" {
		return nil
	}
	sum, err := hashFile(path)
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum[:]); !strings.EqualFold(got, want) {
		return fmt.Errorf("%s has SHA-256 %s, but the configuration expects %s; set sha256 to the new value to accept it", path, got, want)
	}
	return nil
}
