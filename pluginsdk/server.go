package pluginsdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolhost/toolhost/internal/workers"
	"github.com/toolhost/toolhost/proto/session"
	pb "github.com/toolhost/toolhost/proto/toolplugin/v1"
	"github.com/toolhost/toolhost/proto/wire"
)

// server is the plugin, whatever carries its connection.
type server struct {
	pb.UnimplementedToolPluginServiceServer
	build func(context.Context, *Registry) error
	work  work           // calls and builds: the author's code
	joins sync.WaitGroup // sessions that have ended
	slot  chan struct{}  // holds one token: the right to serve a session

	ctx  context.Context // ends when the plugin is told to end
	stop context.CancelCauseFunc

	mu       sync.Mutex
	builds   map[string]*built // by settings
	sessions map[*session.Session]struct{}
}

// built is one run of build.
type built struct {
	reg  *Registry
	done chan struct{}
	err  error // valid after done
}

func newServer(build func(context.Context, *Registry) error) *server {
	s := &server{
		build: build, slot: make(chan struct{}, 1),
		builds: map[string]*built{}, sessions: map[*session.Session]struct{}{},
	}
	s.slot <- struct{}{}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	return s
}

// registry returns the registry for settings. build runs once for each distinct settings, but again after it failed. A
// deadline of ctx is the build's (Registry.Deadline).
func (s *server) registry(ctx context.Context, settings []byte) (*Registry, error) {
	s.mu.Lock()
	b := s.builds[string(settings)]
	if b == nil {
		deadline, _ := ctx.Deadline()
		b = &built{reg: &Registry{settings: slices.Clone(settings), deadline: deadline, work: &s.work}, done: make(chan struct{})}
		s.builds[string(settings)] = b
		s.work.add()
		// Ends when the author's function returns; s.work joins it. It outlives the
		// request that began it, because its context is that of the tools.
		go s.runBuild(b)
	}
	s.mu.Unlock()
	select {
	case <-b.done:
		return b.reg, b.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.ctx.Done():
		return nil, errStopping
	}
}

func (s *server) runBuild(b *built) {
	defer s.work.done()
	ctx, cancel := context.WithCancelCause(s.ctx)
	b.err = errors.New("the function that sets the tools ended its goroutine")
	defer func() {
		if b.err != nil {
			cancel(b.err)
			s.mu.Lock()
			delete(s.builds, string(b.reg.settings)) // the next request tries again (D5)
			s.mu.Unlock()
		}
		close(b.done)
	}()
	b.err = guard("the function that sets the tools", func() error { return s.build(ctx, b.reg) })
	var p *panicError
	if errors.As(b.err, &p) {
		fmt.Fprintf(os.Stderr, "%v\n%s", p, p.stack)
	}
	b.reg.ready.Store(b.err == nil)
}

// Describe returns the manifest for the given settings.
func (s *server) Describe(ctx context.Context, req *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	reg, err := s.registry(ctx, req.GetSettings())
	if reg == nil {
		return nil, status.FromContextError(err).Err()
	}
	return &pb.DescribeResponse{Manifest: reg.current(err).pb}, nil
}

// Session serves one session after the other.
func (s *server) Session(stream grpc.BidiStreamingServer[pb.SessionRequest, pb.SessionResponse]) error {
	select {
	case <-s.slot:
		defer func() { s.slot <- struct{}{} }()
	case <-stream.Context().Done():
		return status.FromContextError(stream.Context().Err()).Err()
	case <-s.ctx.Done():
		return status.Error(codes.Unavailable, errStopping.Error())
	}
	c := &connection{server: s, ready: make(chan struct{}), workers: workers.Pool[*Call]{Do: (*Call).work, Keep: keepWorkers}}
	c.keptWork = c.workKept
	c.sess = session.New(session.ServerStream(stream), session.Config{
		Side: session.Plugin, OnHello: c.hello, OnOpen: c.openCall, OnLull: c.lull,
	})
	close(c.ready)
	stop := context.AfterFunc(s.ctx, func() { c.sess.EndContexts(errStopping) })
	defer stop()
	s.track(c.sess, true)
	defer s.track(c.sess, false)
	defer c.detach()
	defer c.workers.Close()
	<-c.sess.Done()
	s.joins.Add(1)
	// Ends when the stream has ended, which the return of this handler makes it do; joins waits for it.
	go func() { defer s.joins.Done(); c.sess.Wait() }()
	return nil
}

func (s *server) track(sess *session.Session, add bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.sessions, sess); add {
		s.sessions[sess] = struct{}{}
	}
}

// shutdown cancels every call, waits up to grace for the author's code to end and
// closes the sessions. It returns how many calls are left.
func (s *server) shutdown(grace time.Duration) int {
	s.stop(errStopping)
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	left := s.work.wait(ctx)
	for _, sess := range s.live() {
		_ = sess.Flush(ctx) // the outcomes of the cancelled calls; without a peer there is nobody to miss them
		sess.Close()
	}
	return left
}

func (s *server) live() []*session.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.sessions))
}

// keepWorkers is how many goroutines wait for calls at most.
const keepWorkers = 64

// connection is one session and what it serves.
type connection struct {
	server *server
	sess   *session.Session
	ready  chan struct{} // closed when sess is set

	workers workers.Pool[*Call]

	rhythm   rhythm               // the reader's
	kept     atomic.Pointer[Call] // for who reads
	keptWork func()               // workKept

	reg *Registry // set by hello, before any call is opened; nil if it was refused
}

func (c *connection) hello(h *pb.Hello) *pb.Welcome {
	<-c.ready
	w := &pb.Welcome{Version: wire.Version, Sdk: sdkVersion}
	if !slices.Contains(h.GetVersions(), wire.Version) {
		w.Refusal = fmt.Sprintf("the host speaks wire versions %v; this plugin (%s) speaks %d", h.GetVersions(), sdkVersion, wire.Version)
		return w
	}
	reg, err := c.server.registry(c.server.ctx, h.GetSettings())
	if err != nil {
		w.Refusal = textOf(err, maxErrorText)
		return w
	}
	c.reg = reg
	w.ManifestHash = reg.attach(c.sess).hash
	return w
}

func (c *connection) detach() {
	if c.reg != nil {
		c.reg.detach(c.sess)
	}
}

// openCall starts a call.
func (c *connection) openCall(w *session.Call, open *pb.Open) {
	call := &Call{conn: c, wire: w, open: open, ctx: w.Context()}
	if c.reg != nil {
		call.tool = c.reg.lookup(open.GetTool())
	}
	if c.server.ctx.Err() != nil { // Session may have told the calls already
		w.EndContext(errStopping)
	}
	if call.alone = c.server.work.add() == 1; call.alone && c.rhythm.soon(time.Now()) && call.quick() {
		c.kept.Store(call) // no other one is kept: it would be counted
		return
	}
	c.workers.Run(call)
}

// lull gives the call that was kept to who reads, if nothing else is to be read.
func (c *connection) lull(idle bool) (work func()) {
	switch {
	case c.kept.Load() == nil:
		return nil
	case idle:
		return c.keptWork
	}
	if call := c.kept.Swap(nil); call != nil {
		c.workers.Run(call)
	}
	return nil
}

// workKept runs the call that was kept. If it is late to begin, another goroutine reads already, and may have taken the call.
func (c *connection) workKept() {
	if call := c.kept.Swap(nil); call != nil {
		call.work()
	}
}
