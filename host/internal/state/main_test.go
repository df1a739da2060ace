package state

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// childEnv makes the test binary a child that does what its arguments say.
const childEnv = "TOOLHOST_STATE_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(runChild(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// runChild opens the directory args[1], says that it is ready, waits for the end
// of stdin, and does args[0].
func runChild(args []string) int {
	d, err := Open(args[1])
	if err != nil {
		fmt.Println(err)
		return 1
	}
	verb, args := args[0], args[2:]
	gate := func() {
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	switch verb {
	case "spend":
		gate()
		err := d.Spend(args[0], Record{Decision: Approved, Expires: time.Now().Add(time.Hour)})
		if spent, ok := errors.AsType[*SpentError](err); ok {
			fmt.Println("spent", spent.First.Decision, spent.First.Outcome)
			return 0
		}
		fmt.Println("won", err)
	case "keys":
		gate()
		k, err := d.Keys(nil)
		fmt.Println(k, err)
	case "put":
		gate()
		err := d.PutPending(Entry{ID: args[0], Caller: args[1], Expires: time.Now().Add(time.Hour)})
		fmt.Println(err)
	case "take":
		gate()
		e, err := d.TakePending(args[0])
		fmt.Println(string(e.Body), err)
	case "hold":
		err := d.use(func(*session) error {
			gate()
			return nil
		})
		fmt.Println(err)
	case "work":
		childWork(d)
	default:
		childStore(d, gate, verb, args)
		childLinux(d, verb, args)
	}
	return 0
}

// childWork spends and adds until it is killed, and says what is certainly done.
func childWork(d *Dir) {
	d.MaxPending, d.MaxPerCaller = 1<<20, 1<<20
	for n := 0; ; n++ {
		id := fmt.Sprintf("%d-%d", os.Getpid(), n)
		if err := d.PutPending(Entry{ID: id, Body: bytes.Repeat([]byte(id), 5000), Expires: time.Now().Add(time.Hour)}); err != nil {
			fmt.Println("put:", err)
			return
		}
		fmt.Println("put", id)
		if err := d.Spend(id, Record{Decision: Approved, Expires: time.Now().Add(time.Hour)}); err != nil {
			fmt.Println("spend:", err)
			return
		}
		fmt.Println("spent", id)
		if err := d.DropPending(id); err != nil {
			fmt.Println("drop:", err)
			return
		}
		if err := d.SetOutcome(id, "done"); err != nil {
			fmt.Println("outcome:", err)
			return
		}
		fmt.Println("done", id)
	}
}

// child is this test binary as another process.
func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// together runs children that start their work at the same moment, and returns
// what each printed.
func together(t *testing.T, commands ...[]string) []string {
	t.Helper()
	in, gate, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer gate.Close()
	var cmds []*exec.Cmd
	var outs []*bufio.Reader
	for _, args := range commands {
		cmd := child(t, args...)
		cmd.Stdin = in
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds, outs = append(cmds, cmd), append(outs, bufio.NewReader(out))
	}
	for _, out := range outs {
		if line, err := out.ReadString('\n'); line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	gate.Close()
	var said []string
	for i, out := range outs {
		text, err := io.ReadAll(out)
		if err := errors.Join(err, cmds[i].Wait()); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		said = append(said, strings.TrimSpace(string(text)))
	}
	return said
}

// clock is a clock that a test sets.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

// newDir is a state directory with a clock of its own.
func newDir(t *testing.T) (*Dir, *clock) {
	t.Helper()
	return openDir(t, filepath.Join(t.TempDir(), "state"))
}

func openDir(t *testing.T, path string) (*Dir, *clock) {
	t.Helper()
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	c := &clock{time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)}
	d.Now = c.now
	return d, c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// as is the error of a type that err must be.
func as[E error](t *testing.T, err error) E {
	t.Helper()
	e, ok := errors.AsType[E](err)
	if !ok {
		t.Fatalf("%T (%v), want %T", err, err, e)
	}
	return e
}
