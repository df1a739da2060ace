package loopback

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

const (
	// maxWaiting is how many connections may be in their TLS handshake: of more, the one that
	// has waited longest is closed, so that strangers who say nothing never keep the host out.
	maxWaiting = 64
	// patience is how long one may take for it.
	patience = 10 * time.Second
	// maxLine is the most bytes of the lifeline's first line.
	maxLine = 512
)

// Listener is the plugin's end: a [net.Listener] that yields one connection. It may be used by
// several goroutines at once.
type Listener struct {
	tcp   net.Listener
	id    *identity
	tls   *tls.Config
	token [tokenSize]byte

	taken  chan net.Conn // has room for the one
	ended  chan struct{} // closed by Close
	once   sync.Once
	joined sync.WaitGroup // every goroutine of ours

	mu      sync.Mutex
	over    bool       // one connection was taken, or Close was called
	waiting []net.Conn // in their handshake, the oldest first
}

// Listen reads the first line of the lifeline, and no byte more of it, and listens. It waits as
// long as the line does not come.
func Listen(lifeline io.Reader) (*Listener, error) {
	line, err := readLine(lifeline)
	if err != nil {
		return nil, fmt.Errorf("loopback: lifeline: %w", err)
	}
	token, peer, err := parseLine(line)
	if err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}
	id, err := newIdentity()
	if err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}
	cfg := net.ListenConfig{Control: alone}
	tcp, err := cfg.Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}
	l := &Listener{tcp: tcp, id: id, tls: id.config(peer), token: token, taken: make(chan net.Conn, 1), ended: make(chan struct{})}
	l.joined.Go(l.listen) // ends when the TCP listener is closed; joined by Close
	return l, nil
}

// Address is what the handshake announces.
func (l *Listener) Address() string { return l.tcp.Addr().String() + "#" + l.id.hash.String() }

// Accept returns the host's connection, once. After that it waits for Close and returns
// [net.ErrClosed].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case <-l.ended:
		return nil, net.ErrClosed
	case c := <-l.taken:
		return c, nil
	}
}

// Addr is the TCP address.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Close ends Accept and whatever waits, and returns when no goroutine is left. The connection that
// Accept returned stays. It may be called again.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.ended) })
	l.mu.Lock()
	l.finish()
	l.mu.Unlock()
	l.joined.Wait()
	select {
	case c := <-l.taken: // nobody came for it
		c.Close()
	default:
	}
	return nil
}

// listen takes connections until the TCP listener is closed.
func (l *Listener) listen() {
	for {
		raw, err := l.tcp.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // such as too many open files
			select {
			case <-time.After(10 * time.Millisecond):
			case <-l.ended:
				return
			}
		case l.enter(raw):
			l.joined.Go(func() { l.greet(raw) }) // ends with the handshake, by patience at the latest; joined by Close
		}
	}
}

// enter counts a connection among those that wait.
func (l *Listener) enter(raw net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		raw.Close()
		return false
	}
	if len(l.waiting) == maxWaiting {
		l.waiting[0].Close() // its greet does the rest
		l.waiting = l.waiting[1:]
	}
	l.waiting = append(l.waiting, raw)
	return true
}

// greet does the handshake and shows the token to the host. The first connection that gets
// through is the one.
func (l *Listener) greet(raw net.Conn) {
	_ = raw.SetDeadline(time.Now().Add(patience)) // it fails only if raw is closed
	c := conn{tls.Server(raw, l.tls), raw}
	err := c.Handshake()
	if err != nil || !l.win(raw) {
		l.leave(raw)
		raw.Close()
		return
	}
	// It is the host. If it goes away now, the server finds out.
	_, _ = c.Write(l.token[:])
	_ = raw.SetDeadline(time.Time{})
	l.taken <- c
}

// win makes raw the one connection, if there is none and it was not put out: all others are closed.
func (l *Listener) win(raw net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.waiting, raw) {
		return false
	}
	l.forget(raw)
	l.finish()
	return true
}

// leave takes raw from those that wait.
func (l *Listener) leave(raw net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(raw)
}

// forget is leave with l.mu held.
func (l *Listener) forget(raw net.Conn) {
	l.waiting = slices.DeleteFunc(l.waiting, func(c net.Conn) bool { return c == raw })
}

// finish stops to listen and closes what waits, with l.mu held.
func (l *Listener) finish() {
	l.over = true
	l.tcp.Close()
	for _, c := range l.waiting {
		c.Close()
	}
	l.waiting = nil
}

// readLine reads up to a newline, byte by byte: what follows belongs to others.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); len(line) < maxLine; {
		n, err := r.Read(b)
		switch {
		case n == 1 && b[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, b[0])
		case errors.Is(err, io.EOF):
			return "", errors.New("it ended before the host's token came")
		case err != nil:
			return "", err
		}
	}
	return "", errors.New("the first line is too long")
}
