package loopback

import (
	"bytes"
	"context"
	"crypto/fips140"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is far beyond what anything here takes.
const limit = 20 * time.Second

func newDialer(t *testing.T) *Dialer {
	t.Helper()
	d, err := NewDialer()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// listen is the plugin's end for d.
func listen(t *testing.T, d *Dialer) *Listener {
	t.Helper()
	l, err := Listen(bytes.NewReader(d.Line()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// reach dials, with a limit.
func reach(t *testing.T, d *Dialer, address string) (net.Conn, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c, err := d.Dial(ctx, address)
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

// talk connects both ends and sends a byte each way.
func talk(t *testing.T, d *Dialer, l *Listener) {
	t.Helper()
	near, err := reach(t, d, l.Address())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	for from, to := range map[net.Conn]net.Conn{near: far, far: near} {
		_ = to.SetDeadline(time.Now().Add(limit))
		if _, err := from.Write([]byte{7}); err != nil {
			t.Fatal(err)
		}
		if b := make([]byte, 1); true {
			if _, err := io.ReadFull(to, b); err != nil || b[0] != 7 {
				t.Fatalf("%v, %v", b, err)
			}
		}
	}
}

// raw is a TCP connection to the port of an address.
func raw(t *testing.T, address string) net.Conn {
	t.Helper()
	where, _, _ := strings.Cut(address, "#")
	c, err := net.Dial("tcp4", where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(limit))
	return c
}

func TestS6_OneConnection(t *testing.T) {
	if strings.Contains(os.Getenv("GODEBUG"), "fips140=only") && !fips140.Enabled() {
		t.Fatal("FIPS mode is asked for, and off")
	}
	d := newDialer(t)
	l := listen(t, d)
	talk(t, d, l)
	where, _, _ := strings.Cut(l.Address(), "#")
	if c, err := net.Dial("tcp4", where); err == nil {
		c.Close()
		t.Error("it still listens")
	}
	got := make(chan error, 1)
	go func() { _, err := l.Accept(); got <- err }() // ends with Close
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-got; err != net.ErrClosed {
		t.Errorf("second Accept: %v", err)
	}
}

// S6: whoever is not the host gets nothing, and the host does not wait behind it.
func TestS6_StrangersAreRefused(t *testing.T) {
	stranger, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(t *testing.T, l *Listener){
		"silent": func(t *testing.T, l *Listener) {
			for range maxWaiting + 10 {
				raw(t, l.Address())
			}
		},
		"garbage": func(t *testing.T, l *Listener) {
			c := raw(t, l.Address())
			_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
			if data, _ := io.ReadAll(c); bytes.Contains(data, l.token[:]) {
				t.Error("the token came in the clear")
			}
		},
		"no certificate": func(t *testing.T, l *Listener) {
			handshakeFails(t, tls.Client(raw(t, l.Address()), &tls.Config{InsecureSkipVerify: true}))
		},
		"another certificate": func(t *testing.T, l *Listener) {
			handshakeFails(t, tls.Client(raw(t, l.Address()), stranger.config(l.id.hash)))
		},
		"TLS 1.2": func(t *testing.T, l *Listener) {
			handshakeFails(t, tls.Client(raw(t, l.Address()), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}))
		},
		"another host": func(t *testing.T, l *Listener) {
			if _, err := reach(t, newDialer(t), l.Address()); err == nil {
				t.Error("it was taken")
			}
		},
	}
	for name, intrude := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDialer(t)
			l := listen(t, d)
			intrude(t, l)
			begin := time.Now()
			talk(t, d, l)
			if took := time.Since(begin); took > patience/2 {
				t.Errorf("the host waited %v", took)
			}
		})
	}
}

// handshakeFails reports a stranger who gets as far as a byte of the plugin's: in TLS 1.3 the
// client learns only by its first read that it was refused.
func handshakeFails(t *testing.T, c *tls.Conn) {
	t.Helper()
	err := c.Handshake()
	n := 0
	if err == nil {
		n, err = c.Read(make([]byte, tokenSize))
	}
	if err == nil || n > 0 {
		t.Errorf("it was taken: %d bytes, %v", n, err)
	}
}

// S6: the host talks to nobody but the process that has its line.
func TestS6_ImpostorsAreRefused(t *testing.T) {
	d := newDialer(t)
	real := listen(t, d)
	_, sum, _ := strings.Cut(real.Address(), "#")
	other, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	serve := func(c net.Conn, id *identity, say string) {
		s := tls.Server(c, id.config(d.id.hash))
		if s.Handshake() == nil {
			_, _ = io.WriteString(s, say)
		}
		c.Close()
	}
	tests := map[string]struct {
		hash  string
		serve func(c net.Conn)
		says  string
	}{
		"it has another key":       {sum, func(c net.Conn) { serve(c, other, strings.Repeat("x", tokenSize)) }, errPeer.Error()},
		"announced, without token": {other.hash.String(), func(c net.Conn) { serve(c, other, strings.Repeat("x", tokenSize)) }, "does not know the token"},
		"announced, closes":        {other.hash.String(), func(c net.Conn) { serve(c, other, "") }, "has closed the connection"},
		"no TLS":                   {sum, func(c net.Conn) { _, _ = io.WriteString(c, strings.Repeat("x", 100)); c.Close() }, "tls: "},
		"closes at once":           {sum, func(c net.Conn) { c.Close() }, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan struct{})
			go func() { // ends after one connection; joined below
				defer close(served)
				if c, err := l.Accept(); err == nil {
					tt.serve(c)
				}
			}()
			_, err = reach(t, d, l.Addr().String()+"#"+tt.hash)
			if err == nil || !strings.Contains(err.Error(), tt.says) || !strings.HasPrefix(err.Error(), "loopback: ") {
				t.Errorf("%v, want %q", err, tt.says)
			}
			l.Close()
			<-served
		})
	}
	talk(t, d, real)
}

func TestDial_EndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0") // accepts in the kernel, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	why := errors.New("no more")
	ctx, cancel := context.WithCancelCause(t.Context())
	timer := time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	defer timer.Stop()
	if _, err := newDialer(t).Dial(ctx, l.Addr().String()+"#"+hash{}.String()); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestCheckAddress(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	for address, ok := range map[string]bool{
		"127.0.0.1:1#" + sum:                      true,
		"127.0.0.1:65535#" + sum:                  true,
		"127.0.0.1:0#" + sum:                      false,
		"127.0.0.1:01#" + sum:                     false,
		"127.0.0.1:65536#" + sum:                  false,
		"127.0.0.2:1#" + sum:                      false,
		"[::1]:1#" + sum:                          false,
		"[::ffff:127.0.0.1]:1#" + sum:             false,
		"localhost:1#" + sum:                      false,
		"10.0.0.1:1#" + sum:                       false,
		"127.0.0.1:1":                             false,
		"127.0.0.1:1#":                            false,
		"127.0.0.1:1#" + sum + "00":               false,
		"127.0.0.1:1#" + sum[2:]:                  false,
		"127.0.0.1:1#" + strings.ToUpper(sum):     false,
		"127.0.0.1:1#" + strings.Repeat("zz", 32): false,
		"127.0.0.1:1#" + sum + "#":                false,
		"inherited":                               false,
		"":                                        false,
	} {
		if err := CheckAddress(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestListen_LinesThatAreNone(t *testing.T) {
	good := string(newDialer(t).Line())
	for name, tt := range map[string]struct{ line, says string }{
		"nothing":      {"", "ended before the host's token came"},
		"cut":          {good[:len(good)-1], "ended before the host's token came"},
		"other word":   {"x" + good, "does not begin with the host's token"},
		"short token":  {strings.Replace(good, "v1 ", "v1 \n", 1), "does not begin"},
		"no hex":       {good[:14] + strings.Repeat("g", 64) + good[78:], "not hexadecimal"},
		"short hash":   {good[:100] + "\n", "does not begin"},
		"upper case":   {good[:79] + strings.Repeat("AA", 32) + "\n", "does not begin"},
		"more":         {good[:len(good)-1] + " \n", "does not begin"},
		"without end":  {strings.Repeat("x", 1<<20), "too long"},
		"binary":       {"\x00\xff\n", "does not begin"},
		"return":       {good[:len(good)-1] + "\r\n", "does not begin"},
		"an empty one": {"\n" + good, "does not begin"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Listen(strings.NewReader(tt.line))
			if err == nil {
				l.Close()
				t.Fatal("it listens")
			}
			if !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), good[14:30]) {
				t.Errorf("%v, want %q and no secret", err, tt.says)
			}
		})
	}
}

// The lifeline belongs to the plugin again after the line.
func TestListen_ReadsOneLine(t *testing.T) {
	r := io.MultiReader(bytes.NewReader(newDialer(t).Line()), strings.NewReader("rest"))
	l, err := Listen(r)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	if rest, _ := io.ReadAll(r); string(rest) != "rest" {
		t.Errorf("left: %q", rest)
	}
}

// P2: the system chooses the port: ports that are taken, such as those where go-plugin would
// begin to look, are nobody's concern.
func TestP2_PortsThatAreTaken(t *testing.T) {
	for port := 10000; port <= 10010; port++ {
		if l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port)); err == nil { // else somebody has it
			defer l.Close()
		}
	}
	d := newDialer(t)
	l := listen(t, d)
	if port := l.Addr().(*net.TCPAddr).Port; port >= 10000 && port <= 10010 {
		t.Errorf("port %d", port)
	}
	talk(t, d, l)
}

func TestClose_WithoutAConnection(t *testing.T) {
	d := newDialer(t)
	l := listen(t, d)
	c := raw(t, l.Address()) // silent
	if _, err := reach(t, d, l.Address()); err != nil {
		t.Fatal(err) // authenticated, and never accepted
	}
	for range 2 {
		l.Close()
	}
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("a stranger is still connected")
	}
	if _, err := l.Accept(); err == nil {
		t.Error("a connection after Close")
	}
}

// S9: the same with the FIPS module in its strictest mode, where everything that is not approved fails.
func TestS9_InFIPSMode(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^(TestS6_OneConnection|TestS6_ImpostorsAreRefused)$", "-test.v")
	cmd.Env = append(os.Environ(), "GODEBUG=fips140=only")
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("fips140: ")) && bytes.Contains(out, []byte("not supported")) {
		t.Skipf("no FIPS mode here: %s", out)
	}
	if err != nil || bytes.Count(out, []byte("--- PASS: ")) < 2 {
		t.Errorf("%v: %s", err, out)
	}
}

func BenchmarkConnect(b *testing.B) {
	for b.Loop() {
		d, err := NewDialer()
		if err != nil {
			b.Fatal(err)
		}
		l, err := Listen(bytes.NewReader(d.Line()))
		if err != nil {
			b.Fatal(err)
		}
		c, err := d.Dial(context.Background(), l.Address())
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
		l.Close()
	}
}
