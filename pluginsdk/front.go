package pluginsdk

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/toolhost/toolhost/proto/rpc"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// front serves the connections of a listener.
type front struct {
	lis     net.Listener
	service rpc.Service
	ending  chan struct{} // closed by shutdown
	over    chan struct{} // closed when nobody is accepted any more
	err     error         // why, valid after over; nil after shutdown
	group   sync.WaitGroup
	ctx     context.Context // ends when handlers are not waited for any more
	cancel  context.CancelFunc

	mu    sync.Mutex
	conns map[*rpc.Server]struct{}
}

// room is what a message may hold beside its largest frame.
const room = 1 << 20

// startFront serves s on l until shutdown.
func startFront(s *server, l net.Listener) *front {
	f := &front{
		lis:     l,
		service: rpc.Service{Desc: &pb.ToolPluginService_ServiceDesc, Impl: s, MaxMessage: wire.MaxMessage + room},
		ending:  make(chan struct{}), over: make(chan struct{}), conns: map[*rpc.Server]struct{}{},
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	go f.accept() // ends when the listener is closed; shutdown waits for it
	return f
}

// accept serves who connects.
func (f *front) accept() {
	defer close(f.over)
	var pause time.Duration
	for {
		conn, err := f.lis.Accept()
		if err != nil {
			if pause = f.retry(err, pause); pause == 0 {
				return
			}
			continue
		}
		pause = 0
		f.serve(conn)
	}
}

// retry waits after an error of Accept that passes, longer each time, and returns how long. After another one it returns 0.
func (f *front) retry(err error, pause time.Duration) time.Duration {
	if t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err); ok && t.Temporary() {
		pause = min(max(5*time.Millisecond, 2*pause), time.Second)
		wait := time.NewTimer(pause)
		defer wait.Stop()
		select {
		case <-wait.C:
			return pause
		case <-f.ending:
		}
	}
	select {
	case <-f.ending:
	default:
		f.err = err
	}
	return 0
}

// serve serves one connection.
func (f *front) serve(conn net.Conn) {
	srv := rpc.Serve(conn, f.service)
	f.mu.Lock()
	f.conns[srv] = struct{}{}
	f.mu.Unlock()
	f.group.Add(1)
	go func() { // ends with the connection and its handlers; joined by shutdown
		defer f.group.Done()
		<-srv.Done()
		srv.Shutdown(f.ctx)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.conns, srv)
	}()
}

// shutdown closes the listener, and the connections when their handlers have returned or ctx ends.
func (f *front) shutdown(ctx context.Context) {
	close(f.ending)
	_ = f.lis.Close() // it may have failed already
	<-f.over
	f.mu.Lock()
	var each sync.WaitGroup
	for srv := range f.conns {
		each.Go(func() { srv.Shutdown(ctx) }) // ends soon after ctx
	}
	f.mu.Unlock()
	each.Wait()
	f.cancel()
	f.group.Wait()
}

// finish ends s and then f, within two graces. It returns how many calls did not end.
func finish(f *front, s *server) int {
	left := s.shutdown(wire.LifelineGrace)
	ctx, cancel := context.WithTimeout(context.Background(), wire.LifelineGrace)
	defer cancel()
	f.shutdown(ctx) // the handlers end with their sessions, and what they sent is written
	s.joins.Wait()
	return left
}
