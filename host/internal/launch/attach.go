package launch

import (
	"context"
	"errors"
	"net"
)

// Attach wraps a connection to a plugin that somebody else started. dial is
// called once, and the plugin has answered on the connection when Attach
// returns; ctx limits that. The caller vouches for the connection. The Process
// has PID 0; it is Done when the connection is over; Stop and Kill close it. The
// error is a *StartError. maxMessage is as in [Spec].
func Attach(ctx context.Context, dial func(context.Context) (net.Conn, error), maxMessage int) (*Process, error) {
	conn, err := dial(ctx)
	if err != nil {
		return nil, &StartError{Path: "attached plugin", Cause: CauseConnect, Err: err}
	}
	p := &Process{link: newLink(conn, nil), gone: make(chan struct{}), done: make(chan struct{})}
	cc, err := p.link.connect(ctx, messageLimit(maxMessage))
	if cc == nil {
		p.link.close()
		e := &StartError{Path: "attached plugin", Cause: CauseConnect, Err: err}
		if f := (*failure)(nil); errors.As(err, &f) {
			e.Err = f.err
		}
		if err == nil {
			e.Cause, e.Err = CauseCanceled, context.Cause(ctx)
		}
		return nil, e
	}
	p.conn = cc
	go func() { // ends with the connection; joined by Done
		defer close(p.done)
		<-p.link.over
		close(p.gone)
		cc.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.exit.Exited = true
	}()
	return p, nil
}
