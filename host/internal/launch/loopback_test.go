//go:build linux

package launch

import (
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/proto/loopback"
)

// newLoopbackLauncher returns a launcher as on a system where a child inherits no connection.
func newLoopbackLauncher(t *testing.T) *Launcher {
	t.Helper()
	l := newLauncher(t)
	l.loopback = true
	return l
}

// H2: over loopback, too, only exactly our handshake is one.
func TestH2_LoopbackHandshakesThatAreNotOurs(t *testing.T) {
	t.Parallel()
	l := newLoopbackLauncher(t)
	sum := strings.Repeat("ab", 32)
	for line, says := range map[string]string{
		"1|1|unix|inherited|grpc":                         `network "unix" in place of "tcp"`,
		"1|1|unix|127.0.0.1:9#" + sum + "|grpc":           `network "unix"`,
		"1|1|tcp|inherited|grpc":                          "127.0.0.1:PORT#HASH",
		"1|1|tcp|127.0.0.1:9|grpc":                        "127.0.0.1:PORT#HASH",
		"1|1|tcp|127.0.0.1:9|grpc|" + sum:                 "a certificate that nobody asked for",
		"1|1|tcp|192.0.2.1:9#" + sum + "|grpc":            "127.0.0.1:PORT#HASH",
		"1|1|tcp|localhost:9#" + sum + "|grpc":            "127.0.0.1:PORT#HASH",
		"1|1|tcp|127.0.0.1:9#" + sum[2:] + "|grpc":        "127.0.0.1:PORT#HASH",
		"1|1|tcp|127.0.0.1:9#" + sum + "\x1b[2J|grpc":     "127.0.0.1:PORT#HASH",
		"1|1|tcp|127.0.0.1:9#" + sum + "|netrpc":          `protocol "netrpc"`,
		"1|2|tcp|127.0.0.1:9#" + sum + "|grpc":            "speaks version 2",
		"loading... 1|1|tcp|127.0.0.1:0#" + sum + "|grpc": "127.0.0.1:PORT#HASH",
	} {
		t.Run(fmt.Sprintf("%.40q", line), func(t *testing.T) {
			e := refuse(t, l, self(nil, "print:"+line+"\n", "hang"))
			if !strings.Contains(e.Error(), "handshake: ") || !strings.Contains(e.Error(), says) || !e.Exit.Killed {
				t.Errorf("cause %q: %v", e.Cause, e)
			}
		})
	}
}

// S6: the host talks to nobody but the process that it started, whoever listens where the
// handshake points.
func TestS6_Impostor(t *testing.T) {
	t.Parallel()
	other, err := loopback.NewDialer()
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := loopback.Listen(strings.NewReader(string(other.Line()))) // another host's plugin
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	mute, err := net.Listen("tcp4", "127.0.0.1:0") // takes connections, and is silent
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	_, sum, _ := strings.Cut(foreign.Address(), "#")
	wrong := strings.Replace(foreign.Address(), sum, strings.Repeat("00", 32), 1)
	closed := "127.0.0.1:1#" + sum
	handshake := func(address string) string { return "print:1|1|tcp|" + address + "|grpc\n" }
	tests := map[string]struct {
		steps []string
		cause Cause
		says  string
	}{
		"announced, and another host's": {[]string{handshake(foreign.Address()), "hang"}, CauseConnect, "loopback: 127.0.0.1:"},
		"not the announced key":         {[]string{handshake(wrong), "hang"}, CauseConnect, "another certificate than was announced"},
		"nobody":                        {[]string{handshake(closed), "hang"}, CauseConnect, "refused"},
		"silent":                        {[]string{handshake(mute.Addr().String() + "#" + sum), "sleep:60000"}, CauseTimeout, "not ready after"},
		"silent, and the process ends":  {[]string{handshake(mute.Addr().String() + "#" + sum), "sleep:50", "exit:5"}, CauseExited, "exit status 5"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spec := self(nil, tt.steps...)
			if tt.cause == CauseTimeout {
				spec.Timeout = time.Second
			}
			begin := time.Now()
			e := refuse(t, newLoopbackLauncher(t), spec)
			if e.Cause != tt.cause || !strings.Contains(e.Error(), tt.says) {
				t.Errorf("cause %q: %v", e.Cause, e)
			}
			if took := time.Since(begin); took > spec.Timeout/2 && tt.cause != CauseTimeout {
				t.Errorf("took %v", took)
			}
		})
	}
}

// S1, S4: what authenticates the two is in the lifeline alone, and gone from there.
func TestS6_NoSecretInSight(t *testing.T) {
	s := &sink{}
	p := start(t, newLoopbackLauncher(t), self(s, "env", shake, "serve", "stdin"))
	defer p.Kill()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(environ), "TOOLHOST_PLUGIN_CONN=loopback") {
		t.Errorf("environment: %q", environ)
	}
	secret := regexp.MustCompile(`[0-9a-f]{32}|BEGIN CERT`)
	for what, text := range map[string]string{"environment": string(environ), "arguments": string(args), "output": s.text()} {
		if found := secret.FindString(text); found != "" {
			t.Errorf("%s: %q in %q", what, found, text)
		}
	}
}

// The line is in the lifeline before there is a process that could read it, and nothing else is.
func TestS6_LifelineIsFirst(t *testing.T) {
	pipes, err := newPlumbing(true)
	if err != nil {
		t.Fatal(err)
	}
	defer pipes.closeHost()
	defer pipes.closeChild()
	pipes.lifeline.Close()
	line, err := io.ReadAll(pipes.child()[0])
	if err != nil || string(line) != string(pipes.loop.Line()) || len(pipes.child()) != 3 || pipes.ends != nil {
		t.Errorf("%d bytes of lifeline, %d descriptors, %v", len(line), len(pipes.child()), err)
	}
}
