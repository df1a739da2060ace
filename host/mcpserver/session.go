package mcpserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
)

// errFull is the error of openSession when there are as many sessions as may be.
var errFull = errors.New("there are as many sessions as may be")

// errClosed is the error of openSession when the server is closed.
var errClosed = errors.New("the server is closed")

// sessions are the HTTP sessions of legacy clients, and how many streams modern ones listen on.
type sessions struct {
	mu     sync.Mutex
	byID   map[string]*session
	listen int
	closed bool
}

// session is one legacy client over HTTP.
type session struct {
	id        string // 128 random bits: never logged whole
	link      *link
	transport *mcp.StreamableServerTransport
	sdk       *mcp.ServerSession
	absent    func() // it is not told of changes any more

	mu    sync.Mutex
	refs  int         // requests that go on
	timer *time.Timer // ends the session when nothing was asked for long; nil: it never does
	idle  time.Duration
}

// openSession makes a session for a caller. Its error is errFull or errClosed, or that of the SDK.
func (s *Server) openSession(ctx context.Context, caller host.Caller) (*session, error) {
	id := rand.Text()
	sum := sha256.Sum256([]byte(id))
	caller.Session = hex.EncodeToString(sum[:8])
	x := &session{id: id, link: newLink(caller), transport: &mcp.StreamableServerTransport{SessionID: id}, idle: s.cfg.SessionIdle, refs: 1}
	x.link.canAsk = true
	x.link.discard = func(resp *jsonrpc.Response, c *inflight) { // the stream ends first, so that nothing is written to it
		if c.closeStream != nil {
			c.closeStream(mcp.CloseSSEStreamArgs{})
		}
		_ = x.link.Connection.Write(context.Background(), resp) // it only forgets the request
	}
	x.link.Connection, _ = x.transport.Connect(ctx) // without an event store it cannot fail
	if err := s.sessions.add(x, s.cfg.Sessions); err != nil {
		return nil, err
	}
	var err error
	x.sdk, err = s.sdk.Connect(x.link.within(context.WithoutCancel(ctx)), dialled(func(context.Context) (mcp.Connection, error) { return x.link, nil }), nil)
	if err != nil {
		s.sessions.remove(id)
		return nil, err
	}
	x.absent = s.present(x.link.caller)
	s.work.Go(func() { // ends with the session
		_ = x.sdk.Wait() // why it ended is known where it was ended
		x.absent()
		s.sessions.remove(id)
	})
	if x.idle > 0 {
		x.mu.Lock()
		x.timer = time.AfterFunc(x.idle, func() {
			if x.abandoned() {
				s.endSession(x)
			}
		})
		x.timer.Stop() // the request that opens it goes on
		x.mu.Unlock()
	}
	return x, nil
}

// endSession ends a session: its calls are cancelled and its id is unknown from now on.
func (s *Server) endSession(x *session) {
	s.sessions.remove(x.id)
	x.mu.Lock()
	if x.timer != nil {
		x.timer.Stop()
	}
	x.timer = nil
	x.mu.Unlock()
	x.link.hangup()
}

// abandoned ends the use of a session, if no request uses it.
func (x *session) abandoned() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.refs == 0 {
		x.link.end()
	}
	return x.refs == 0
}

// findSession returns the session with an id, if it is the caller's: that of another one, or of one who is now in other groups, is
// unknown (T34). Its idle time stands still until release.
func (s *Server) findSession(id string, caller host.Caller) *session {
	s.sessions.mu.Lock()
	x := s.sessions.byID[id]
	s.sessions.mu.Unlock()
	if x == nil || x.link.caller.Subject != caller.Subject || x.link.caller.Tenant != caller.Tenant || !sameGroups(x.link.caller.Groups, caller.Groups) {
		return nil
	}
	if x.use(); x.link.life.Err() != nil { // it ends just now
		return nil
	}
	return x
}

// sameGroups reports whether two lists hold the same, in whatever order.
func sameGroups(a, b []string) bool {
	return slices.Equal(a, b) || slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// use is the use of a session by one request, during which its idle time stands still.
func (x *session) use() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refs++
	if x.timer != nil {
		x.timer.Stop()
	}
}

// release ends the use of a session by one request.
func (x *session) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.refs--; x.refs == 0 && x.timer != nil {
		x.timer.Reset(x.idle)
	}
}

// add takes a session in.
func (t *sessions) add(x *session, most int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosed
	}
	if len(t.byID)+t.listen >= most {
		return errFull
	}
	t.byID[x.id] = x
	return nil
}

func (t *sessions) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

// listenOn counts a stream that a modern client listens on, until the function that it returns is called.
func (t *sessions) listenOn(most int) (done func(), err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errClosed
	}
	if len(t.byID)+t.listen >= most {
		return nil, errFull
	}
	t.listen++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.listen--
	}), nil
}

// close lets no more sessions in and returns those that are there.
func (t *sessions) close() (all []*session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, x := range t.byID {
		all = append(all, x)
	}
	return all
}
