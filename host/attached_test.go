//go:build unix

package host_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/proto/wire"
)

// listening starts this test binary as a plugin that listens, in a process that no host started, and returns how to
// attach to it and its process.
func listening(t testing.TB, kind, evil string) (host.Plugin, *os.Process) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "th")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(mustExecutable(t))
	word := kind + ":" + socket
	if evil != "" {
		word += ":" + evil
	}
	cmd.Env = append(os.Environ(), wire.CookieKey+"=x", "TEST_PLUGIN="+word, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); os.RemoveAll(dir) })
	eventually(t, "it listens", func() bool { _, err := os.Stat(socket); return err == nil })
	return host.Plugin{Name: "attached", Dial: func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}, cmd.Process
}

// A1: a plugin that somebody else started is shown as attached, is not the host's to stop, and can be attached to again.
func TestA1_AttachedIsShownAndLeftAlone(t *testing.T) {
	p, process := listening(t, "listen", "")
	for range 2 {
		h := open(t, host.Config{}, p)
		if got := string(call(t, h, "echo", `{"text":"x"}`).Output); !strings.Contains(got, `"text":"x"`) {
			t.Errorf("got %s", got)
		}
		if s := status(t, h); s.State != host.Attached || s.PID != 0 || s.SDK == "" || s.Manifest == "" {
			t.Errorf("%+v", s)
		}
		h.Close()
		if err := process.Signal(syscall.Signal(0)); err != nil {
			t.Fatalf("the host ended a process that is not its own: %v", err)
		}
	}
}

// A1: what cannot be attached to is refused in words, whatever the reason.
func TestA1_AttachIsChecked(t *testing.T) {
	for evil, says := range map[string]string{
		"version":        "it speaks wire version 2, this host 1; rebuild the plugin with a matching SDK",
		"describe fails": "no tools today",
		"no welcome":     "not ready within",
	} {
		t.Run(evil, func(t *testing.T) {
			p, _ := listening(t, "listen wire", evil)
			if evil == "no welcome" {
				p.Limits.Start = 2 * time.Second
			}
			h := open(t, host.Config{}, p)
			if e := fails(t, h, "attached/do", `{}`, host.Unavailable, host.NotStarted); !strings.Contains(e.Error(), says) {
				t.Errorf("%v does not say %q", e, says)
			}
			if s := status(t, h); s.State == host.Attached || !strings.Contains(s.Error, says) {
				t.Errorf("%+v", s)
			}
		})
	}
	t.Run("nobody is there", func(t *testing.T) {
		p, process := listening(t, "listen", "")
		_ = process.Kill()
		_, _ = process.Wait()
		h := open(t, host.Config{}, p)
		if e := fails(t, h, "attached/echo", `{}`, host.Unavailable, host.NotStarted); !strings.Contains(e.Error(), "refused") {
			t.Errorf("%v does not say why", e)
		}
	})
}

// A1: a second host that attaches waits its turn within its limit, does not disturb the first, and gets it afterwards.
func TestA1_AttachTwice(t *testing.T) {
	p, _ := listening(t, "listen", "")
	first := open(t, host.Config{}, p)
	call(t, first, "echo", `{"text":"x"}`)
	short := p
	short.Limits.Start = 500 * time.Millisecond
	second := open(t, host.Config{}, short)
	if e := fails(t, second, "attached/echo", `{"text":"x"}`, host.Unavailable, host.NotStarted); !strings.Contains(e.Error(), "not ready within 500ms") {
		t.Error(e)
	}
	call(t, first, "echo", `{"text":"x"}`)
	if s := status(t, first); s.State != host.Attached || s.Restarts != 0 {
		t.Errorf("the first host was disturbed: %+v", s)
	}
	first.Close()
	third := open(t, host.Config{}, p)
	call(t, third, "echo", `{"text":"x"}`)
}

// A1: an attached plugin that stands still, as under a debugger, is not taken for dead while its connection is up; the
// deadlines of calls hold, and it goes on where it stood.
func TestA1_ADebuggerMayPause(t *testing.T) {
	p, process := listening(t, "listen", "")
	h := open(t, host.Config{Limits: host.Limits{Ping: 20 * time.Millisecond, PingWait: 20 * time.Millisecond}}, p)
	call(t, h, "echo", `{"text":"before"}`)
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it stands still", func() bool { return procState(process.Pid) == "T" })
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second) // 50 times what kills a plugin of the host's own
	defer cancel()
	_, err := h.Call(ctx, host.Call{Tool: "echo", Input: []byte(`{"text":"meanwhile"}`)})
	wantError(t, nil, err, host.Timeout, host.Unknown)
	if s := status(t, h); s.State != host.Attached {
		t.Errorf("%+v", s)
	}
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	call(t, h, "echo", `{"text":"after"}`)
	if s := status(t, h); s.State != host.Attached || s.Restarts != 0 || s.Error != "" {
		t.Errorf("%+v", s)
	}
}

// C10: a plugin that is attached and whose process ends is known to be gone at once.
func TestA1_C1_TheEndOfAnAttachedPlugin(t *testing.T) {
	p, process := listening(t, "listen", "")
	h := open(t, host.Config{}, p)
	call(t, h, "echo", `{"text":"x"}`)
	_ = process.Kill()
	_, _ = process.Wait()
	eventually(t, "it is gone", func() bool { return status(t, h).State == host.Crashed })
}
