package state

import (
	"fmt"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// T57: the process is protected when it holds a key, if it was told to, and only
// then.
func TestT57_NoDump(t *testing.T) {
	out, err := child(t, "nodump", t.TempDir()+"/state").Output()
	must(t, err)
	want := "before 1\nkeys without: 1 <nil>\nkeys with: 0 <nil>\n"
	if got := string(out); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A disk that is full spends nothing, and what is written in the end is whole.
func TestSpend_FullDisk(t *testing.T) {
	out, err := child(t, "full", t.TempDir()+"/state").Output()
	must(t, err)
	lines := strings.Split(string(out), "\n")
	if len(lines) != 6 || !strings.Contains(lines[0], "file too large") || lines[1] != "false <nil>" ||
		!strings.Contains(lines[2], "file too large") || lines[3] != "[] [] <nil>" || lines[4] != "<nil> <nil>" {
		t.Errorf("%s", out)
	}
}

// childLinux does what only Linux tests ask for.
func childLinux(d *Dir, verb string, args []string) {
	switch verb {
	case "mount":
		childMount(d, args)
	case "nodump":
		fmt.Println("before", dumpable())
		_, err := d.Keys(nil)
		fmt.Println("keys without:", dumpable(), err)
		d.NoDump = true
		_, err = d.Keys([][]byte{secret(1)})
		fmt.Println("keys with:", dumpable(), err)
	case "full":
		signal.Ignore(syscall.SIGXFSZ)
		rec := Record{Decision: Approved, Expires: time.Now().Add(time.Hour)}
		wait := Entry{ID: "x", Body: []byte(strings.Repeat("body", 100)), Expires: rec.Expires}
		limit(60) // the clock's file fits, the head of the others too
		fmt.Println(d.Spend("x", rec))
		_, ok, err := d.Spent("x")
		fmt.Println(ok, err)
		fmt.Println(d.PutPending(wait))
		entries, damaged, err := d.Pending()
		fmt.Println(entries, damaged, err)
		limit(1 << 30)
		fmt.Println(d.Spend("x", rec), d.PutPending(wait))
	}
}

func dumpable() int {
	n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return -1
	}
	return n
}

// limit sets the size at which a write fails, as on a full disk.
func limit(size uint64) {
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}); err != nil {
		fmt.Println("limit:", err)
	}
}

// slowFork makes a child a copy of its parent until it runs its own program, during which others can be started: in a user
// namespace, as a host that is not root starts plugins. Where that is not allowed, nil.
func slowFork() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = attr
	if cmd.Run() != nil {
		return nil
	}
	return attr
}
