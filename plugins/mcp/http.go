package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/runes"
)

// httpLink carries messages over streamable HTTP, each in a request of its own. What the settings have for headers goes to the origin of their URL
// and nowhere else (T37).
type httpLink struct {
	url     *url.URL
	headers map[string]string
	mirrors *mirrors
	client  *http.Client
	log     *slog.Logger

	ctx      context.Context // ends with stop
	end      context.CancelFunc
	viaProxy sync.Once // is told

	mu      sync.Mutex
	peer    *peer
	session string
	legacy  string // the version that was agreed on in the legacy era
	stopped bool
	forgot  bool // the server does not know the session any more
	wg      sync.WaitGroup
}

// Bounds of HTTP.
const (
	dialTime      = 10 * time.Second
	deleteTime    = 2 * time.Second
	maxErrorBody  = 64 << 10
	maxHeaderSize = 256 << 10
	maxRedirects  = 5
)

// openHTTP prepares a connection; nothing is sent yet.
func openHTTP(s settings, log *slog.Logger, m *mirrors) (*httpLink, error) {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("url %q: it must be http:// or https:// with a host", urlName(s.URL))
	}
	l := &httpLink{url: u, headers: s.Headers, mirrors: m, log: log}
	l.ctx, l.end = context.WithCancel(context.Background())
	l.client = &http.Client{CheckRedirect: sameOrigin, Transport: &http.Transport{
		Proxy:                  l.proxy,
		DialContext:            (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSHandshakeTimeout:    dialTime,
		MaxResponseHeaderBytes: maxHeaderSize,
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        time.Minute,
		ForceAttemptHTTP2:      true,
	}}
	return l, nil
}

// proxy is the environment's, for https only and told in the log: of http, a proxy would read the headers.
func (l *httpLink) proxy(r *http.Request) (*url.URL, error) {
	if r.URL.Scheme != "https" {
		return nil, nil //nolint:nilnil // no proxy
	}
	u, err := http.ProxyFromEnvironment(r)
	if u != nil {
		l.viaProxy.Do(func() { l.log.Info("the server is reached through the environment's proxy", "proxy", u.Host) })
	}
	return u, err
}

// sameOrigin follows a redirect only where the request may go as it is.
func sameOrigin(r *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case len(via) > maxRedirects:
		return errors.New("too many redirects")
	case r.URL.Scheme != first.URL.Scheme || r.URL.Host != first.URL.Host:
		return fmt.Errorf("the server redirects to %s, another origin: nothing is sent there; if that is right, set url to it", urlName(r.URL.String()))
	case r.Method != first.Method:
		return errors.New("the server redirects in a way that would lose the message")
	}
	return nil
}

// urlName is an URL as messages show it: without user, query and fragment.
func urlName(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the url of the settings"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

func (l *httpLink) start(p *peer) { l.peer = p }

func (l *httpLink) remarks() []string { return nil }

func (l *httpLink) headersOf(name string, schema json.RawMessage) string {
	return l.mirrors.learn(name, schema)
}

// cancels is true in the legacy era; in the modern one, the end of the response's stream tells the server.
func (l *httpLink) cancels() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.legacy != ""
}

// settle opens the stream of a session on which the server says what belongs to no request.
func (l *httpLink) settle(_ context.Context, p *peer, a agreement) {
	if a.modern {
		return
	}
	l.mu.Lock()
	l.legacy = a.version
	l.mu.Unlock()
	l.spawn(func() { l.standing(p) }) // ends with the link, or when the server has no such stream
}

// spawn runs f unless the link is stopped.
func (l *httpLink) spawn(f func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return false
	}
	l.wg.Go(f)
	return true
}

// send posts a message. What comes back for a request goes to the peer.
func (l *httpLink) send(ctx context.Context, out outgoing) (sent bool, err error) {
	if out.rpc != nil {
		if !l.spawn(func() { l.exchange(out) }) { // ends with the request's ctx, which ends with its answer, or the link
			return false, errLinkDown
		}
		return true, nil
	}
	ctx, cancel := l.joined(ctx)
	defer cancel()
	resp, sent, err := l.do(ctx, http.MethodPost, out, "")
	if err != nil {
		return sent, err
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return sent, fmt.Errorf("the server answered %s", resp.Status)
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrorBody)) // so that the connection can be used again
	return sent, nil
}

// joined is ctx that ends with the link too.
func (l *httpLink) joined(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// exchange posts a request and reads what comes for it.
func (l *httpLink) exchange(out outgoing) {
	ctx, cancel := l.joined(out.ex.ctx)
	defer cancel()
	resp, sent, err := l.do(ctx, http.MethodPost, out, "")
	if err != nil {
		l.peer.fail(out.ex, &lostError{sent: sent, text: err.Error(), err: err})
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		l.refusal(out, resp)
		return
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" && out.method == "initialize" {
		l.mu.Lock()
		l.session = id
		l.mu.Unlock()
	}
	switch kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind {
	case "text/event-stream":
		l.answers(ctx, out, resp.Body)
	case "application/json":
		l.body(out, resp.Body)
	default:
		l.peer.fail(out.ex, &lostError{sent: true, text: fmt.Sprintf("the server answered %s with Content-Type %q: that is no answer of MCP",
			resp.Status, runes.Cut(kind, 100)), err: errEra})
	}
}

// body reads an answer that is one JSON document.
func (l *httpLink) body(out outgoing, body io.Reader) {
	raw, err := io.ReadAll(io.LimitReader(body, maxMessage+1))
	if len(raw) > maxMessage {
		l.peer.fail(out.ex, &lostError{sent: true, text: fmt.Sprintf("the server's answer is larger than %d bytes; ask for less", maxMessage)})
		return
	}
	list, bad := decodeMessages(raw)
	for _, m := range list {
		l.peer.receive(m, out.ex)
	}
	if err == nil {
		err = bad
	}
	if err == nil {
		err = errors.New("it answers something else")
	}
	// It counts only if the answer was not among the messages.
	l.peer.fail(out.ex, &lostError{sent: true, text: "the server's answer: " + err.Error(), err: err})
}

// do sends one HTTP request. sent is false if not even its headers were sent.
func (l *httpLink) do(ctx context.Context, method string, out outgoing, lastEvent string) (resp *http.Response, sent bool, err error) {
	var wrote atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { wrote.Store(true) }})
	var body io.Reader
	if out.data != nil {
		body = bytes.NewReader(out.data)
	}
	r, err := http.NewRequestWithContext(ctx, method, l.url.String(), body)
	if err != nil {
		return nil, false, err
	}
	for name, value := range l.headers {
		if strings.EqualFold(name, "Host") {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	l.own(r.Header, method, out, lastEvent)
	resp, err = l.client.Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // what it says beside is the URL, with its query
	}
	return resp, wrote.Load(), err
}

// own are the headers of the protocol.
func (l *httpLink) own(h http.Header, method string, out outgoing, lastEvent string) {
	h.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		h.Set("Accept", "text/event-stream")
	}
	if out.data != nil {
		h.Set("Content-Type", "application/json")
	}
	if lastEvent != "" {
		h.Set("Last-Event-ID", lastEvent)
	}
	if out.modern != "" {
		h.Set("MCP-Protocol-Version", out.modern)
		h.Set("Mcp-Method", out.method)
		if out.rpc.name != "" {
			h.Set("Mcp-Name", headerValue(out.rpc.name))
			l.mirrors.set(h, out.rpc.name, out.rpc.args)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.legacy != "" {
		h.Set("MCP-Protocol-Version", l.legacy)
	}
	if l.session != "" {
		h.Set("Mcp-Session-Id", l.session)
	}
}

// refusal reads an answer with a status of an error.
func (l *httpLink) refusal(out outgoing, resp *http.Response) {
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // as far as it comes
	var said *rpcError
	if list, err := decodeMessages(raw); err == nil && list[0].err != nil {
		said = list[0].err
	}
	if l.unknownSession(resp, said) {
		l.peer.fail(out.ex, &lostError{text: "the server does not know the session any more", again: true})
		return
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		text := fmt.Sprintf("the server answered %s: it wants a credential: set headers, such as Authorization, in the settings", resp.Status)
		if said != nil {
			text += "; it says: " + runes.Cut(said.message, 300)
		}
		l.peer.fail(out.ex, &lostError{text: text})
		return
	}
	if said != nil {
		l.peer.receive(message{id: json.RawMessage(fmt.Sprint(out.ex.id)), err: said}, out.ex)
		return
	}
	lost := &lostError{sent: resp.StatusCode >= 500, text: fmt.Sprintf("the server answered %s", resp.Status)}
	if text := strings.TrimSpace(strings.ToValidUTF8(string(raw), "\uFFFD")); text != "" && !strings.HasPrefix(text, "<") {
		lost.text += ": " + runes.Cut(text, 300)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusServiceUnavailable:
	default:
		lost.err = errEra
	}
	l.peer.fail(out.ex, lost)
}

// unknownSession reports whether the server refused the session: by 404 as it must (R39), or by 400 with words, as some do. It did not
// begin what it was asked.
func (l *httpLink) unknownSession(resp *http.Response, said *rpcError) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == "" || resp.Request.Header.Get("Mcp-Session-Id") == "" {
		return false
	}
	if resp.StatusCode == http.StatusNotFound ||
		resp.StatusCode == http.StatusBadRequest && said != nil && strings.Contains(strings.ToLower(said.message), "session") {
		l.forgot = true
	}
	return l.forgot
}

// stop ends the session, as far as the server listens, and all requests.
func (l *httpLink) stop() {
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		l.wg.Wait()
		return
	}
	l.stopped = true
	farewell := l.session != "" && !l.forgot
	l.mu.Unlock()
	l.end()
	if farewell {
		ctx, cancel := context.WithTimeout(context.Background(), deleteTime)
		defer cancel()
		if resp, _, err := l.do(ctx, http.MethodDelete, outgoing{}, ""); err == nil {
			resp.Body.Close()
		}
	}
	l.wg.Wait()
	l.client.CloseIdleConnections()
}
