package pluginsdk

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"

	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// ServeListener serves tools on l, for a host that did not start this process: in
// the same process, under a debugger, or remote. Whoever can connect to l can call the
// tools, so a listener that others can reach must authenticate them, with TLS
// for instance (then with the protocol "h2" in NextProtos).
//
// It ends when ctx ends or l fails, and closes l. Calls are cancelled then; an error says
// how many did not return within a second. No goroutine of its own is left.
func ServeListener(ctx context.Context, l net.Listener, tools ...Definition) error {
	return serveListener(ctx, l, newServer(static(tools)))
}

// ServeListenerFunc is to [ServeFunc] what ServeListener is to [Serve].
func ServeListenerFunc(ctx context.Context, l net.Listener, build func(ctx context.Context, r *Registry) error) error {
	return serveListener(ctx, l, newServer(build))
}

func serveListener(ctx context.Context, l net.Listener, s *server) error {
	gs := s.grpcServer(grpc.WaitForHandlers(true))
	pb.RegisterToolPluginServiceServer(gs, s)
	served := make(chan error, 1)
	// Ends when l is closed, by finish at the latest, which is before the last receive below.
	go func() { served <- gs.Serve(l) }()
	var err error
	select {
	case err = <-served:
		served <- nil
	case <-ctx.Done():
	}
	left := finish(gs, s)
	<-served
	if err != nil {
		return fmt.Errorf("serve %s: %w", l.Addr(), err)
	}
	if left > 0 {
		return fmt.Errorf("serve %s: %d calls did not return when they were cancelled", l.Addr(), left)
	}
	return nil
}

// finish ends s and then gs, within two graces. It returns how many calls did not end.
func finish(gs *grpc.Server, s *server) int {
	left := s.shutdown(wire.LifelineGrace)
	kill := time.AfterFunc(wire.LifelineGrace, gs.Stop)
	gs.GracefulStop() // the handlers end with their sessions, and what they sent is written
	kill.Stop()
	s.joins.Wait()
	return left
}
