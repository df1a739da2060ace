package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

const (
	lastCalls = 500 * time.Millisecond  // how long calls may go on when the input has ended
	drainTime = 1500 * time.Millisecond // how long what is cancelled may take to end
	outQueue  = 64                      // messages that wait to be written
)

// ServeStdio serves one client that writes JSON-RPC messages to in, one a line, and reads them from out. The client's
// opening decides the era. It returns nil when in ends: calls that run then have half a second to answer and are cancelled,
// and it returns within two seconds (R29). It returns ctx's error when ctx ends, nil when the Server is closed, and the error of out if nothing
// can be written. A line that is no JSON, or longer than Config.Message, is answered with an error and does no more
// harm (R24, R28). Nothing else is ever written to out.
//
// in is closed, if it is an io.Closer, when serving ends. If its Read goes on nevertheless, a goroutine stays until it returns.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	l := newLink(host.Caller{Channel: channelStdio, Session: "stdio-" + rand.Text()[:8]})
	l.canAsk = true
	p := newPipe(l.within(context.WithoutCancel(ctx)), in, out, s.cfg.Message, s.log)
	l.discard = func(resp *jsonrpc.Response, _ *inflight) {
		n, _ := resp.ID.Raw().(int64)
		p.forget(n)
	}
	defer s.present(l.caller)()
	written := closedAfter(p.writeLines) // ends when p is closed
	ss, err := s.sdk.Connect(l.within(context.WithoutCancel(ctx)), dialled(func(context.Context) (mcp.Connection, error) {
		l.Connection = p
		return l, nil
	}), nil)
	if err != nil {
		_ = p.Close() // there is nobody to be told
		<-written
		return fmt.Errorf("mcp stdio: %w", err)
	}
	p.run, p.direct = s.workers.Run, s.directOver(l, ss)
	go p.readLines()                               // ends with the input, or when p is closed and its Read returns
	ended := closedAfter(func() { _ = ss.Wait() }) // ends when no call runs any more; p knows why
	select {
	case <-ctx.Done():
	case <-s.life.Done():
	case <-p.done:
	case <-p.over: // a call may wait for a client that does not read
	case <-ended:
	}
	late := time.NewTimer(drainTime)
	defer late.Stop()
	l.hangup()
	made := closedAfter(p.work.Wait) // ends when no call runs any more: hangup has cancelled them
	for _, c := range []<-chan struct{}{ended, made, written} {
		select {
		case <-c:
		case <-late.C:
			late.Reset(0)
		}
	}
	if err := p.failure(); err != nil {
		return fmt.Errorf("mcp stdio: write: %w", err)
	}
	return ctx.Err()
}

// directOver is what makes a call over l without the SDK; nil if it has to go through it.
func (s *Server) directOver(l *link, ss *mcp.ServerSession) func(json.RawMessage) func(context.Context) (json.RawMessage, *rpcError) {
	return func(params json.RawMessage) func(context.Context) (json.RawMessage, *rpcError) {
		c, ok := s.direct(params, ss)
		if !ok {
			return nil
		}
		return func(ctx context.Context) (json.RawMessage, *rpcError) {
			r, fault := newRequest(l, ss, c, l.sender(ctx, ss))
			if fault != nil {
				return nil, fault
			}
			return s.serve(ctx, r)
		}
	}
}

// closedAfter runs f on a goroutine, which ends with it, and returns what is closed then.
func closedAfter(f func()) <-chan struct{} {
	c := make(chan struct{})
	go func() { // the caller says when it ends
		defer close(c)
		f()
	}()
	return c
}

// dialled is a transport that is a function.
type dialled func(context.Context) (mcp.Connection, error)

// Connect calls the function.
func (f dialled) Connect(ctx context.Context) (mcp.Connection, error) { return f(ctx) }
