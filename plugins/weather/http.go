package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxBody is the largest answer that is read, in bytes after decompression.
// Honest ones have 2 to 60 KiB.
const maxBody = 1 << 20

// newHTTPClient returns the client that the plugin uses for its whole life.
func newHTTPClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			TLSHandshakeTimeout: 5 * time.Second,
			ForceAttemptHTTP2:   true,
			MaxIdleConns:        8,
			IdleConnTimeout:     30 * time.Second,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > 3 {
				return errors.New("more than 3 redirects")
			}
			if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
				return errors.New("redirect from https to " + req.URL.Scheme)
			}
			return nil
		},
	}
}

// asker asks a service for JSON and names what goes wrong.
type asker struct {
	client    *http.Client
	userAgent string
	timeout   time.Duration // of one request
}

// request is one question to a service.
type request struct {
	provider string
	url      string
	since    string // If-Modified-Since, if not empty
}

// get decodes the answer into v and returns the answer's headers. It reports
// fresh=false, and leaves v alone, if the answer is 304. The error is a
// *failure, or the cause of ctx's end.
func (a asker) get(ctx context.Context, r request, v any) (header http.Header, fresh bool, err error) {
	u, err := url.Parse(r.url)
	if err != nil {
		return nil, false, err
	}
	f := &failure{Provider: r.provider, Host: u.Host}
	timed, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	resp, body, err := a.fetch(timed, r)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, false, fmt.Errorf("%s: %s: %w", r.provider, u.Host, context.Cause(ctx))
	case err != nil && timed.Err() != nil:
		return nil, false, f.as(kindTimeout, timed.Err(), "no answer within %v", a.timeout)
	case resp == nil:
		return nil, false, f.as(kindUnreachable, err, "%v", withoutURL(err))
	}
	f.Status = resp.StatusCode
	if resp.StatusCode == http.StatusNotModified && r.since != "" {
		return resp.Header, false, nil
	}
	if err := f.refused(resp, body); err != nil {
		return nil, false, err
	}
	return resp.Header, true, f.decode(resp, body, err, v)
}

// fetch does the request and reads at most maxBody+1 bytes. The response is
// nil if none came; with a response, the error is that of its body.
func (a asker) fetch(ctx context.Context, r request) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("User-Agent", a.userAgent)
	req.Header.Set("Accept", "application/json")
	if r.since != "" {
		req.Header.Set("If-Modified-Since", r.since)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	return resp, body, err
}

// as completes a failure.
func (f *failure) as(kind string, err error, format string, args ...any) *failure {
	f.Kind, f.err, f.cause = kind, err, fmt.Sprintf(format, args...)
	f.Retryable = kind == kindLimited || kind == kindServer || kind == kindTimeout || kind == kindUnreachable
	return f
}

// again says that the same call may succeed later, whatever the kind.
func (f *failure) again() *failure {
	f.Retryable = true
	return f
}

// refused returns the failure of a status that carries no forecast. 203 is
// met.no's way to announce the end of a version.
func (f *failure) refused(resp *http.Response, body []byte) error {
	text := fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	var answer struct {
		Reason string `json:"reason"` // Open-Meteo says why
	}
	if json.Unmarshal(body, &answer) == nil && answer.Reason != "" {
		text += fmt.Sprintf(": %.200q", answer.Reason)
	}
	switch status := resp.StatusCode; {
	case status == http.StatusOK || status == http.StatusNonAuthoritativeInfo:
		return nil
	case status == http.StatusTooManyRequests:
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
			f.RetryAfter = seconds
			text += fmt.Sprintf(", retry after %d s", seconds)
		}
		return f.as(kindLimited, nil, "%s", text)
	case status >= 500:
		return f.as(kindServer, nil, "%s", text)
	default:
		return f.as(kindRejected, nil, "%s", text)
	}
}

// decode reads a body that should be a JSON document.
func (f *failure) decode(resp *http.Response, body []byte, readErr error, v any) error {
	contentType, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isJSON := contentType == "application/json" || strings.HasSuffix(contentType, "+json")
	var syntax *json.SyntaxError
	switch {
	case len(body) > maxBody:
		return f.as(kindTooLarge, nil, "answer of more than %d bytes", maxBody)
	case !isJSON: // how services under load, and portals in between, answer
		return f.as(kindMalformed, nil, "answer is %.60q in place of JSON", contentType).again()
	case readErr != nil:
		return f.as(kindUnreachable, readErr, "answer breaks off after %d bytes: %v", len(body), readErr)
	}
	err := json.Unmarshal(body, v)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(body)):
		return f.as(kindMalformed, err, "JSON ends too early, after %d bytes", len(body)).again()
	default:
		return f.as(kindMalformed, err, "unexpected JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
}

// withoutURL drops the method and URL that net/http puts before its errors.
func withoutURL(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// malformed is the failure of an answer of the right syntax that lacks what
// the service promises.
func malformed(provider, base, format string, args ...any) error {
	f := &failure{Provider: provider, Status: http.StatusOK}
	if u, err := url.Parse(base); err == nil {
		f.Host = u.Host
	}
	return f.as(kindMalformed, nil, format, args...)
}
