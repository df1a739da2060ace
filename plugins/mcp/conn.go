package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// newRemote returns the server that the settings name. It connects when it is first used. changed is called, some time after the last
// of several reasons, when the server says that its tools changed or came back with others. It is called by a goroutine of
// the remote's, and not after close.
func newRemote(s settings, log *slog.Logger, changed func()) remote {
	c := &conn{set: s, changed: changed, limit: s.timeout(), hide: hider(s)}
	c.log = slog.New(hidingLog{log.Handler(), c.hide})
	c.ctx, c.end = context.WithCancelCause(context.Background())
	c.signal = make(chan struct{}, 1)
	c.wg.Go(c.announce) // ends with close
	return c
}

// Delays of a connection that fails again and again, and of the word that the tools changed.
const (
	firstDelay = 200 * time.Millisecond
	lastDelay  = 30 * time.Second
	waitDelay  = 2 * time.Second // a call waits so long for the next attempt, and not longer
	settleTime = 100 * time.Millisecond
	soundTime  = time.Minute // a connection that lived so long did not fail in a row
)

// conn is a remote over either transport.
type conn struct {
	set     settings
	log     *slog.Logger
	changed func()
	limit   time.Duration // of connecting, and of listing
	hide    func(string) string

	ctx    context.Context // ends with close
	end    context.CancelCauseFunc
	signal chan struct{} // the tools may have changed
	wg     sync.WaitGroup

	mu       sync.Mutex
	cur      *session
	trying   *attempt
	closed   bool
	known    *agreement // of the last handshake
	failures int        // in a row
	next     time.Time  // no attempt before
	last     error      // of the last attempt
	listed   *[32]byte  // what list returned last
	headers  *mirrors   // of HTTP
}

// attempt is a connection that is being made; all who need it wait for it.
type attempt struct {
	done    chan struct{}
	session *session
	err     error
}

var errClosed = errors.New("the plugin is ending")

func (c *conn) list(ctx context.Context) (tools []json.RawMessage, warnings []string, err error) {
	err = c.try(ctx, true, func(s *session) (err error) {
		ctx, cancel := context.WithTimeoutCause(ctx, c.limit, fmt.Errorf("tools/list had no answer in %v", c.limit))
		defer cancel()
		tools, warnings, err = s.listTools(ctx)
		return err
	})
	if err != nil {
		return nil, warnings, err
	}
	sum := sumOf(tools)
	c.mu.Lock()
	c.listed = &sum
	c.mu.Unlock()
	return tools, warnings, nil
}

func (c *conn) call(ctx context.Context, rc remoteCall) (result json.RawMessage, err error) {
	if log := rc.log; log != nil {
		rc.log = func(level, text string) { log(level, c.hide(text)) }
	}
	err = c.try(ctx, rc.repeat, func(s *session) (err error) {
		result, err = s.callTool(ctx, &rc)
		var e *rpcError
		if errors.As(err, &e) && e.code == codeMirror { // the server refused it for its headers, so what they mirror has changed
			if _, _, again := s.listTools(ctx); again == nil {
				result, err = s.callTool(ctx, &rc)
			}
		}
		if err == nil || errors.As(err, &e) {
			c.works()
		}
		return err
	})
	return result, err
}

// try does something with a connection, and once again with another one if the first was lost and it surely was not begun or may be repeated (C3).
func (c *conn) try(ctx context.Context, repeat bool, do func(*session) error) error {
	for tries := 0; ; tries++ {
		s, err := c.session(ctx)
		if err != nil {
			return err
		}
		err = do(s)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if e, ok := errors.AsType[*rpcError](err); ok {
			return &rpcError{code: e.code, message: c.hide(e.message), data: e.data}
		}
		lost, ok := errors.AsType[*lostError](err)
		if !ok {
			return err
		}
		if lost.again {
			c.drop(s, lost)
		}
		if tries == 0 && lost.again && (!lost.sent || repeat) && c.ctx.Err() == nil {
			continue
		}
		return &lostError{sent: lost.sent, text: c.hide(lost.text), err: lost.err, again: lost.again}
	}
}

// session is the connection, made now if there is none.
func (c *conn) session(ctx context.Context) (*session, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, &lostError{text: errClosed.Error(), err: errClosed}
	}
	if c.cur != nil {
		select {
		case <-c.cur.down:
			c.dropLocked(c.cur, c.cur.lost)
		default:
			defer c.mu.Unlock()
			return c.cur, nil
		}
	}
	a := c.trying
	if a == nil {
		delay := time.Until(c.next)
		if delay > waitDelay {
			defer c.mu.Unlock()
			return nil, &lostError{text: fmt.Sprintf("not tried again for another %v, after %d failures in a row; the last one: %v",
				delay.Round(time.Second), c.failures, c.last), err: c.last}
		}
		a = &attempt{done: make(chan struct{})}
		c.trying = a
		c.wg.Go(func() { c.connect(a, delay) }) // ends with the attempt, which close ends
	}
	c.mu.Unlock()
	select {
	case <-a.done:
		return a.session, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// connect makes a connection within the limit.
func (c *conn) connect(a *attempt, delay time.Duration) {
	defer close(a.done)
	s, err := func() (*session, error) {
		if err := pause(c.ctx, delay); delay > 0 && err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeoutCause(c.ctx, c.limit, fmt.Errorf("it was not ready in %v", c.limit))
		defer cancel()
		return c.dial(ctx)
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trying = nil
	if err == nil && c.closed {
		c.wg.Go(s.close) // ends when nothing of the connection is left
		err = errClosed
	}
	if err != nil {
		c.known = nil // it may have become another server
		c.failed()
		a.err = &lostError{text: c.hide(err.Error()), err: err}
		c.last = a.err
		return
	}
	c.cur, a.session = s, s
	known := s.agreement
	c.known = &known
	if c.listed != nil {
		c.wg.Go(func() { c.compare(s) }) // ends with the list, or the connection
	}
	if s.modern && s.listChanged {
		c.wg.Go(func() { c.listen(s) }) // ends with the connection
	}
}

// dial opens a connection and shakes hands.
func (c *conn) dial(ctx context.Context) (*session, error) {
	var cur *peer
	open := func() (*peer, error) {
		l, err := c.open()
		if err != nil {
			return nil, err
		}
		cur = newPeer(l, c.log, c.touch)
		return cur, nil
	}
	c.mu.Lock()
	known := c.known
	c.mu.Unlock()
	p, a, err := handshake(ctx, c.set.Era, known, open)
	if err != nil {
		if s, ok := linkOf(cur); ok && ctx.Err() != nil {
			err = fmt.Errorf("%w%s", err, s.proc.lastWords())
		}
		return nil, err
	}
	if !a.modern && a.logging {
		s := &session{peer: p, agreement: a}
		c.wg.Go(func() { // ends with the answer or the connection
			_, err := s.send(p.ctx, rpc{method: "logging/setLevel", params: func(int64) json.RawMessage {
				return json.RawMessage(`{"level":"info"}`)
			}})
			if err != nil {
				c.log.Debug("logging/setLevel", "error", err)
			}
		})
	}
	c.log.Info("connected", "server", a.server, "version", a.version)
	return &session{peer: p, agreement: a, began: time.Now()}, nil
}

func linkOf(p *peer) (*stdioLink, bool) {
	if p == nil {
		return nil, false
	}
	l, ok := p.link.(*stdioLink)
	return l, ok
}

func (c *conn) open() (link, error) {
	if c.set.Command != "" {
		return openStdio(c.set, c.log, c.hide)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.headers == nil {
		c.headers = newMirrors()
	}
	return openHTTP(c.set, c.log, c.headers)
}

// drop forgets a connection that was lost.
func (c *conn) drop(s *session, why *lostError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropLocked(s, why)
}

func (c *conn) dropLocked(s *session, why *lostError) {
	if c.cur != s {
		return
	}
	c.cur = nil
	if time.Since(s.began) > soundTime {
		c.failures = 0
	}
	c.failed()
	c.last = why
	c.wg.Go(s.close) // ends when nothing of the connection is left
}

// failed counts: the second failure in a row delays the next attempt, and each further one twice as long.
func (c *conn) failed() {
	c.failures++
	if c.failures < 2 {
		return
	}
	c.next = time.Now().Add(min(firstDelay<<min(c.failures-2, 10), lastDelay))
}

// works notes that a call was answered.
func (c *conn) works() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures, c.next = 0, time.Time{}
}

// compare lists the tools of a server that came back.
func (c *conn) compare(s *session) {
	ctx, cancel := context.WithTimeout(s.ctx, c.limit)
	defer cancel()
	tools, _, err := s.listTools(ctx)
	if err != nil {
		c.log.Warn("the tools of the server that came back could not be listed", "error", err)
		return
	}
	c.mu.Lock()
	same := c.listed != nil && *c.listed == sumOf(tools)
	c.mu.Unlock()
	if !same {
		c.touch()
	}
}

func sumOf(tools []json.RawMessage) [32]byte {
	h := sha256.New()
	for _, t := range tools {
		fmt.Fprintf(h, "%d:", len(t))
		h.Write(t)
	}
	return [32]byte(h.Sum(nil))
}

// listen keeps a subscription to changes of the tools, with a server of the modern era.
func (c *conn) listen(s *session) {
	for delay := firstDelay; s.ctx.Err() == nil; delay = min(2*delay, lastDelay) {
		began := time.Now()
		_, err := s.send(s.ctx, rpc{method: "subscriptions/listen", params: s.params(
			map[string]json.RawMessage{"notifications": json.RawMessage(`{"toolsListChanged":true}`)}, nil)})
		if _, refused := errors.AsType[*rpcError](err); refused {
			c.log.Warn("the server takes no subscription to its changes", "error", err)
			return
		}
		if time.Since(began) > soundTime {
			delay = firstDelay
		}
		if pause(s.ctx, delay) != nil {
			return
		}
		c.touch() // what changed in between was not told
	}
}

// touch says that the tools may have changed.
func (c *conn) touch() {
	select {
	case c.signal <- struct{}{}:
	default:
	}
}

// announce calls changed once for reasons that come soon after each other (R14).
func (c *conn) announce() {
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-c.signal:
		}
		if pause(c.ctx, settleTime) != nil {
			return
		}
		select {
		case <-c.signal:
		default:
		}
		c.changed()
	}
}

// close may be called more than once.
func (c *conn) close() error {
	c.mu.Lock()
	c.closed = true
	s := c.cur
	c.cur = nil
	c.mu.Unlock()
	c.end(errClosed)
	if s != nil {
		s.close()
	}
	c.wg.Wait()
	return nil
}
