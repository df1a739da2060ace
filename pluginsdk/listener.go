package pluginsdk

import (
	"context"
	"fmt"
	"net"
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
	f := startFront(s, l)
	select {
	case <-f.over:
	case <-ctx.Done():
	}
	left := finish(f, s)
	if f.err != nil {
		return fmt.Errorf("serve %s: %w", l.Addr(), f.err)
	}
	if left > 0 {
		return fmt.Errorf("serve %s: %d calls did not return when they were cancelled", l.Addr(), left)
	}
	return nil
}
