//go:build unix

package pluginsdk

import (
	"context"
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/proto/loopback"
	"github.com/toolhost/toolhost/proto/wire"
)

// startLoopback starts a process as a host of Windows does, up to the line in its lifeline.
func startLoopback(t *testing.T, line string) *child {
	t.Helper()
	c := startChild(t, "serve", func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, wire.EnvConn+"="+wire.ConnLoopback)
		cmd.ExtraFiles = nil
	})
	if _, err := io.WriteString(c.lifeline, line); err != nil {
		t.Fatal(err)
	}
	return c
}

func newDialer(t *testing.T) *loopback.Dialer {
	t.Helper()
	d, err := loopback.NewDialer()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// announced waits for the handshake and returns its address.
func (c *child) announced(t *testing.T) string {
	t.Helper()
	return strings.Split(c.stdout.waitFor(t, `(?m)^1\|1\|tcp\|127\.0\.0\.1:[0-9]+#[0-9a-f]{64}\|grpc\n`), "|")[3]
}

func TestS6_Loopback(t *testing.T) {
	for name, tt := range map[string]struct {
		end    func(c *child)
		status int
	}{
		"the lifeline ends":   {func(c *child) { c.lifeline.Close() }, 0},
		"the connection ends": {func(c *child) { c.conn.Close() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDialer(t)
			c := startLoopback(t, string(d.Line()))
			address := c.announced(t)
			where, _, _ := strings.Cut(address, "#")
			mute, err := net.Dial("tcp4", where) // a stranger who came first
			if err != nil {
				t.Fatal(err)
			}
			defer mute.Close()
			if conn, err := newDialer(t).Dial(t.Context(), address); err == nil {
				conn.Close()
				t.Error("another host was served")
			}
			c.conn.Close()
			if c.conn, err = d.Dial(t.Context(), address); err != nil {
				t.Fatal(err)
			}
			conns := make(chan net.Conn, 1)
			conns <- c.conn
			c.host = connect(t, dial(t, func(ctx context.Context) (net.Conn, error) {
				select {
				case conn := <-conns:
					return conn, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}), "")
			if out := c.open("env", "{}").output(); strings.Contains(string(out.GetOutput()), "TOOLHOST_PLUGIN") { // S4
				t.Errorf("environment: %s", out.GetOutput())
			}
			if conn, err := net.Dial("tcp4", where); err == nil { // one connection, and no more
				conn.Close()
				t.Error("it still listens")
			}
			tt.end(c)
			if status := c.status(t); status != tt.status {
				t.Errorf("status %d: %s", status, c.stderr)
			}
		})
	}
}

// K4: the end of the host ends a plugin to which nobody has connected.
func TestK4_LoopbackWithoutAConnection(t *testing.T) {
	c := startLoopback(t, string(newDialer(t).Line()))
	c.announced(t)
	c.lifeline.Close()
	if status := c.status(t); status != 0 {
		t.Errorf("status %d: %s", status, c.stderr)
	}
}

func TestLoopback_BadLifeline(t *testing.T) {
	for line, says := range map[string]string{
		"":            "loopback: lifeline: it ended before the host's token came",
		"something\n": "loopback: the lifeline does not begin with the host's token",
	} {
		c := startLoopback(t, line)
		c.lifeline.Close()
		if status := c.status(t); status != 1 || !strings.Contains(c.stderr.String(), says) || strings.Contains(c.stdout.String(), "|grpc") {
			t.Errorf("%q: status %d: %s", line, status, c.stderr)
		}
	}
}
