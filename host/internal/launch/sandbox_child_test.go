//go:build linux

package launch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sandboxStep is a step of a plugin that tries what its sandbox may not let it do. What came of it, or the
// error, is the answer.
func sandboxStep(verb, arg string) (string, error) {
	done := func(err error) (string, error) {
		if err != nil {
			return err.Error(), nil
		}
		return "done", nil
	}
	switch verb {
	case "read":
		data, err := os.ReadFile(arg)
		if err != nil {
			return done(err)
		}
		return "read " + string(data), nil
	case "write":
		return done(os.WriteFile(arg, []byte("x"), 0o666))
	case "list":
		entries, err := os.ReadDir(arg)
		if err != nil {
			return done(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " "), nil
	case "dial": // NETWORK,ADDRESS
		network, address, _ := strings.Cut(arg, ",")
		conn, err := net.DialTimeout(network, address, 5*time.Second)
		if err == nil {
			conn.Close()
		}
		return done(err)
	case "ptrace":
		return done(unix.PtraceAttach(os.Getppid()))
	case "mount":
		return done(unix.Mount("x", "/tmp", "tmpfs", 0, ""))
	case "unshare":
		return done(unix.Unshare(unix.CLONE_NEWNET))
	case "newuser":
		cmd := exec.Command("/bin/true")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
		return done(cmd.Run())
	case "packet":
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err == nil {
			unix.Close(fd)
		}
		return done(err)
	case "processes":
		names, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			return "", err
		}
		return fmt.Sprint(len(names)), nil
	case "hostname":
		name, err := os.Hostname()
		if err != nil {
			return done(err)
		}
		return name, nil
	case "status": // a field of /proc/self/status
		data, err := os.ReadFile("/proc/self/status")
		for line := range strings.Lines(string(data)) {
			if value, ok := strings.CutPrefix(line, arg+":"); ok {
				return strings.TrimSpace(value), nil
			}
		}
		return done(err)
	case "temp": // writes a file to the temporary directory, and says its mode
		name := filepath.Join(os.TempDir(), arg)
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			return done(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			return done(err)
		}
		return fmt.Sprint(name, " ", info.Mode()), nil
	case "dir":
		dir, err := os.Getwd()
		if err != nil {
			return done(err)
		}
		return dir, nil
	case "bomb": // children until there can be no more
		for n := 0; ; n++ {
			if err := exec.Command("/bin/sleep", "60").Start(); err != nil || n > 2000 {
				return fmt.Sprintf("%d children: %v", n, err), nil
			}
		}
	}
	return "", errors.New("unknown step")
}
