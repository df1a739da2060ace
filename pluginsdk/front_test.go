package pluginsdk

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
)

// passing is an error of Accept after which there may be connections again, as when descriptors are short.
type passing struct{ error }

func (passing) Temporary() bool { return true }

// shortListener fails some times before it accepts.
type shortListener struct {
	net.Listener
	errs  []error
	tries atomic.Int64
}

func (l *shortListener) Accept() (net.Conn, error) {
	if n := int(l.tries.Add(1)); n <= len(l.errs) {
		return nil, l.errs[n-1]
	}
	return l.Listener.Accept()
}

// A listener that fails for a while serves afterwards; one that fails for good ends ServeListener with its error.
func TestServeListener_ErrorsOfAccept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	short := errors.New("too many open files")
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- ServeListener(ctx, &shortListener{Listener: l, errs: []error{passing{short}, passing{short}}})
	}() // ends with ctx
	cc := dial(t, func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "unix", path) })
	describeOn(t, cc, "")
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if l, err = net.Listen("unix", path+"2"); err != nil {
		t.Fatal(err)
	}
	if err := ServeListener(context.Background(), &shortListener{Listener: l, errs: []error{passing{short}, short}}); !errors.Is(err, short) {
		t.Errorf("ServeListener: %v", err)
	}
}
