//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/toolhost/toolhost/proto/loopback"
	"github.com/toolhost/toolhost/proto/wire"
)

// shake is the handshake of a plugin that listens nowhere.
const shake = "print:1|1|unix|/x|grpc\n"

// conforming are the steps of a plugin that behaves.
var conforming = []string{"ignore:15", shake, "serve", "stdin", "exit:0"}

// runChild does the steps of a plugin, one after the other.
func runChild(steps []string) {
	for _, s := range steps {
		out, err := childStep(s)
		if err != nil {
			fmt.Fprintln(os.Stderr, "child:", s, err)
			os.Exit(99)
		}
		if out != "" {
			fmt.Fprintln(os.Stderr, out)
		}
	}
}

func childStep(step string) (out string, err error) {
	verb, arg, _ := strings.Cut(step, ":")
	n, _ := strconv.Atoi(arg)
	if step == shake && os.Getenv(wire.EnvConn) == wire.ConnLoopback {
		return "", announce()
	}
	switch verb {
	case "print":
		_, err = os.Stdout.WriteString(arg)
	case "eprint":
		_, err = os.Stderr.WriteString(arg)
	case "block": // N bytes without a newline on both streams, 64 KiB at a time
		err = writeBlocks(n)
	case "lines": // STREAM,N,LENGTH
		err = writeLines(arg)
	case "exit":
		os.Exit(n)
	case "panic":
		panic(arg)
	case "fatal": // a fatal error of the runtime, not a panic
		m := map[int]int{}
		go func() {
			for {
				m[1]++
			}
		}()
		for {
			m[2]++
		}
	case "crash": // a panic that no handler of gRPC is above
		go panic(arg)
		time.Sleep(time.Second)
	case "logon": // FILE: the lifeline's end, then 200 ms of logging, then a mark
		_, _ = io.ReadAll(os.Stdin)
		for range 200 {
			fmt.Fprintln(os.Stderr, "still writing")
			time.Sleep(time.Millisecond)
		}
		err = os.WriteFile(arg, nil, 0o600)
	case "raise":
		err = syscall.Kill(os.Getpid(), syscall.Signal(n))
		time.Sleep(time.Second)
	case "sleep":
		time.Sleep(time.Duration(n) * time.Millisecond)
	case "hang": // deaf to everything
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		for { // select {} would be a deadlock to a runtime without cgo, and end the process
			time.Sleep(time.Hour)
		}
	case "stdin": // the lifeline: returns when it ends
		data, _ := io.ReadAll(os.Stdin)
		return fmt.Sprintf("stdin ended after %d bytes", len(data)), nil
	case "ignore":
		signal.Ignore(syscall.Signal(n))
	case "mark": // writes a file
		err = os.WriteFile(arg, nil, 0o600)
	case "markon": // SIGNAL,FILE
		markOn(arg)
	case "close":
		err = syscall.Close(n)
	case "env":
		return strings.Join(os.Environ(), "\n"), nil
	case "argv0":
		return os.Args[0], nil
	case "fds":
		return listFDs(), nil
	case "ids":
		pgid, _ := syscall.Getpgid(0)
		return fmt.Sprintf("pid %d pgid %d", os.Getpid(), pgid), nil
	case "grandchild", "setsid": // MARK: a child that inherits everything, deaf
		err = spawn(arg, verb == "setsid")
	case "serve":
		err = serveInherited()
	case "goplugin":
		serveGoPlugin()
	default:
		return sandboxStep(verb, arg)
	}
	return "", err
}

func markOn(arg string) {
	num, file, _ := strings.Cut(arg, ",")
	sig, _ := strconv.Atoi(num)
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.Signal(sig))
	go func() { <-c; _ = os.WriteFile(file, nil, 0o600) }() // ends with the process
}

func writeBlocks(n int) error {
	errs := make(chan error, 2)
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		go func() {
			block := []byte(strings.Repeat("x", 64<<10))
			for left := n; left > 0; left -= len(block) {
				if _, err := f.Write(block[:min(left, len(block))]); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	return errors.Join(<-errs, <-errs)
}

func writeLines(arg string) error {
	f := strings.Split(arg, ",")
	n, _ := strconv.Atoi(f[1])
	length, _ := strconv.Atoi(f[2])
	var b strings.Builder
	for i := range n {
		line := fmt.Sprintf("%d ", i)
		b.WriteString(line + strings.Repeat("y", max(0, length-len(line)-1)) + "\n")
	}
	file := os.Stdout
	if f[0] == "stderr" {
		file = os.Stderr
	}
	_, err := file.WriteString(b.String())
	return err
}

func listFDs() string {
	var b strings.Builder
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			fmt.Fprintf(&b, "fd %s %s\n", e.Name(), target)
		}
	}
	return b.String()
}

func spawn(mark string, setsid bool) error {
	cmd := exec.Command(os.Args[0], "child", "ignore:1", "hang", mark)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{os.NewFile(wire.ConnFD, "conn")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
	return cmd.Start()
}

// testServer serves the health service, and "/test/do", which does a step.
func testServer(opts ...grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(append(opts, grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var in wrapperspb.StringValue
		if err := stream.RecvMsg(&in); err != nil {
			return err
		}
		if n, ok := strings.CutPrefix(in.Value, "burst:"); ok { // N messages, then the end of the process
			count, _ := strconv.Atoi(n)
			for i := range count {
				if err := stream.SendMsg(wrapperspb.String(fmt.Sprint(i, strings.Repeat("z", 1000)))); err != nil {
					return err
				}
			}
			// gRPC holds little back, and nothing tells when it was written.
			time.AfterFunc(time.Second, func() { os.Exit(6) })
			return nil
		}
		out, err := childStep(in.Value)
		if err != nil {
			return err
		}
		return stream.SendMsg(wrapperspb.String(out))
	}))...)
	return s
}

// announced is where a child over loopback listens.
var announced *loopback.Listener

// announce is shake for a child over loopback.
func announce() (err error) {
	if announced, err = loopback.Listen(os.Stdin); err != nil {
		return err
	}
	_, err = fmt.Printf("1|1|tcp|%s|grpc\n", announced.Address())
	return err
}

func serveInherited() error {
	if announced != nil {
		serveOn(announced)
		return nil
	}
	if os.Getenv(wire.EnvConn) != strconv.Itoa(wire.ConnFD) {
		return errors.New("no inherited connection")
	}
	f := os.NewFile(wire.ConnFD, "conn")
	conn, err := net.FileConn(f)
	if err != nil {
		return err
	}
	f.Close()
	serveOn(&oneConn{conn: conn, wait: make(chan struct{})})
	return nil
}

func serveOn(l net.Listener) {
	s := testServer()
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	go func() { _ = s.Serve(l) }() // ends with the process
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn net.Conn
	wait chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.wait
	return nil, net.ErrClosed
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "inherited", Net: "unix"} }

// serveGoPlugin is a plugin of plain go-plugin, which also serves descriptor 3.
func serveGoPlugin() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  plugin.HandshakeConfig{MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		VersionedPlugins: map[int]plugin.PluginSet{wire.Version: {wire.PluginName: nothing{}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			if err := serveInherited(); err != nil {
				panic(err)
			}
			return grpc.NewServer(opts...)
		},
	})
}

// nothing is a gRPC plugin without services.
type nothing struct{ plugin.NetRPCUnsupportedPlugin }

func (nothing) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { return nil }
func (nothing) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}
