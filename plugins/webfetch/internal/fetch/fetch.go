// Package fetch gets a page from the public internet, and only from there, and makes readable text of it. It
// is the work of the webfetch plugin without the plugin.
package fetch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	maxRedirects   = 5 // BI-27
	headerTime     = 20 * time.Second
	handshakeTime  = 10 * time.Second
	maxHeaderBytes = 256 << 10
	acceptTypes    = "text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/json;q=0.9, application/xml;q=0.8, */*;q=0.1"
	acceptCodings  = "gzip, deflate, br, zstd"
)

// errTotalTime is the cause of a context that ran into the fetch's own time limit.
var errTotalTime = errors.New("total time limit")

// Fetcher fetches one page a call. It keeps nothing between calls but the count of running conversions: every
// call has a transport of its own, without cookies, proxy, client certificates or kept connections. Safe for
// concurrent use. Make one with Settings.Fetcher.
type Fetcher struct {
	dialer    dialer
	userAgent string
	timeout   time.Duration // of everything: lookups, redirects, body, conversion
	maxBytes  int64         // of a decoded body
	tls       *tls.Config   // if nil, the system's roots
	convert   *pageConverter
}

// response is the last answer of a redirect chain, its body unread.
type response struct {
	url       *url.URL
	http      *http.Response
	redirects []Redirect
}

// Fetch gets in.URL and makes text of it. progress, if not nil, is called now and then with the decoded bytes
// read and the length the server announced (0 if unknown), never concurrently.
//
// It ends with ctx or after the total time limit, whichever is first, in every phase (b54). Errors are
// *Error.
func (f *Fetcher) Fetch(ctx context.Context, in Input, progress func(read, total int64)) (*Output, error) {
	opt, err := in.options()
	if err != nil {
		return nil, err
	}
	target, err := parseTarget(in.URL, nil, f.dialer.guard)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.timeout, errTotalTime)
	defer cancel()
	transport := f.transport()
	defer transport.CloseIdleConnections()
	res, err := f.follow(ctx, transport, target)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.http.Body.Close() }()
	b, err := readBody(res.http, f.maxBytes, progress)
	if err != nil {
		return nil, transferError(ctx, res.url, f.timeout, "reading the body", err)
	}
	return f.render(ctx, res, b, opt)
}

// Timeout is the total time limit of one fetch.
func (f *Fetcher) Timeout() time.Duration { return f.timeout }

// Check says what is wrong with a URL, as far as that can be told without looking its host up. The error is
// an *Error.
func (f *Fetcher) Check(rawURL string) error {
	_, err := parseTarget(rawURL, nil, f.dialer.guard)
	return err
}

// Close waits for conversions whose calls are over: at most a few seconds, by the budgets of a page.
func (f *Fetcher) Close() { f.convert.wait() }

// follow requests u and what it redirects to. Every hop is parsed and checked anew, and its dial is guarded.
func (f *Fetcher) follow(ctx context.Context, transport http.RoundTripper, u *url.URL) (*response, error) {
	var redirects []Redirect
	for {
		resp, err := transport.RoundTrip(f.request(ctx, u))
		if err != nil {
			return nil, transferError(ctx, u, f.timeout, "waiting for an answer", err)
		}
		location := resp.Header.Get("Location")
		if !isRedirect(resp.StatusCode) || location == "" {
			return &response{url: u, http: resp, redirects: redirects}, nil
		}
		_ = resp.Body.Close()
		if len(redirects) == maxRedirects {
			return nil, &Error{Kind: kindRedirects, URL: showURL(u),
				Msg: fmt.Sprintf("Too many redirects. Maximum is %d.", maxRedirects)}
		}
		next, err := f.redirect(u, location)
		if err != nil {
			return nil, err
		}
		redirects = append(redirects, Redirect{URL: u.String(), Status: resp.StatusCode})
		u = next
	}
}

// redirect is the next URL, or why it is not followed.
func (f *Fetcher) redirect(from *url.URL, location string) (*url.URL, error) {
	next, err := parseTarget(location, from, f.dialer.guard)
	var fe *Error
	if errors.As(err, &fe) {
		msg := "Redirect target must use HTTP or HTTPS."
		if fe.Kind != kindScheme {
			msg = "redirected to " + fe.URL + ": " + fe.Msg
		}
		return nil, &Error{Kind: fe.Kind, URL: showURL(from), Addr: fe.Addr, Err: err, Msg: msg}
	}
	if from.Scheme == "https" && next.Scheme == "http" {
		return nil, &Error{Kind: kindRedirect, URL: showURL(from),
			Msg: fmt.Sprintf("redirected from https to %s, which is not encrypted; fetch that URL itself if you mean it", showURL(next))}
	}
	return next, nil
}

func (f *Fetcher) request(ctx context.Context, u *url.URL) *http.Request {
	sent := *u
	sent.Fragment, sent.RawFragment = "", ""
	req := &http.Request{Method: http.MethodGet, URL: &sent, Host: sent.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"User-Agent": {f.userAgent}, "Accept": {acceptTypes}, "Accept-Encoding": {acceptCodings}}}
	return req.WithContext(ctx)
}

// transport speaks HTTP/1.1 over the guarded dialer, to one server at a time, and decompresses nothing (T8).
func (f *Fetcher) transport() *http.Transport {
	config := f.tls
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return &http.Transport{
		Proxy:                  nil, // behind a proxy the guard would see the proxy only
		DialContext:            f.dialer.dial,
		TLSClientConfig:        config.Clone(),
		TLSHandshakeTimeout:    handshakeTime,
		ResponseHeaderTimeout:  headerTime,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true,
		DisableKeepAlives:      true,
	}
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// systemResolver is the machine's own.
func systemResolver() Resolver { return net.DefaultResolver }
