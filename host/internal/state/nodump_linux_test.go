package state

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// T57: the process is protected when it holds a key, if it was told to, and only
// then.
func TestT57_NoDump(t *testing.T) {
	path := t.TempDir() + "/state"
	out, err := child(t, "nodump", path).Output()
	must(t, err)
	want := "before 1\nkeys without: 1 <nil>\nkeys with: 0 <nil>\n"
	if got := string(out); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func childNoDump(d *Dir) {
	dumpable := func() int {
		n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
		if err != nil {
			return -1
		}
		return n
	}
	fmt.Println("before", dumpable())
	_, err := d.Keys(nil)
	fmt.Println("keys without:", dumpable(), err)
	d.NoDump = true
	_, err = d.Keys([][]byte{[]byte(strings.Repeat("k", KeySize))})
	fmt.Println("keys with:", dumpable(), err)
	os.Exit(0)
}
