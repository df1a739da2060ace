package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// runtimeDir is where plugins make the socket that go-plugin insists on. Hosts of
// one user share it.
type runtimeDir struct{ path string }

const (
	// socketName is the longest name that go-plugin gives a plugin's socket.
	socketName = "/plugin4294967295"
	// socketPrefix begins the names of all that go-plugin makes there.
	socketPrefix = "plugin"
	// youngest is the age below which a file may belong to a plugin that is just
	// about to replace it by a socket.
	youngest = 10 * time.Second
)

// openRuntimeDir chooses the directory; it is not made yet.
func openRuntimeDir(path string) (runtimeDir, error) {
	if path == "" {
		if base := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(base) {
			d := runtimeDir{filepath.Join(base, "toolhost")}
			if info, err := os.Lstat(base); err == nil && info.IsDir() && owned(info) && d.check() == nil {
				return d, nil
			}
		}
		path = tempRuntimeDir()
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return runtimeDir{}, err
	}
	d := runtimeDir{abs}
	return d, d.check()
}

// check refuses a directory that is too long for a socket's path (L9) or, if it
// exists, not ours alone.
func (d runtimeDir) check() error {
	if limit := socketPathMax - 1 - len(socketName); len(d.path) > limit {
		return fmt.Errorf("runtime directory %s: %d bytes, and a socket's path allows %d: set a shorter RuntimeDir or XDG_RUNTIME_DIR",
			d.path, len(d.path), limit)
	}
	info, err := os.Lstat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("runtime directory: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("runtime directory %s: is a symbolic link: name its target", d.path)
	case !info.IsDir():
		return fmt.Errorf("runtime directory %s: is no directory", d.path)
	case !owned(info):
		return fmt.Errorf("runtime directory %s: belongs to another user: set another RuntimeDir", d.path)
	case info.Mode().Perm()&0o077 != 0 && pluginNetwork == "unix":
		return fmt.Errorf("runtime directory %s: others have access (mode %#o): chmod 700 it, or set another RuntimeDir", d.path, info.Mode().Perm())
	}
	return nil
}

// prepare makes the directory and checks it, before every start.
func (d runtimeDir) prepare() error {
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("runtime directory: %w", err)
	}
	return d.check()
}

// removeSocket removes the socket at path if it lies directly in d.
func (d runtimeDir) removeSocket(path string) {
	if filepath.Dir(path) != d.path {
		return
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		_ = os.Remove(path)
	}
}

// sweep removes sockets on which nobody listens, and files and directories that
// go-plugin made and forgot, and returns their names (D10). It needs no lock:
// no host or plugin uses a socket after its handshake, and files younger than
// any start are left alone.
func (d runtimeDir) sweep(now time.Time) (removed []string) {
	if d.check() != nil {
		return nil
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), socketPrefix) || !owned(info) {
			continue
		}
		path := filepath.Join(d.path, e.Name())
		old := now.Sub(info.ModTime()) > youngest
		switch {
		case info.Mode()&fs.ModeSocket != 0 && deaf(path):
		case info.Mode().IsRegular() && info.Size() == 0 && old:
		case info.IsDir() && strings.HasPrefix(e.Name(), "plugin-dir") && old: // removed only if empty
		default:
			continue
		}
		if os.Remove(path) == nil {
			removed = append(removed, e.Name())
		}
	}
	return removed
}

// deaf reports whether nobody listens on a socket.
func deaf(path string) bool {
	conn, err := net.DialTimeout("unix", path, 100*time.Millisecond)
	if err == nil {
		conn.Close()
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
