package pluginsdk

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// K11: as process 1 the plugin reaps the orphan, and leaves the author's own child alone. /proc
// shows the outer namespace's numbers there.
func TestK11_ReapsOrphansOnly(t *testing.T) {
	t.Parallel()
	c := startChild(t, "serve", func(cmd *exec.Cmd) {
		id := func(n int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: n, Size: 1}} }
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID,
			UidMappings: id(os.Getuid()), GidMappings: id(os.Getgid()),
		}
	}).connect(t)
	call := c.open("children", "{}")
	wait(t, "a zombie", func() bool { return zombiesOf(t, c.cmd.Process.Pid) > 0 })
	if got := string(call.output().GetOutput()); got != `"ok"` {
		t.Errorf("got %s", got)
	}
	wait(t, "no zombie", func() bool { return zombiesOf(t, c.cmd.Process.Pid) == 0 })
}

// wait polls, because nothing tells of another process's children.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, testTimeout)
		}
	}
}

func zombiesOf(t *testing.T, parent int) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		var state string
		var ppid int
		if _, err := fmt.Sscan(string(raw[bytes.LastIndexByte(raw, ')')+1:]), &state, &ppid); err != nil {
			t.Fatal(strconv.Quote(string(raw)))
		}
		if state == "Z" && ppid == parent {
			n++
		}
	}
	return n
}
