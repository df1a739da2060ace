//go:build linux

package confine

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[0] == Name {
		os.Exit(Main(os.Args))
	}
	os.Exit(m.Run())
}

// Settings arrive as they left, whatever is in them.
func TestSettings_Args(t *testing.T) {
	all := Settings{
		Optional: []string{"pid", "*"}, Report: 4, Own: true, User: true, Mount: true, IPC: true, Host: true, NoNetwork: true,
		Hide: []string{"/a b", "/c=d"}, Keep: "k", Files: true, Read: []string{"/r", "--"}, Write: []string{"/w\n"}, PrivateTemp: true, Dir: "/d",
		Memory: 1 << 40, FileSize: 2, CPU: 3, Tasks: 4, OpenFiles: 5, NoCore: true, Umask: "077",
		NoNewPrivileges: true, NoCapabilities: true, Syscalls: true,
	}
	for _, s := range []Settings{{}, all} {
		got, binary, argv, wrong := parse(s.Args("/bin", "argv0", "--", "x"))
		if wrong != "" || binary != "/bin" {
			t.Fatalf("%q %q", wrong, binary)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"argv0", "--", "x"}, argv); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParse_Refuses(t *testing.T) {
	for want, args := range map[string][]string{
		"the end": {"own"}, "paper": {"own", "paper", "--", "/b", "b"}, "tasks=x": {"tasks=x", "--", "/b", "b"}, "--": {"--", "/b"},
	} {
		if _, _, _, wrong := parse(args); wrong != want {
			t.Errorf("%q: %q", args, wrong)
		}
	}
}

func TestMain_Refuses(t *testing.T) {
	cmd := exec.Cmd{Path: "/proc/self/exe", Args: []string{Name, "paper"}}
	out, err := cmd.CombinedOutput()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != Status || !strings.Contains(string(out), "cannot use paper: toolhost starts this program") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestParseReport(t *testing.T) {
	m := Miss{"tasks", "a\tb", "c\nd"}
	got := ParseReport([]byte(m.line("missing") + m.line("refused") + "exec\t2\n"))
	clean := Miss{"tasks", "a b", "c d"}
	if diff := cmp.Diff(Report{Missing: []Miss{clean}, Refused: &clean, Exec: syscall.ENOENT}, got); diff != "" {
		t.Error(diff)
	}
	if r := ParseReport([]byte("half a li")); r.Refused == nil {
		t.Error("nonsense is taken for success")
	}
}
