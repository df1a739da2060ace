//go:build linux

package launch

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

func TestAttach(t *testing.T) {
	tests := map[string]func(p *Process, stopPeer func()){
		"Stop":          func(p *Process, _ func()) { p.Stop(time.Minute, 0) },
		"Kill":          func(p *Process, _ func()) { p.Kill() },
		"the peer ends": func(_ *Process, stopPeer func()) { stopPeer() },
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			s := testServer()
			grpc_health_v1.RegisterHealthServer(s, health.NewServer())
			lis := &oneConn{conn: theirs, wait: make(chan struct{})}
			served := make(chan struct{})
			go func() { defer close(served); _ = s.Serve(lis) }() // ends with the listener
			defer func() { close(lis.wait); s.Stop(); <-served }()
			p, err := Attach(context.Background(), func(context.Context) (net.Conn, error) { return ours, nil }, 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := healthy(p); err != nil || p.PID() != 0 || p.Exit().Exited || len(p.Uncovered()) > 0 {
				t.Errorf("%v, pid %d, %+v", err, p.PID(), p.Exit())
			}
			p.Flush(context.Background())
			end(p, func() { theirs.Close() })
			if e := ended(t, p); !e.Exited || e.Cause != CauseNone {
				t.Errorf("%+v", e)
			}
			if healthy(p) == nil {
				t.Error("still healthy")
			}
		})
	}
}

// The connection is handed out once: a second dial is the end of the session.
func TestLink_DialsOnce(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	l := newLink(ours, nil)
	conn, err := l.dial()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // while the first is open, and after
		if _, err := l.dial(); err == nil {
			t.Error("a second connection")
		}
		conn.Close()
	}
	<-l.over
}

func TestAttach_Fails(t *testing.T) {
	refused := errors.New("refused")
	_, err := Attach(context.Background(), func(context.Context) (net.Conn, error) { return nil, refused }, 0)
	if e, ok := errors.AsType[*StartError](err); !ok || e.Cause != CauseConnect || !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	ours, theirs := net.Pipe()
	defer theirs.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	_, err = Attach(ctx, func(context.Context) (net.Conn, error) { return ours, nil }, 0)
	if e, ok := errors.AsType[*StartError](err); !ok || e.Cause != CauseCanceled || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}
