package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/host"
)

// T57: a host that has loaded its signing keys cannot be dumped or looked into, and still starts plugins as before. It is tried
// as this user, and as one without rights, whose plugins get their namespaces through a user namespace.
func TestT57_NoDumpOnceKeysAreLoaded(t *testing.T) {
	users := map[string]*syscall.Credential{"this user": nil}
	if os.Geteuid() == 0 {
		users["nobody"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for name, who := range users {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "t57-") // t.TempDir has a directory above it that only its owner enters
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			work, bin := filepath.Join(dir, "work"), filepath.Join(dir, "host.test")
			if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(work, 0o700), copyOwn(bin)); err != nil {
				t.Fatal(err)
			}
			if who != nil {
				if err := os.Chown(work, int(who.Uid), int(who.Gid)); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(bin, "-test.run=^TestT57_Child$", "-test.v")
			cmd.Env = append(os.Environ(), "T57_CHILD="+work, "HOME="+work, "GORACE=atexit_sleep_ms=0")
			cmd.Dir, cmd.SysProcAttr = work, &syscall.SysProcAttr{Credential: who}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestT57_Child") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestT57_Child is the host of the test above.
func TestT57_Child(t *testing.T) {
	work := os.Getenv("T57_CHILD")
	if work == "" {
		t.Skip("it is the child of another test")
	}
	wantDumpable := func(when string, want int) {
		t.Helper()
		if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != want {
			t.Errorf("%s: dumpable is %d, %v; want %d", when, n, err, want)
		}
	}
	h := open(t, host.Config{StateDir: filepath.Join(work, "state")})
	pid := func() string { return string(call(t, h, "pid", `{}`).Output) }
	wantDumpable("at the start", 1)
	first := pid()
	wantDumpable("without keys", 1)
	before := status(t, h).Uncovered
	_, err := h.Call(context.Background(), host.Call{Tool: "dangerous", Input: json.RawMessage(`{}`)})
	if _, ok := errors.AsType[*host.SuspendedError](err); !ok {
		t.Fatal(err)
	}
	wantDumpable("with keys", 0)
	if _, err := h.Call(context.Background(), host.Call{Tool: "exit", Input: json.RawMessage(`{"n":1}`)}); err == nil {
		t.Fatal("exit returned")
	}
	again := pid()
	if now := status(t, h).Uncovered; fmt.Sprint(now) != fmt.Sprint(before) {
		t.Errorf("the sandbox: %v, and before %v", now, before)
	}
	wantDumpable("after another start", 0)
	if os.Geteuid() != 0 {
		if f, err := os.Open(fmt.Sprintf("/proc/%d/environ", os.Getpid())); err == nil {
			f.Close()
			t.Error("what is in /proc still belongs to the user")
		}
	}
	t.Logf("plugins %s and %s, uncovered %v", first, again, before)
}

// copyOwn copies the test binary.
func copyOwn(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
